#include "rewriter/read/VariantCompiler.h"

namespace restride {

VariantCompiler::VariantCompiler(const VariantCompiler &Like) : OnDisk(Like.OnDisk), Units(Like.Units) {
  std::lock_guard<std::mutex> Guard(Like.Lock);
  for (const auto &[Key, Unit] : Like.Known)
    if (Key.second.empty())
      Known.try_emplace(Key, Unit);
}

std::vector<ptx::SourceText> VariantCompiler::changed(size_t U, const Rewritten &Text) const {
  std::vector<ptx::SourceText> Out;
  for (size_t I : Units[U].Files)
    if (const SourceFile &F = OnDisk.files()[I]; Text.file(I) != OnDisk.text(F.Text))
      Out.push_back({F.Path, Text.file(I).str()});
  return Out;
}

static std::vector<std::string> key(llvm::ArrayRef<ptx::SourceText> Changed) {
  std::vector<std::string> Out;
  for (const ptx::SourceText &S : Changed) {
    Out.push_back(S.Path);
    Out.push_back(S.Text);
  }
  return Out;
}

llvm::Expected<Compiled> VariantCompiler::compile(const Rewritten &Text) {
  Compiled Out;
  for (size_t U = 0; U < Units.size(); ++U) {
    std::vector<ptx::SourceText> Changed = changed(U, Text);
    std::pair<size_t, std::vector<std::string>> Key{U, key(Changed)};
    {
      std::lock_guard<std::mutex> Guard(Lock);
      if (auto At = Known.find(Key); At != Known.end()) {
        Out.push_back(At->second);
        continue;
      }
    }
    llvm::Expected<std::string> Ptx = Units[U].Compiler->compile(Changed);
    if (!Ptx)
      return Ptx.takeError();
    llvm::Expected<ptx::Module> Module = Ptx->empty() ? ptx::Module() : ptx::parse(*Ptx);
    if (!Module)
      return Module.takeError();
    llvm::StringMap<unsigned> Registers;
    if (Units[U].Registers)
      if (llvm::Error E = Units[U].Registers->of(*Ptx).moveInto(Registers))
        return E;
    auto Result = std::make_shared<const CompiledUnit>(CompiledUnit{std::move(*Ptx), std::move(*Module), std::move(Registers)});
    std::lock_guard<std::mutex> Guard(Lock);
    Out.push_back(Known.try_emplace(std::move(Key), std::move(Result)).first->second);
  }
  return Out;
}

bool VariantCompiler::knows(size_t U, const Rewritten &Text) {
  std::lock_guard<std::mutex> Guard(Lock);
  return Known.count({U, key(changed(U, Text))});
}

} // namespace restride

#include "rewriter/read/UnitCompiler.h"

#include "rewriter/read/CollectedUnit.h"
#include "rewriter/read/Packed.h"

#include <functional>

namespace restride {

static ptx::CompileOptions compileOptions(const SourceCommand &Command, const CompilerSettings &S) {
  ptx::CompileOptions Out{S.Toolkit.Path, S.GpuArch, Command.Flags, Command.Directory};
  // Users build with nvcc. With an accumulator that only Clang keeps out of
  // memory, a layout is predicted to be several times faster than it is.
  Out.StrictAliasing = S.O.Model == CostModel::Thesis;
  return Out;
}

std::string ptxKey(const SourceCommand &Command, const CompilerSettings &S) {
  ptx::CompileOptions Options = compileOptions(Command, S);
  std::string Out;
  putList(Out, {Options.CudaPath, Options.Arch, Options.WorkingDirectory, Options.StrictAliasing ? "strict" : "", spell(S.O.Compiler).str()});
  putList(Out, Options.Flags);
  return Out;
}

static llvm::Expected<std::unique_ptr<ptx::Compiler>> createNow(const SourceCommand &Command, const CompilerSettings &S) {
  if (S.O.Compiler == PtxCompiler::Nvcc)
    return ptx::createNvccCompiler(Command.File, compileOptions(Command, S));
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> Buffer = llvm::MemoryBuffer::getFile(Command.File);
  return ptx::createClangCompiler(Command.File, Buffer ? (*Buffer)->getBuffer() : "", compileOptions(Command, S));
}

namespace {

/// Knows the PTX of the text as it is.
class CollectedCompiler : public ptx::Compiler {
public:
  CollectedCompiler(std::shared_ptr<const CollectedUnit> Facts, SourceCommand Command, const CompilerSettings &S)
      : Facts(std::move(Facts)), Command(std::move(Command)), S(S) {}

  llvm::Expected<std::string> compile(llvm::ArrayRef<ptx::SourceText> Changed) override {
    if (Changed.empty())
      return Facts->Ptx.str();
    ptx::Compiler *Ready = nullptr;
    {
      std::lock_guard<std::mutex> Guard(Lock);
      if (!Real) {
        llvm::Expected<std::unique_ptr<ptx::Compiler>> Created = createNow(Command, S);
        if (!Created)
          return Created.takeError();
        Real = std::move(*Created);
      }
      Ready = Real.get();
    }
    return Ready->compile(Changed);
  }

private:
  std::shared_ptr<const CollectedUnit> Facts;
  SourceCommand Command;
  CompilerSettings S;
  std::mutex Lock;
  std::unique_ptr<ptx::Compiler> Real;
};

} // namespace

llvm::Expected<std::unique_ptr<ptx::Compiler>> createCompiler(const ProgramUnit &U, const CompilerSettings &S) {
  if (U.Facts && U.Facts->PtxKey == ptxKey(U.Command, S))
    return std::make_unique<CollectedCompiler>(U.Facts, U.Command, S);
  return createNow(U.Command, S);
}

} // namespace restride

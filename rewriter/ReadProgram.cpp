#include "rewriter/ReadProgram.h"
#include "rewriter/Parse.h"

namespace restride {

std::vector<ptx::SourceText> changedFiles(const Rewritten &Text, const Sources &OnDisk) {
  std::vector<ptx::SourceText> Out;
  for (size_t I = 0; I < OnDisk.files().size(); ++I)
    if (const SourceFile &F = OnDisk.files()[I]; Text.file(I) != OnDisk.text(F.Text))
      Out.push_back({F.Path, Text.file(I).str()});
  return Out;
}

/// The file of skipped text asks for the side that is compiled.
static bool namesDevice(const SkippedRange &S, const Sources &Text) {
  for (const SourceFile &F : Text.files())
    if (F.Path == S.File)
      return Text.text(F.Text).contains("__CUDA_ARCH__");
  return false;
}

/// Each takes some 100 MB.
static constexpr size_t MaxKept = 8;

static bool isChanged(const KeptAsts::One &Unit, llvm::ArrayRef<ptx::SourceText> Changed) {
  return llvm::any_of(Changed, [&](const ptx::SourceText &S) { return llvm::is_contained(Unit.Files, S.Path); });
}

static llvm::Expected<std::shared_ptr<ParsedSource>> parseOnce(ProgramUnit &U, size_t I, const CudaToolkit &Toolkit,
                                                               llvm::ArrayRef<ptx::SourceText> Changed, KeptAsts *Kept) {
  if (Kept)
    if (auto At = Kept->Units.find(I); At != Kept->Units.end() && !isChanged(At->second, Changed))
      return At->second.Parsed;
  llvm::Expected<ParsedSource> Parsed = parse(U.Command, Toolkit, ptx::Side::Host, Changed);
  if (!Parsed)
    return Parsed.takeError();
  U.Read.insert(Parsed->Read.begin(), Parsed->Read.end());
  if (!Parsed->NvccMacros.empty()) { // from now on, and for a new compiler
    llvm::append_range(U.Command.Flags, Parsed->NvccMacros);
    U.Compiler.reset();
  }
  return std::make_shared<ParsedSource>(std::move(*Parsed));
}

llvm::Expected<ProgramReading> readProgram(std::vector<ProgramUnit> &Units, const CudaToolkit &Toolkit, const std::string &Root,
                                           llvm::ArrayRef<ptx::SourceText> Changed, KeptAsts *Kept) {
  ProgramReading Out{ProgramFacts(Root), ProgramFacts(Root, Elements::Scalars)};
  for (ProgramUnit &U : Units) {
    size_t I = &U - Units.data();
    llvm::Expected<std::shared_ptr<ParsedSource>> Read = parseOnce(U, I, Toolkit, Changed, Kept);
    if (!Read)
      return Read.takeError();
    const ParsedSource *Parsed = Read->get();
    bool Alone = Units.size() == 1;
    U.Files = readUnit(Parsed->Ast->getASTContext(), Parsed->Skipped, Alone, false, Out.Records);
    readUnit(Parsed->Ast->getASTContext(), Parsed->Skipped, Alone, false, Out.Arrays);
    if (Kept && !Changed.empty() && !Kept->Units.count(I) && Kept->Units.size() < MaxKept) {
      KeptAsts::One Now{*Read, {}};
      for (size_t F : U.Files)
        Now.Files.push_back(Out.Records.Text.files()[F].Path);
      if (!isChanged(Now, Changed))
        Kept->Units[I] = std::move(Now);
    }
    // Text for the device alone is read there.
    if (llvm::none_of(Parsed->Skipped, [&](const SkippedRange &S) { return namesDevice(S, Out.Records.Text); }))
      continue;
    llvm::Expected<ParsedSource> Device = parse(U.Command, Toolkit, ptx::Side::Device, Changed);
    if (!Device)
      return Device.takeError();
    U.Read.insert(Device->Read.begin(), Device->Read.end());
    readUnit(Device->Ast->getASTContext(), Device->Skipped, Alone, true, Out.Records);
    readUnit(Device->Ast->getASTContext(), Device->Skipped, Alone, true, Out.Arrays);
  }
  return Out;
}

} // namespace restride

#include "rewriter/ReadProgram.h"
#include "rewriter/Parse.h"

namespace restride {

/// The file of skipped text asks for the side that is compiled.
static bool namesDevice(const SkippedRange &S, const Sources &Text) {
  for (const SourceFile &F : Text.files())
    if (F.Path == S.File)
      return Text.text(F.Text).contains("__CUDA_ARCH__");
  return false;
}

llvm::Expected<ProgramReading> readProgram(std::vector<ProgramUnit> &Units, const CudaToolkit &Toolkit, const std::string &Root,
                                           llvm::ArrayRef<ptx::SourceText> Changed) {
  ProgramReading Out{ProgramFacts(Root), ProgramFacts(Root, Elements::Scalars)};
  for (ProgramUnit &U : Units) {
    llvm::Expected<ParsedSource> Parsed = parse(U.Command, Toolkit, ptx::Side::Host, Changed);
    if (!Parsed)
      return Parsed.takeError();
    bool Alone = Units.size() == 1;
    U.Files = readUnit(Parsed->Ast->getASTContext(), Parsed->Skipped, Alone, false, Out.Records);
    readUnit(Parsed->Ast->getASTContext(), Parsed->Skipped, Alone, false, Out.Arrays);
    // Text for the device alone is read there.
    if (llvm::none_of(Parsed->Skipped, [&](const SkippedRange &S) { return namesDevice(S, Out.Records.Text); }))
      continue;
    llvm::Expected<ParsedSource> Device = parse(U.Command, Toolkit, ptx::Side::Device, Changed);
    if (!Device)
      return Device.takeError();
    readUnit(Device->Ast->getASTContext(), Device->Skipped, Alone, true, Out.Records);
    readUnit(Device->Ast->getASTContext(), Device->Skipped, Alone, true, Out.Arrays);
  }
  return Out;
}

} // namespace restride

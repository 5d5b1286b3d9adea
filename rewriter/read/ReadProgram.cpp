#include "rewriter/read/ReadProgram.h"
#include "rewriter/read/Captured.h"
#include "rewriter/read/CollectedUnit.h"
#include "rewriter/read/Parse.h"

#include "clang/Frontend/ASTUnit.h"

#include <future>

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

/// Parses one side of \p U, or takes it from the facts of its text as it is.
static llvm::Expected<ParsedSource> readSide(const ProgramUnit &U, const CudaToolkit &Toolkit, ptx::Side Side,
                                             llvm::ArrayRef<ptx::SourceText> Changed, llvm::raw_ostream &Errors) {
  bool Known = U.Facts && (Side == ptx::Side::Host || U.Facts->Device) &&
               llvm::none_of(Changed, [&](const ptx::SourceText &S) { return U.Facts->reads(S.Path); });
  return Known ? loadSide(*U.Facts, Side) : parse(U.Command, Toolkit, Side, Changed, Errors);
}

namespace {

/// A unit that is parsed on another thread, with what is to be printed of it.
struct ParsedUnit {
  llvm::Expected<ParsedSource> Source;
  std::string Errors;
};

/// Parses units before their turn comes, each once.
class ParseAhead {
public:
  ParseAhead(llvm::ArrayRef<ProgramUnit> Units, const CudaToolkit &Toolkit, llvm::ArrayRef<ptx::SourceText> Changed, const KeptAsts *Kept,
             unsigned Jobs)
      : Units(Units), Toolkit(Toolkit), Changed(Changed), Kept(Kept), Jobs(std::clamp(Jobs, 1u, MaxAhead)), Started(Units.size()) {}

  /// Null where the AST that was kept is the one.
  std::shared_ptr<ParsedSource> kept(size_t I) const {
    if (!Kept)
      return nullptr;
    auto At = Kept->Units.find(I);
    return At != Kept->Units.end() && !isChanged(At->second, Changed) ? At->second.Parsed : nullptr;
  }

  ParsedUnit take(size_t I) {
    for (size_t Next = I; Next < Units.size() && Next < I + Jobs; ++Next)
      if (!Started[Next].valid() && !kept(Next))
        Started[Next] = std::async(Jobs > 1 ? std::launch::async : std::launch::deferred, [this, Next] {
          std::string Errors;
          Captured OS(Errors, llvm::errs());
          llvm::Expected<ParsedSource> Source = readSide(Units[Next], Toolkit, ptx::Side::Host, Changed, OS);
          return ParsedUnit{std::move(Source), std::move(Errors)};
        });
    return Started[I].get();
  }

private:
  static constexpr unsigned MaxAhead = 8; ///< ASTs are large

  llvm::ArrayRef<ProgramUnit> Units;
  const CudaToolkit &Toolkit;
  llvm::ArrayRef<ptx::SourceText> Changed;
  const KeptAsts *Kept;
  unsigned Jobs;
  std::vector<std::future<ParsedUnit>> Started;
};

} // namespace

static llvm::Expected<std::shared_ptr<ParsedSource>> parseOnce(ProgramUnit &U, size_t I, ParseAhead &Ahead, const ReadOptions &How) {
  if (std::shared_ptr<ParsedSource> Known = Ahead.kept(I))
    return Known;
  ParsedUnit Parsed = Ahead.take(I);
  if (How.Shown && !Parsed.Errors.empty())
    How.Shown->clear();
  llvm::errs() << Parsed.Errors;
  if (!Parsed.Source)
    return Parsed.Source.takeError();
  U.Read.insert(Parsed.Source->Read.begin(), Parsed.Source->Read.end());
  bool HasMacros = llvm::is_contained(U.Command.Flags, "-D__NVCC__");
  if (!Parsed.Source->NvccMacros.empty() && !HasMacros) { // from now on, and for a new compiler
    llvm::append_range(U.Command.Flags, Parsed.Source->NvccMacros);
    U.Compiler.reset();
  }
  return std::make_shared<ParsedSource>(std::move(*Parsed.Source));
}

llvm::Expected<ProgramReading> readProgram(std::vector<ProgramUnit> &Units, const CudaToolkit &Toolkit, const std::string &Root,
                                           llvm::ArrayRef<ptx::SourceText> Changed, KeptAsts *Kept, ReadOptions How) {
  ProgramReading Out{ProgramFacts(Root), ProgramFacts(Root, Elements::Scalars)};
  ParseAhead Ahead(Units, Toolkit, Changed, Kept, How.Jobs);
  for (ProgramUnit &U : Units) {
    size_t I = &U - Units.data();
    if (How.Shown)
      How.Shown->show(I, Units.size(), U.Command.SpelledFile);
    llvm::Expected<std::shared_ptr<ParsedSource>> Read = parseOnce(U, I, Ahead, How);
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
    llvm::Expected<ParsedSource> Device = readSide(U, Toolkit, ptx::Side::Device, Changed, llvm::errs());
    if (!Device)
      return Device.takeError();
    U.Read.insert(Device->Read.begin(), Device->Read.end());
    readUnit(Device->Ast->getASTContext(), Device->Skipped, Alone, true, Out.Records);
    readUnit(Device->Ast->getASTContext(), Device->Skipped, Alone, true, Out.Arrays);
  }
  return Out;
}

} // namespace restride

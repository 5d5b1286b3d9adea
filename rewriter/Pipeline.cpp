#include "rewriter/Pipeline.h"

#include "analysis/program/Assemble.h"
#include "rewriter/Collect.h"
#include "rewriter/CollectInputs.h"
#include "rewriter/command/CudaToolkit.h"
#include "rewriter/command/KernelRules.h"
#include "rewriter/fold/FoldArrays.h"
#include "rewriter/read/OtherReaders.h"
#include "rewriter/read/Parse.h"
#include "rewriter/read/UnitCompiler.h"
#include "rewriter/restore/Notes.h"
#include "rewriter/restore/RestoreProgram.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

namespace restride {

/// A file without these words has no candidate, and its device side need not be
/// looked at.
static bool mayHaveCandidates(llvm::StringRef Source) {
  return Source.contains("__global__") && Source.contains("cudaMalloc") && (Source.contains("struct") || Source.contains("#include \""));
}

namespace {

/// What a run knows beside the program.
struct Settings {
  const CudaToolkit &Toolkit;
  const cost::Gpu &Gpu;
  const Options &O;
  Progress &Shown;
};

} // namespace

/// Compilers begin to read the device's headers at once, beside the host's parse.
static llvm::Error createCompilers(std::vector<ProgramUnit> &Units, const Settings &S) {
  for (ProgramUnit &U : Units) {
    if (U.Compiler)
      continue;
    llvm::Expected<std::unique_ptr<ptx::Compiler>> Created = createCompiler(U, {S.Toolkit, S.Gpu.Arch, S.O});
    if (!Created)
      return Created.takeError();
    U.Compiler = std::move(*Created);
    if (S.O.Model == CostModel::Throughput && llvm::sys::fs::can_execute(S.Toolkit.ptxas()))
      U.Registers = std::make_shared<ptx::RegisterCounts>(S.Toolkit.ptxas(), S.Gpu.Arch);
  }
  return llvm::Error::success();
}

static bool anyMayHaveCandidates(llvm::ArrayRef<ProgramUnit> Units) {
  return llvm::any_of(Units, [](const ProgramUnit &U) {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> Buffer = llvm::MemoryBuffer::getFile(U.Command.File);
    return Buffer && mayHaveCandidates((*Buffer)->getBuffer());
  });
}

static std::string realPath(llvm::StringRef Path) {
  llvm::SmallString<256> Real;
  return llvm::sys::fs::real_path(Path, Real) ? Path.str() : Real.str().str();
}

/// A header changes only if the run knows everybody who includes it.
static void checkReaders(Program &P, const std::string &Root, const std::string &Filter, RunInputs &Inputs) {
  std::vector<std::string> Read;
  for (const SourceFile &F : P.Text.files())
    Read.push_back(F.Path);
  for (Candidate &C : P.Candidates)
    for (const SourceFile &F : P.Text.files())
      if (!C.refused() && llvm::is_contained(C.Headers, F.Text.Begin)) {
        if (!Filter.empty() && !llvm::Regex(Filter).match(F.Path)) {
          C.Refusals.push_back({"", C.Where, "'" + F.Path + "' would change, and --header-filter leaves it out"});
          continue;
        }
        Inputs.Trees.insert(Root);
        if (std::optional<std::string> Other = otherReader(F.Path, Root, Read))
          C.Refusals.push_back({"", C.Where, "'" + F.Path + "' would change, and '" + *Other +
                                                 "' includes it but is not part of this run; name its source file too"});
      }
}

/// The compiler accepted the text on the device side, where it checks host code
/// too. Only text that the preprocessor hides there must be parsed again.
static llvm::Error checkFinal(const Rewritten &Text, llvm::ArrayRef<ProgramUnit> Units, VariantCompiler &Compiled, const CudaToolkit &Toolkit) {
  for (size_t U = 0; U < Units.size(); ++U) {
    const SourceCommand &Command = Units[U].Command;
    std::vector<ptx::SourceText> Changed = Compiled.changed(U, Text);
    bool Device = ptx::languageOf(Command.File, Command.Flags) == ptx::Language::Cuda;
    bool Hides = llvm::any_of(Changed, [](const ptx::SourceText &S) { return llvm::StringRef(S.Text).contains("__CUDA_ARCH__"); });
    if (Changed.empty() || (Device && !Hides && Compiled.knows(U, Text)))
      continue;
    if (llvm::Error E = checkParses(Command, Toolkit, Changed))
      return llvm::createStringError("'" + Command.SpelledFile + "' is left as it is, because the rewritten program does not compile: " +
                                     llvm::toString(std::move(E)));
  }
  return llvm::Error::success();
}

/// What files become. One whose arrays keep the layouts that they have is not written anew.
static llvm::Expected<std::vector<Report::Change>> changes(const Rewritten &Final, const Sources &Plain, const Sources &OnDisk, const FileNames &Names) {
  std::vector<Report::Change> Out;
  Sources Written = sourcesOf(OnDisk, Final);
  if (sameTokens(Written.text(), OnDisk.text()))
    return Out;
  llvm::Expected<Rewritten> Noted = withNotes(Written, Plain);
  if (!Noted)
    return Noted.takeError();
  for (size_t I = 0; I < OnDisk.files().size(); ++I)
    if (const SourceFile &F = OnDisk.files()[I]; !sameTokens(Noted->file(I), OnDisk.text(F.Text)))
      Out.push_back({F.Path, OnDisk.text(F.Text).str(), Noted->file(I).str(), Names.spell(F.Path)});
  return Out;
}

/// Reads the program; what the configuration says of kernels takes the place of what the source shows.
static llvm::Expected<ProgramReading> read(std::vector<ProgramUnit> &Units, const Settings &S, const std::string &Root,
                                           llvm::ArrayRef<ptx::SourceText> Changed = {}, KeptAsts *Kept = nullptr) {
  llvm::Expected<ProgramReading> Out = readProgram(Units, S.Toolkit, Root, Changed, Kept, {S.O.Jobs, &S.Shown});
  S.Shown.clear();
  if (!Out)
    return Out;
  for (ProgramFacts *Facts : {&Out->Records, &Out->Arrays})
    if (llvm::Error E = applyKernelRules(Facts->Launches, S.O.Project.Kernels, !Changed.empty()))
      return E;
  return Out;
}

/// One program, from its text to the text of the winners.
static llvm::Error runProgram(std::vector<ProgramUnit> Units, const Settings &S, Report &Out) {
  std::vector<std::string> Paths;
  std::vector<const SourceCommand *> Commands;
  for (const ProgramUnit &U : Units) {
    Paths.push_back(realPath(U.Command.File));
    Commands.push_back(&U.Command);
  }
  std::string Root = projectRoot(Paths);
  if (!S.O.List && anyMayHaveCandidates(Units))
    if (llvm::Error E = createCompilers(Units, S))
      return E;
  llvm::Expected<ProgramReading> Reading = read(Units, S, Root);
  if (!Reading)
    return Reading.takeError();
  for (const ProgramUnit &U : Units)
    addInputs(U, Out.Read);
  if (Units.size() > 1 && Reading->Records.Graph.conflict()) {
    // Several programs, and not one: each by itself.
    for (ProgramUnit &U : Units) {
      std::vector<ProgramUnit> One;
      One.push_back(std::move(U));
      if (llvm::Error E = runProgram(std::move(One), S, Out))
        return E;
    }
    return llvm::Error::success();
  }
  Sources OnDisk = Reading->Records.Text;
  if (isHtml(S.O.ReportFile))
    for (const SourceFile &F : OnDisk.files())
      if (F.Editable)
        Out.Sources.push_back({F.Path, OnDisk.text(F.Text).str()});
  FileNames Names(Commands);
  for (Report::SourceText &T : Out.Sources)
    T.File = Names.spell(T.File);
  KeptAsts Kept;
  auto Read = [&](llvm::ArrayRef<ptx::SourceText> Changed) { return read(Units, S, Root, Changed, &Kept); };
  auto Check = [&](Program &P) { checkReaders(P, Root, S.O.HeaderFilter, Out.Read); };

  // What an earlier run moved, as it was before.
  llvm::Expected<RestoredProgram> Restored = restoreProgram(std::move(*Reading), Names, Read);
  if (!Restored)
    return Restored.takeError();
  llvm::append_range(Out.Candidates, std::move(Restored->LeftAlone));
  if (Restored->Text)
    Names.follow(OnDisk, *Restored->Text);
  llvm::Expected<FoldedProgram> Folded =
      foldArrays(std::move(Restored->Reading), {Units, Names, S.O, S.Gpu, OnDisk, [&] { return createCompilers(Units, S); }, Read, Check});
  if (!Folded)
    return Folded.takeError();
  Kept.Units.clear();
  Program &P = Folded->P;
  llvm::append_range(Out.Candidates, std::move(Folded->Candidates));
  if (P.Candidates.empty())
    return llvm::Error::success();
  if (!S.O.List && llvm::any_of(P.Candidates, [](const Candidate &C) { return !C.refused(); }))
    if (llvm::Error E = createCompilers(Units, S))
      return E;

  // Candidates to layouts: write, compile and score each variant.
  VariantCompiler Variants(OnDisk, Units);
  llvm::Expected<Decision> Decided = decide({P, Units, Names, S.O, S.Gpu, Folded->Settled, Restored->Found}, Variants);
  if (!Decided)
    return Decided.takeError();

  // Layouts to text.
  llvm::Expected<Rewritten> Final = writeVariant(P, Decided->Layouts);
  if (!Final)
    return Final.takeError();
  if (llvm::Error E = checkFinal(*Final, Units, Variants, S.Toolkit))
    return E;
  llvm::Expected<std::vector<Report::Change>> Changes = changes(*Final, P.Text, OnDisk, Names);
  if (!Changes)
    return Changes.takeError();
  llvm::append_range(Out.Changes, std::move(*Changes));
  for (Report::Candidate &C : Decided->Candidates)
    Out.Candidates.push_back(std::move(C));
  for (std::string &W : Decided->Warnings)
    Out.Warnings.push_back(std::move(W));
  return llvm::Error::success();
}

/// The files that the command line means, each with its command.
static llvm::Expected<std::vector<ProgramUnit>> unitsOf(const Options &O, Report &Out) {
  std::vector<ProgramUnit> Units;
  llvm::Expected<std::vector<std::string>> Files = O.Files.empty() ? databaseFiles(O.Flags.BuildPath) : O.Files;
  if (!Files)
    return Files.takeError();
  for (const std::string &File : *Files) {
    llvm::Expected<SourceCommand> Command = commandFor(File, O.Flags);
    if (!Command)
      return Command.takeError();
    if (!Command->Conflict.empty() && !O.Files.empty())
      return llvm::createStringError(Command->Conflict + "; give the flags after --");
    if (!Command->Conflict.empty()) { // and what it includes, as of any file outside of the run
      Out.Warnings.push_back(Command->Conflict + ", and is left out");
      continue;
    }
    Units.push_back({std::move(*Command), nullptr, {}, {}});
  }
  return Units;
}

llvm::Expected<Report> runPipeline(const Options &O) {
  Report Out;
  llvm::Expected<cost::Gpu> Gpu = cost::loadGpu(O.Gpu);
  if (!Gpu)
    return Gpu.takeError();
  llvm::Expected<CudaToolkit> Toolkit = findCudaToolkit(O.CudaPath);
  if (!Toolkit)
    return Toolkit.takeError();
  Out.Gpu = Gpu->Name;
  Out.Arch = Gpu->Arch;
  Out.Toolkit = remarkOnVersion(*Toolkit);
  Out.CostModel = spell(O.Model).str();
  Out.PtxCompiler = spell(O.Compiler).str();
  addInputs(O, *Toolkit, Out.Read);
  // A folder of facts alone is the program.
  bool Asked = !O.Files.empty() || !O.Flags.BuildPath.empty();
  llvm::Expected<std::vector<ProgramUnit>> Units = Asked ? unitsOf(O, Out) : std::vector<ProgramUnit>();
  if (Units && !O.Decide.empty() && (!Asked || !Units->empty()))
    Units = collectedUnits(*Units, *Toolkit, O);
  if (!Units)
    return Units.takeError();
  for (const ProgramUnit &U : *Units)
    Out.Units.push_back({U.Command.SpelledFile, U.Command.Arch.value_or(DefaultArch), U.Command.Archs, U.Command.Dropped});
  if (Units->empty())
    return Out;
  if (!O.Collect.empty()) {
    if (llvm::Error E = collect(*Units, *Toolkit, Gpu->Arch, O))
      return E;
    return Out;
  }
  Progress Shown(O.Quiet ? nullptr : &llvm::errs());
  if (llvm::Error E = runProgram(std::move(*Units), {*Toolkit, *Gpu, O, Shown}, Out))
    return E;
  return Out;
}

} // namespace restride

#include "rewriter/Pipeline.h"

#include "analysis/program/FindCandidates.h"
#include "rewriter/CudaToolkit.h"
#include "rewriter/Decide.h"
#include "rewriter/Parse.h"

#include "llvm/Support/MemoryBuffer.h"


namespace restride {

static llvm::Expected<std::unique_ptr<ptx::Compiler>> createCompiler(const SourceCommand &Command, llvm::StringRef Source,
                                                                     const CudaToolkit &Toolkit, const cost::Gpu &Gpu,
                                                                     const Options &O) {
  ptx::CompileOptions Settings{Toolkit.Path, Gpu.Arch, Command.Flags, Command.Directory};
  if (O.Compiler == PtxCompiler::Nvcc)
    return ptx::createNvccCompiler(Command.File, Settings);
  return ptx::createClangCompiler(Command.File, Source, Settings);
}

/// A file without these words has no candidate, and its device side need not be
/// looked at.
static bool mayHaveCandidates(llvm::StringRef Source) {
  return Source.contains("__global__") && Source.contains("cudaMalloc") && (Source.contains("struct") || Source.contains("#include \""));
}

/// The compiler accepted \p Text on the device side, where it checks host
/// code too. Only text that the preprocessor hides there must be parsed again.
static llvm::Error checkFinal(const std::string &Text, VariantCompiler &Compiled, const SourceCommand &Command, const CudaToolkit &Toolkit) {
  if (Compiled.knows({{Command.File, Text}}) && !llvm::StringRef(Text).contains("__CUDA_ARCH__"))
    return llvm::Error::success();
  llvm::Error E = checkParses(Command, Toolkit, {{Command.File, Text}});
  if (!E)
    return E;
  return llvm::createStringError("'" + Command.SpelledFile + "' is left as it is, because the rewritten program does not compile: " +
                                 llvm::toString(std::move(E)));
}

namespace {

struct FileFacts {
  Program P;
  std::string Source;
};

} // namespace

/// Source to candidates. The AST ends here; what follows works on values.
static llvm::Expected<FileFacts> readFacts(const SourceCommand &Command, const CudaToolkit &Toolkit) {
  llvm::Expected<ParsedSource> Parsed = parse(Command, Toolkit);
  if (!Parsed)
    return Parsed.takeError();
  std::vector<Range> Skipped;
  for (const SkippedRange &R : Parsed->Skipped)
    if (R.File == Parsed->UserFiles.front())
      Skipped.push_back({R.Begin, R.End});
  clang::SourceManager &Sources = Parsed->Ast->getSourceManager();
  FileFacts Out{findCandidates(Parsed->Ast->getASTContext(), Skipped), Sources.getBufferData(Sources.getMainFileID()).str()};
  Out.P.File = Command.File;
  return Out;
}

/// One file, from its text to the text of the winners.
static llvm::Error runFile(const std::string &File, const CudaToolkit &Toolkit, const cost::Gpu &Gpu, const Options &O, Report &Out) {
  llvm::Expected<SourceCommand> Command = commandFor(File, O.Flags);
  if (!Command)
    return Command.takeError();
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> Buffer = llvm::MemoryBuffer::getFile(Command->File);
  std::string Text = Buffer ? (*Buffer)->getBuffer().str() : "";

  // The compiler begins to read the device's headers at once, beside the host's parse.
  std::unique_ptr<ptx::Compiler> Compiler;
  if (!O.List && mayHaveCandidates(Text)) {
    llvm::Expected<std::unique_ptr<ptx::Compiler>> Created = createCompiler(*Command, Text, Toolkit, Gpu, O);
    if (!Created)
      return Created.takeError();
    Compiler = std::move(*Created);
  }
  llvm::Expected<FileFacts> Facts = readFacts(*Command, Toolkit);
  if (!Facts)
    return Facts.takeError();
  const Program &P = Facts->P;
  const std::string &Source = Facts->Source;
  if (P.Candidates.empty())
    return llvm::Error::success();
  bool Compiles = !O.List && llvm::any_of(P.Candidates, [](const Candidate &C) { return !C.refused(); });
  if (Compiles && !Compiler) {
    llvm::Expected<std::unique_ptr<ptx::Compiler>> Created = createCompiler(*Command, Source, Toolkit, Gpu, O);
    if (!Created)
      return Created.takeError();
    Compiler = std::move(*Created);
  }

  // Candidates to layouts: write, compile and score each variant.
  VariantCompiler Variants(Compiler.get());
  llvm::Expected<Decision> Decided = decide({P, Source, Command->SpelledFile, O, Gpu}, Variants);
  if (!Decided)
    return Decided.takeError();

  // Layouts to text.
  llvm::Expected<Rewritten> Final = writeVariant(P, Decided->Layouts, Source);
  if (!Final)
    return Final.takeError();
  if (Final->Text != Source) {
    if (llvm::Error E = checkFinal(Final->Text, Variants, *Command, Toolkit))
      return E;
    Out.Changes.push_back({Command->File, Source, Final->Text, Command->SpelledFile});
  }
  for (Report::Candidate &C : Decided->Candidates)
    Out.Candidates.push_back(std::move(C));
  for (std::string &W : Decided->Warnings)
    Out.Warnings.push_back(std::move(W));
  return llvm::Error::success();
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
  Out.CostModel = spell(O.Model).str();
  Out.PtxCompiler = spell(O.Compiler).str();
  for (const std::string &File : O.Files)
    if (llvm::Error E = runFile(File, *Toolkit, *Gpu, O, Out))
      return E;
  return Out;
}

} // namespace restride

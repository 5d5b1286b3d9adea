#include "rewriter/Pipeline.h"

#include "analysis/program/FindCandidates.h"
#include "rewriter/CudaToolkit.h"
#include "rewriter/Decide.h"
#include "rewriter/Parse.h"

namespace restride {

static llvm::Expected<std::unique_ptr<ptx::Compiler>> createCompiler(const SourceCommand &Command, llvm::StringRef Source,
                                                                     const CudaToolkit &Toolkit, const cost::Gpu &Gpu,
                                                                     const Options &O) {
  ptx::CompileOptions Settings{Toolkit.Path, Gpu.Arch, Command.Flags, Command.Directory};
  if (O.Compiler == PtxCompiler::Nvcc)
    return ptx::createNvccCompiler(Command.File, Settings);
  return ptx::createClangCompiler(Command.File, Source, Settings);
}

/// One file, from its text to the text of the winners.
static llvm::Error runFile(const std::string &File, const CudaToolkit &Toolkit, const cost::Gpu &Gpu, const Options &O, Report &Out) {
  llvm::Expected<SourceCommand> Command = commandFor(File, O.Flags);
  if (!Command)
    return Command.takeError();

  // Source to candidates. The AST ends here; what follows works on values.
  Program P;
  std::string Source;
  {
    llvm::Expected<ParsedSource> Parsed = parse(*Command, Toolkit);
    if (!Parsed)
      return Parsed.takeError();
    std::vector<Range> Skipped;
    for (const SkippedRange &R : Parsed->Skipped)
      Skipped.push_back({R.Begin, R.End});
    clang::SourceManager &Sources = Parsed->Ast->getSourceManager();
    Source = Sources.getBufferData(Sources.getMainFileID()).str();
    P = findCandidates(Parsed->Ast->getASTContext(), Skipped);
    P.File = Command->File;
  }
  if (P.Candidates.empty())
    return llvm::Error::success();

  // Candidates to layouts: write, compile and score each variant.
  std::unique_ptr<ptx::Compiler> Compiler;
  bool Any = llvm::any_of(P.Candidates, [](const Candidate &C) { return !C.refused(); });
  if (Any && !O.List) {
    llvm::Expected<std::unique_ptr<ptx::Compiler>> Created = createCompiler(*Command, Source, Toolkit, Gpu, O);
    if (!Created)
      return Created.takeError();
    Compiler = std::move(*Created);
  }
  VariantCompiler Variants(*Compiler);
  llvm::Expected<Decision> Decided = decide({P, Source, Command->SpelledFile, O, Gpu}, Variants);
  if (!Decided)
    return Decided.takeError();

  // Layouts to text, which the host compiler must accept too.
  llvm::Expected<Rewritten> Final = writeVariant(P, Decided->Layouts, Source);
  if (!Final)
    return Final.takeError();
  if (Final->Text != Source) {
    if (llvm::Error E = checkParses(*Command, Toolkit, Final->Text))
      return llvm::createStringError("'" + File + "' is left as it is, because the rewritten program does not compile: " +
                                     llvm::toString(std::move(E)));
    Out.Changes.push_back({Command->File, Source, Final->Text});
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

#include "rewriter/Parse.h"

#include "ptx/ClangInvocation.h"

#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

namespace {

class CollectSkipped : public clang::PPCallbacks {
public:
  CollectSkipped(const clang::SourceManager &SM, std::shared_ptr<std::vector<SkippedRange>> Ranges)
      : SM(SM), Ranges(std::move(Ranges)) {}

  void SourceRangeSkipped(clang::SourceRange Range, clang::SourceLocation EndifLoc) override {
    if (SM.isWrittenInMainFile(Range.getBegin()) && SM.isWrittenInMainFile(Range.getEnd()))
      Ranges->push_back({SM.getFileOffset(Range.getBegin()), SM.getFileOffset(Range.getEnd())});
  }

private:
  const clang::SourceManager &SM;
  std::shared_ptr<std::vector<SkippedRange>> Ranges;
};

/// Only parses; the ASTUnit keeps what was parsed.
class ParseAction : public clang::ASTFrontendAction {
public:
  explicit ParseAction(std::shared_ptr<std::vector<SkippedRange>> Ranges) : Ranges(std::move(Ranges)) {}

private:
  bool BeginSourceFileAction(clang::CompilerInstance &CI) override {
    CI.getPreprocessor().addPPCallbacks(std::make_unique<CollectSkipped>(CI.getSourceManager(), Ranges));
    return true;
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &CI, StringRef File) override {
    return std::make_unique<clang::ASTConsumer>();
  }

  std::shared_ptr<std::vector<SkippedRange>> Ranges;
};

} // namespace

/// Clang's own message for a missing file names its own options; this one does not.
static Error checkReadable(StringRef Path, StringRef File) {
  if (sys::fs::is_directory(Path))
    return createStringError("cannot read '" + File + "': it is a directory");
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path);
  if (!Buffer)
    return createStringError("cannot read '" + File + "': " + Buffer.getError().message());
  return Error::success();
}

/// The file as the user spelled it, where that names it to the compiler too;
/// diagnostics then show that spelling.
static StringRef mainFile(const SourceCommand &Command) {
  SmallString<256> Spelled(Command.SpelledFile);
  sys::path::make_absolute(Command.Directory, Spelled);
  sys::path::remove_dots(Spelled);
  return Spelled == Command.File ? Command.SpelledFile : Command.File;
}

/// Parses the file, or \p Text in its place. Errors go to \p ErrorStream.
static Expected<ParsedSource> parseWith(const SourceCommand &Command, const CudaToolkit &Toolkit, ptx::Headers Set,
                                        std::optional<StringRef> Text, raw_ostream &ErrorStream) {
  ptx::CompileOptions Options{Toolkit.Path, Command.Arch.value_or("sm_90"), Command.Flags, Command.Directory};
  Expected<std::shared_ptr<clang::CompilerInvocation>> Invocation =
      ptx::createInvocation(mainFile(Command), Options, ptx::Language::Cuda, ptx::Side::Host, Set);
  if (!Invocation)
    return Invocation.takeError();
  if (Text)
    (*Invocation)
        ->getPreprocessorOpts()
        .addRemappedFile(mainFile(Command), MemoryBuffer::getMemBufferCopy(*Text).release());
  auto DiagOptions = std::make_shared<clang::DiagnosticOptions>((*Invocation)->getDiagnosticOpts());
  DiagOptions->ShowColors = ErrorStream.has_colors();
  auto Diags = makeIntrusiveRefCnt<clang::DiagnosticsEngine>(
      clang::DiagnosticIDs::create(), *DiagOptions, new clang::TextDiagnosticPrinter(ErrorStream, *DiagOptions));
  auto Skipped = std::make_shared<std::vector<SkippedRange>>();
  ParseAction Action(Skipped);
  std::unique_ptr<clang::ASTUnit> Ast(clang::ASTUnit::LoadFromCompilerInvocationAction(
      *Invocation, std::make_shared<clang::PCHContainerOperations>(), DiagOptions, Diags, &Action));
  if (!Ast || Diags->hasErrorOccurred())
    return createStringError("'" + Command.SpelledFile + "' does not parse; nothing is changed");
  llvm::sort(*Skipped, [](SkippedRange A, SkippedRange B) { return A.Begin < B.Begin; });
  return ParsedSource{std::move(Ast), std::move(*Skipped)};
}

/// Only a parse with all headers may report errors.
static Expected<ParsedSource> parseFast(const SourceCommand &Command, const CudaToolkit &Toolkit,
                                        std::optional<StringRef> Text, raw_ostream &ErrorStream) {
  Expected<ParsedSource> Lean = parseWith(Command, Toolkit, ptx::Headers::Lean, Text, nulls());
  if (Lean)
    return Lean;
  consumeError(Lean.takeError());
  return parseWith(Command, Toolkit, ptx::Headers::Full, Text, ErrorStream);
}

Expected<ParsedSource> parse(const SourceCommand &Command, const CudaToolkit &Toolkit) {
  if (Error E = checkReadable(Command.File, Command.SpelledFile))
    return E;
  return parseFast(Command, Toolkit, std::nullopt, errs());
}

Error checkParses(const SourceCommand &Command, const CudaToolkit &Toolkit, StringRef Text) {
  std::string Messages;
  raw_string_ostream OS(Messages);
  Expected<ParsedSource> Parsed = parseFast(Command, Toolkit, Text, OS);
  if (Parsed)
    return Error::success();
  consumeError(Parsed.takeError()); // the compiler's first line says more
  StringRef First = StringRef(Messages);
  size_t At = First.find("error: ");
  return createStringError(At == StringRef::npos ? "it does not parse" : First.substr(At + 7).split('\n').first);
}

} // namespace restride

#include "rewriter/read/Parse.h"

#include "ptx/compile/ClangInvocation.h"
#include "ptx/compile/ToolkitHeaders.h"
#include "rewriter/command/Unread.h"

#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Serialization/ASTWriter.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

namespace {

/// What is seen of the user's files while they are read.
struct Seen {
  std::vector<std::string> Files;
  std::set<std::string> SystemFiles;
  std::vector<SkippedRange> Skipped;
};

class CollectSeen : public clang::PPCallbacks {
public:
  CollectSeen(const clang::SourceManager &SM, std::shared_ptr<Seen> Out) : SM(SM), Out(std::move(Out)) {}

  void LexedFileChanged(clang::FileID File, LexedFileChangeReason Reason, clang::SrcMgr::CharacteristicKind Kind,
                        clang::FileID From, clang::SourceLocation Where) override {
    if (Reason != LexedFileChangeReason::EnterFile)
      return;
    std::optional<StringRef> Path = path(File);
    if (Path && Kind != clang::SrcMgr::C_User)
      Out->SystemFiles.insert(Path->str());
    else if (Path && !is_contained(Out->Files, *Path))
      Out->Files.push_back(Path->str());
  }

  void SourceRangeSkipped(clang::SourceRange Range, clang::SourceLocation EndifLoc) override {
    if (SM.isInSystemHeader(Range.getBegin()))
      return;
    if (std::optional<StringRef> Path = path(SM.getFileID(Range.getBegin())))
      Out->Skipped.push_back({Path->str(), SM.getFileOffset(Range.getBegin()), SM.getFileOffset(Range.getEnd())});
  }

private:
  /// Nothing for the compiler's own text.
  std::optional<StringRef> path(clang::FileID File) const {
    clang::OptionalFileEntryRef Entry = SM.getFileEntryRefForID(File);
    if (!Entry)
      return std::nullopt;
    StringRef Real = Entry->getFileEntry().tryGetRealPathName();
    return Real.empty() ? Entry->getName() : Real;
  }

  const clang::SourceManager &SM;
  std::shared_ptr<Seen> Out;
};

/// Writes what is parsed to bytes.
class WriteAst : public clang::PCHGenerator {
public:
  using PCHGenerator::PCHGenerator;
  void HandleTranslationUnit(clang::ASTContext &Context) override {
    // Clang reads the last macro expansion of a file as a byte too long, and
    // would not see where it ends: let that be none of the user's.
    clang::SourceManager &SM = Context.getSourceManager();
    clang::SourceLocation Anywhere = SM.getLocForStartOfFile(SM.getMainFileID());
    SM.createExpansionLoc(Anywhere, Anywhere, Anywhere, /*Length=*/1);
    PCHGenerator::HandleTranslationUnit(Context);
  }
};

/// Only parses; the ASTUnit keeps what was parsed, and \p Bytes as a file would.
class ParseAction : public clang::ASTFrontendAction {
public:
  ParseAction(std::shared_ptr<Seen> Out, std::shared_ptr<clang::PCHBuffer> Bytes) : Out(std::move(Out)), Bytes(std::move(Bytes)) {}

private:
  bool BeginSourceFileAction(clang::CompilerInstance &CI) override {
    CI.getPreprocessor().addPPCallbacks(std::make_unique<CollectSeen>(CI.getSourceManager(), Out));
    return true;
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &CI, StringRef File) override {
    if (!Bytes)
      return std::make_unique<clang::ASTConsumer>();
    // Whether files changed is told by their contents, not by their times.
    return std::make_unique<WriteAst>(CI.getPreprocessor(), CI.getModuleCache(), /*OutputFile=*/"", /*isysroot=*/"", Bytes,
                                      CI.getCodeGenOpts(), ArrayRef<std::shared_ptr<clang::ModuleFileExtension>>(),
                                      /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }

  std::shared_ptr<Seen> Out;
  std::shared_ptr<clang::PCHBuffer> Bytes; ///< may be null
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

namespace {

/// How the program is read, beside its command.
struct Reading {
  ptx::Language As;
  ptx::Side Side;
  ptx::Headers Set;
  std::vector<std::string> NvccMacros;
  bool Serialize;
};

} // namespace

/// What nvcc says of itself. Clang does not by itself: CCCL would take it for nvcc.
static std::vector<std::string> nvccMacros(const CudaToolkit &Toolkit) {
  return {"-D__NVCC__", "-D__CUDACC_VER_MAJOR__=" + std::to_string(Toolkit.Major), "-D__CUDACC_VER_MINOR__=" + std::to_string(Toolkit.Minor),
          "-D__CUDACC_VER_BUILD__=0"};
}

/// Whether some file asks which compiler reads it.
static bool asksForNvcc(ArrayRef<std::string> Files) {
  return any_of(Files, [](const std::string &File) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(File);
    return Buffer && ((*Buffer)->getBuffer().contains("__NVCC__") || (*Buffer)->getBuffer().contains("__CUDACC_VER_"));
  });
}

/// Parses the file, where \p Changed have new text. Errors go to \p ErrorStream.
/// \p Seen is set in any case.
static Expected<ParsedSource> parseWith(const SourceCommand &Command, const CudaToolkit &Toolkit, const Reading &How,
                                        ArrayRef<ptx::SourceText> Changed, raw_ostream &ErrorStream, std::shared_ptr<Seen> Out) {
  ptx::CompileOptions Options{Toolkit.Path, Command.Arch.value_or(DefaultArch), Command.Flags, Command.Directory};
  append_range(Options.Flags, How.NvccMacros);
  Expected<std::shared_ptr<clang::CompilerInvocation>> Invocation =
      ptx::createInvocation(mainFile(Command), Options, How.As, How.Side, How.Set);
  if (!Invocation)
    return Invocation.takeError();
  for (std::string &File : ptx::precompiledFiles(**Invocation))
    Out->SystemFiles.insert(std::move(File));
  for (const ptx::SourceText &S : Changed)
    (*Invocation)->getPreprocessorOpts().addRemappedFile(S.Path, MemoryBuffer::getMemBufferCopy(S.Text).release());
  auto DiagOptions = std::make_shared<clang::DiagnosticOptions>((*Invocation)->getDiagnosticOpts());
  DiagOptions->ShowColors = ErrorStream.has_colors();
  auto Diags = makeIntrusiveRefCnt<clang::DiagnosticsEngine>(
      clang::DiagnosticIDs::create(), *DiagOptions, new clang::TextDiagnosticPrinter(ErrorStream, *DiagOptions));
  auto Bytes = How.Serialize ? std::make_shared<clang::PCHBuffer>() : nullptr;
  ParseAction Action(Out, Bytes);
  std::unique_ptr<clang::ASTUnit> Ast(clang::ASTUnit::LoadFromCompilerInvocationAction(
      *Invocation, std::make_shared<clang::PCHContainerOperations>(), DiagOptions, Diags, &Action));
  if (!Ast || Diags->hasErrorOccurred())
    return make_error<Unread>("'" + Command.SpelledFile + "' does not parse; nothing is changed");
  llvm::sort(Out->Skipped);
  Out->Skipped.erase(llvm::unique(Out->Skipped), Out->Skipped.end());
  ParsedSource Parsed{std::move(Ast), std::move(Out->Files), std::move(Out->Skipped), {}, How.NvccMacros, "", ""};
  if (Bytes) {
    Parsed.Bytes.assign(Bytes->Data.begin(), Bytes->Data.end());
    Parsed.Precompiled = (*Invocation)->getPreprocessorOpts().ImplicitPCHInclude;
  }
  return Parsed;
}

/// The first error among \p Messages, which a compiler printed.
static StringRef firstError(StringRef Messages) {
  size_t At = Messages.find("error: ");
  return At == StringRef::npos ? "it does not parse" : Messages.substr(At + 7).split('\n').first;
}

/// Only a parse with all headers may report errors. A program that asks for nvcc
/// is read as by nvcc, if it can be: with Clang's own text it is another program.
static Expected<ParsedSource> parseFast(const SourceCommand &Command, const CudaToolkit &Toolkit, ptx::Language As, ptx::Side Side,
                                        ArrayRef<ptx::SourceText> Changed, raw_ostream &ErrorStream, bool Serialize = false) {
  std::set<std::string> Read;
  std::vector<std::string> UserFiles;
  auto Try = [&](ptx::Headers Set, std::vector<std::string> Macros, raw_ostream &Errors) {
    auto Out = std::make_shared<Seen>();
    Expected<ParsedSource> Parsed = parseWith(Command, Toolkit, {As, Side, Set, std::move(Macros), Serialize}, Changed, Errors, Out);
    UserFiles = Parsed ? Parsed->UserFiles : Out->Files;
    Read.insert(UserFiles.begin(), UserFiles.end());
    Read.merge(Out->SystemFiles);
    if (Parsed)
      Parsed->Read = Read;
    return Parsed;
  };
  Expected<ParsedSource> Lean = Try(ptx::Headers::Lean, {}, nulls());
  bool HasMacros = is_contained(Command.Flags, "-D__NVCC__");
  if (As == ptx::Language::Cuda && !HasMacros && asksForNvcc(UserFiles))
    for (ptx::Headers Set : {ptx::Headers::Lean, ptx::Headers::Full}) {
      Expected<ParsedSource> AsNvcc = Try(Set, nvccMacros(Toolkit), nulls());
      if (AsNvcc) {
        if (!Lean)
          consumeError(Lean.takeError());
        return AsNvcc;
      }
      consumeError(AsNvcc.takeError()); // it is read without them below
    }
  if (Lean) {
    Lean->Read = std::move(Read);
    return Lean;
  }
  consumeError(Lean.takeError());
  return Try(ptx::Headers::Full, {}, ErrorStream);
}

Expected<ParsedSource> parse(const SourceCommand &Command, const CudaToolkit &Toolkit, ptx::Side Side, ArrayRef<ptx::SourceText> Changed,
                             raw_ostream &Errors, bool Serialize) {
  if (Error E = checkReadable(Command.File, Command.SpelledFile))
    return E;
  ptx::Language As = ptx::languageOf(Command.File, Command.Flags);
  if (!Changed.empty()) // the tool's own text: its errors are not for the user
    if (Error E = checkParses(Command, Toolkit, Changed))
      return E;
  // Records of C are no classes to Clang, and would not be seen.
  ptx::Language Records = As == ptx::Language::C ? ptx::Language::Cxx : As;
  if (!Command.FirstErrorOnly)
    return parseFast(Command, Toolkit, Records, Side, Changed, Errors, Serialize);
  std::string Messages;
  raw_string_ostream OS(Messages);
  Expected<ParsedSource> Parsed = parseFast(Command, Toolkit, Records, Side, Changed, OS, Serialize);
  if (Parsed || Messages.empty())
    return Parsed;
  consumeError(Parsed.takeError()); // the compiler's first line says more
  return make_error<Unread>("'" + Command.SpelledFile + "' does not parse: " + firstError(Messages));
}

Error checkParses(const SourceCommand &Command, const CudaToolkit &Toolkit, ArrayRef<ptx::SourceText> Changed) {
  std::string Messages;
  raw_string_ostream OS(Messages);
  Expected<ParsedSource> Parsed =
      parseFast(Command, Toolkit, ptx::languageOf(Command.File, Command.Flags), ptx::Side::Host, Changed, OS);
  if (Parsed)
    return Error::success();
  consumeError(Parsed.takeError()); // the compiler's first line says more
  return createStringError(firstError(Messages));
}

} // namespace restride

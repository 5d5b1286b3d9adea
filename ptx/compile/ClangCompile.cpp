// System headers, above all those of CUDA, take most of the time and are the same
// in all variants. They are parsed once into a preamble that every variant
// reuses: the program's own first lines, up to a header of the user's, which a
// variant may change; or all of the program's system headers, put before it.
#include "ptx/compile/ClangInvocation.h"
#include "ptx/compile/Compile.h"
#include "ptx/compile/RecordCopies.h"
#include "ptx/compile/HostSource.h"
#include "ptx/compile/SystemHeaders.h"

#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/PrecompiledPreamble.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Sema/Sema.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <atomic>
#include <future>
#include <mutex>
#include <optional>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace restride::ptx {
using namespace llvm;

namespace {

/// Keeps the first error as "file:line:column: text".
class FirstError : public clang::DiagnosticConsumer {
public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level Level, const clang::Diagnostic &Info) override {
    DiagnosticConsumer::HandleDiagnostic(Level, Info);
    if (Level < clang::DiagnosticsEngine::Error || !Text.empty())
      return;
    if (Info.getLocation().isValid() && Info.hasSourceManager()) {
      clang::PresumedLoc Loc = Info.getSourceManager().getPresumedLoc(Info.getLocation());
      if (Loc.isValid())
        Text = std::string(Loc.getFilename()) + ":" + std::to_string(Loc.getLine()) + ":" +
               std::to_string(Loc.getColumn()) + ": ";
    }
    SmallString<128> Message;
    Info.FormatDiagnostic(Message);
    Text += Message.str();
  }

  std::string Text;
};

/// A preamble checks nothing of its own: Clang would read all device functions
/// of all headers again at the end of each variant, to look for errors that it
/// put off. That takes longer than the variant itself.
class NoDeferredChecks : public clang::PreambleCallbacks {
public:
  void BeforeExecute(clang::CompilerInstance &CI) override { Instance = &CI; }
  void HandleTopLevelDecl(clang::DeclGroupRef DG) override { Instance->getSema().DeclsToCheckForDeferredDiags.clear(); }

private:
  clang::CompilerInstance *Instance = nullptr;
};

/// What all variants share.
struct Base {
  std::string MainFile;
  std::shared_ptr<clang::CompilerInvocation> Invocation;
  /// Without it every variant is compiled from scratch: slower, and the same.
  std::optional<clang::PrecompiledPreamble> Preamble = std::nullopt;
  std::string Prefix = ""; ///< what the preamble needs before the text of the main file
};

class ClangCompiler : public Compiler {
public:
  /// \p Lean is tried first. Its preamble is built while the caller goes on.
  ClangCompiler(std::string Text, Base Lean, Base Full)
      : Text(std::move(Text)), Full(std::move(Full)),
        Ready(std::async(std::launch::async,
                         [this, Lean = std::move(Lean)]() mutable { return build(std::move(Lean), true); })) {}

  Expected<std::string> compile(ArrayRef<SourceText> Changed) override;

private:
  std::shared_ptr<const Base> build(Base B, bool HeadersFirst) const;
  std::shared_ptr<const Base> fullBase();

  std::string Text; ///< of the original
  Base Full;
  std::once_flag FullOnce;
  std::shared_ptr<const Base> FullReady;
  std::atomic<bool> NeedsFull = false;
  std::shared_future<std::shared_ptr<const Base>> Ready;
};

} // namespace

/// A failure here is none: errors in headers come back with compile().
static std::optional<clang::PrecompiledPreamble> buildPreamble(const Base &B, StringRef Text, clang::PreambleBounds Bounds) {
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(Text, B.MainFile);
  clang::DiagnosticOptions DiagOptions;
  FirstError Errors;
  auto Diags = makeIntrusiveRefCnt<clang::DiagnosticsEngine>(clang::DiagnosticIDs::create(), DiagOptions, &Errors,
                                                             /*ShouldOwnClient=*/false);
  NoDeferredChecks Callbacks;
  ErrorOr<clang::PrecompiledPreamble> Built = clang::PrecompiledPreamble::Build(
      *B.Invocation, Buffer.get(), Bounds, Diags, vfs::getRealFileSystem(),
      std::make_shared<clang::PCHContainerOperations>(), /*StoreInMemory=*/true, /*StoragePath=*/"", Callbacks);
  if (!Built || Diags->hasErrorOccurred())
    return std::nullopt;
  return std::move(*Built);
}

/// \p HeadersFirst: all system headers may come before the program.
std::shared_ptr<const Base> ClangCompiler::build(Base B, bool HeadersFirst) const {
  UserFolders Folders(*B.Invocation);
  if (HeadersFirst && StringRef(B.MainFile).find_first_of("\"\\") == StringRef::npos) // for #line
    if (std::optional<std::string> Headers = systemHeaders(Text, B.MainFile, Folders)) {
      B.Preamble = buildPreamble(B, *Headers, {unsigned(Headers->size()), /*PreambleEndsAtStartOfLine=*/true});
      B.Prefix = *Headers + "#line 1 \"" + B.MainFile + "\"\n";
    }
  if (!B.Preamble) {
    clang::PreambleBounds Bounds =
        clang::ComputePreambleBounds(B.Invocation->getLangOpts(), MemoryBufferRef(Text, B.MainFile), /*MaxLines=*/0);
    size_t End = firstUserInclude(Text, B.MainFile, Folders);
    if (End < Bounds.Size)
      Bounds = {unsigned(End), /*PreambleEndsAtStartOfLine=*/true};
    B.Preamble = buildPreamble(B, Text, Bounds);
    B.Prefix = "";
  }
  return std::make_shared<const Base>(std::move(B));
}

std::shared_ptr<const Base> ClangCompiler::fullBase() {
  std::call_once(FullOnce, [&] { FullReady = build(std::move(Full), false); });
  return FullReady;
}

/// Gives \p Call its main file, after the headers that changed. A preamble that
/// read one of those, through -include say, is of no use.
static std::unique_ptr<MemoryBuffer> setMainFile(const Base &B, StringRef Text, clang::CompilerInvocation &Call,
                                                 IntrusiveRefCntPtr<vfs::FileSystem> &Files) {
  std::unique_ptr<MemoryBuffer> Main = MemoryBuffer::getMemBufferCopy(B.Prefix + Text.str(), B.MainFile);
  if (B.Preamble && Main->getBuffer().starts_with(B.Preamble->getContents()) &&
      B.Preamble->CanReuse(Call, Main->getMemBufferRef(), B.Preamble->getBounds(), *Files)) {
    B.Preamble->AddImplicitPreamble(Call, Files, Main.get());
    return Main;
  }
  Main = MemoryBuffer::getMemBufferCopy(Text, B.MainFile);
  Call.getPreprocessorOpts().addRemappedFile(B.MainFile, Main.get());
  return Main;
}

static bool isSameFile(StringRef A, StringRef B) { return A == B || sys::fs::equivalent(A, B); }

static Expected<std::string> compileWith(const Base &B, StringRef MainText, ArrayRef<SourceText> Changed) {
  auto Call = std::make_shared<clang::CompilerInvocation>(*B.Invocation);
  IntrusiveRefCntPtr<vfs::FileSystem> Files = vfs::getRealFileSystem();
  std::vector<std::unique_ptr<MemoryBuffer>> Headers;
  for (const SourceText &S : Changed)
    if (isSameFile(S.Path, B.MainFile)) {
      MainText = S.Text;
    } else {
      // Clang knows a file by its inode, whatever name it is included by.
      Headers.push_back(MemoryBuffer::getMemBufferCopy(S.Text, S.Path));
      Call->getPreprocessorOpts().addRemappedFile(S.Path, Headers.back().get());
    }
  std::unique_ptr<MemoryBuffer> Main = setMainFile(B, MainText, *Call, Files);
  Call->getPreprocessorOpts().RetainRemappedFileBuffers = true; // we own them
  // A compiler process leaks on purpose; this one goes on.
  Call->getFrontendOpts().DisableFree = false;
  Call->getCodeGenOpts().DisableFree = false;
  const bool StrictAliasing = !Call->getCodeGenOpts().RelaxedAliasing;
  Call->getCodeGenOpts().RelaxedAliasing = false; // it names the fields of copies then
  Call->getCodeGenOpts().PassBuilderCallbacks.push_back([StrictAliasing](PassBuilder &Passes) {
    Passes.registerPipelineStartEPCallback([StrictAliasing](ModulePassManager &Module, OptimizationLevel) {
      Module.addPass(createModuleToFunctionPassAdaptor(RecordCopies(StrictAliasing)));
    });
  });

  FirstError Errors;
  clang::CompilerInstance Instance(Call);
  Instance.setVirtualFileSystem(Files);
  Instance.setVerboseOutputStream(nulls()); // "1 error generated."
  Instance.createDiagnostics(&Errors, /*ShouldOwnClient=*/false);
  SmallString<0> Ptx;
  Instance.setOutputStream(std::make_unique<raw_svector_ostream>(Ptx));
  clang::EmitAssemblyAction Action;
  bool Done = Instance.ExecuteAction(Action);
  if (!Done || Errors.getNumErrors() > 0)
    return createStringError(Errors.Text.empty() ? "Clang cannot compile '" + B.MainFile + "'" : Errors.Text);
  return Ptx.str().str();
}

Expected<std::string> ClangCompiler::compile(ArrayRef<SourceText> Changed) {
  if (!NeedsFull) {
    Expected<std::string> Ptx = compileWith(*Ready.get(), Text, Changed);
    if (Ptx)
      return Ptx;
    consumeError(Ptx.takeError()); // it fails again below if the headers are not the reason
  }
  Expected<std::string> Ptx = compileWith(*fullBase(), Text, Changed);
  if (Ptx)
    NeedsFull = true;
  return Ptx;
}

/// Once per process: the back end, and the options of LLVM that Clang's driver
/// passes with -mllvm. A clang process reads them in its main.
static void initializeBackEnd(ArrayRef<std::string> LlvmArgs) {
  static std::once_flag Once;
  std::call_once(Once, [&] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // nvcc copies a record from memory to memory with all loads first, and joins no atomics or stores that end two branches.
    std::vector<const char *> Args = {"clang (LLVM option parsing)", "-ldstmemcpy-glue-max=16", "-sink-common-insts=false"};
    for (const std::string &Arg : LlvmArgs)
      Args.push_back(Arg.c_str());
    cl::ParseCommandLineOptions(Args.size(), Args.data());
  });
}

Expected<std::unique_ptr<Compiler>> createClangCompiler(StringRef MainFile, StringRef Text,
                                                        const CompileOptions &Options) {
  if (languageOf(MainFile, Options.Flags) != Language::Cuda)
    return std::make_unique<HostSource>();
  Expected<std::shared_ptr<clang::CompilerInvocation>> Lean =
      createInvocation(MainFile, Options, Language::Cuda, Side::Device, Headers::Lean);
  if (!Lean)
    return Lean.takeError();
  Expected<std::shared_ptr<clang::CompilerInvocation>> Full =
      createInvocation(MainFile, Options, Language::Cuda, Side::Device, Headers::Full);
  if (!Full)
    return Full.takeError();
  initializeBackEnd((*Full)->getFrontendOpts().LLVMArgs);
  return std::make_unique<ClangCompiler>(Text.str(), Base{MainFile.str(), std::move(*Lean)},
                                         Base{MainFile.str(), std::move(*Full)});
}

} // namespace restride::ptx

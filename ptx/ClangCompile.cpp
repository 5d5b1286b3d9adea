// Variants differ below their #includes only, and the headers of CUDA take most
// of the time. They are parsed once into a preamble that every variant reuses.
#include "ptx/ClangInvocation.h"
#include "ptx/Compile.h"

#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/PrecompiledPreamble.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Sema/Sema.h"
#include "llvm/Support/CommandLine.h"
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
  std::optional<clang::PrecompiledPreamble> Preamble;
};

class ClangCompiler : public Compiler {
public:
  /// \p Lean is tried first. Its preamble is built while the caller goes on.
  ClangCompiler(std::string Text, Base Lean, Base Full)
      : Text(std::move(Text)), Full(std::move(Full)),
        Ready(std::async(std::launch::async,
                         [this, Lean = std::move(Lean)]() mutable { return build(std::move(Lean)); })) {}

  Expected<std::string> compile(ArrayRef<SourceText> Changed) override;

private:
  std::shared_ptr<const Base> build(Base B) const;
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
std::shared_ptr<const Base> ClangCompiler::build(Base B) const {
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(Text, B.MainFile);
  clang::PreambleBounds Bounds =
      clang::ComputePreambleBounds(B.Invocation->getLangOpts(), Buffer->getMemBufferRef(), /*MaxLines=*/0);
  clang::DiagnosticOptions DiagOptions;
  FirstError Errors;
  auto Diags = makeIntrusiveRefCnt<clang::DiagnosticsEngine>(clang::DiagnosticIDs::create(), DiagOptions, &Errors,
                                                             /*ShouldOwnClient=*/false);
  NoDeferredChecks Callbacks;
  ErrorOr<clang::PrecompiledPreamble> Built = clang::PrecompiledPreamble::Build(
      *B.Invocation, Buffer.get(), Bounds, Diags, vfs::getRealFileSystem(),
      std::make_shared<clang::PCHContainerOperations>(), /*StoreInMemory=*/true, /*StoragePath=*/"", Callbacks);
  if (Built && !Diags->hasErrorOccurred())
    B.Preamble.emplace(std::move(*Built));
  return std::make_shared<const Base>(std::move(B));
}

std::shared_ptr<const Base> ClangCompiler::fullBase() {
  std::call_once(FullOnce, [&] { FullReady = build(std::move(Full)); });
  return FullReady;
}

static void usePreamble(const Base &B, clang::CompilerInvocation &Call, MemoryBuffer &Buffer,
                        IntrusiveRefCntPtr<vfs::FileSystem> &Files) {
  if (B.Preamble) {
    clang::PreambleBounds Bounds =
        clang::ComputePreambleBounds(Call.getLangOpts(), Buffer.getMemBufferRef(), /*MaxLines=*/0);
    if (B.Preamble->CanReuse(Call, Buffer.getMemBufferRef(), Bounds, *Files)) {
      B.Preamble->AddImplicitPreamble(Call, Files, &Buffer);
      return;
    }
  }
  Call.getPreprocessorOpts().addRemappedFile(B.MainFile, &Buffer);
}

static Expected<std::string> compileWith(const Base &B, StringRef Variant) {
  auto Call = std::make_shared<clang::CompilerInvocation>(*B.Invocation);
  IntrusiveRefCntPtr<vfs::FileSystem> Files = vfs::getRealFileSystem();
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(Variant, B.MainFile);
  usePreamble(B, *Call, *Buffer, Files);
  Call->getPreprocessorOpts().RetainRemappedFileBuffers = true; // Buffer owns the text
  // A compiler process leaks on purpose; this one goes on.
  Call->getFrontendOpts().DisableFree = false;
  Call->getCodeGenOpts().DisableFree = false;

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
  StringRef Variant = Changed.empty() ? StringRef(Text) : StringRef(Changed.front().Text);
  if (!NeedsFull) {
    Expected<std::string> Ptx = compileWith(*Ready.get(), Variant);
    if (Ptx)
      return Ptx;
    consumeError(Ptx.takeError()); // it fails again below if the headers are not the reason
  }
  Expected<std::string> Ptx = compileWith(*fullBase(), Variant);
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
    std::vector<const char *> Args = {"clang (LLVM option parsing)"};
    for (const std::string &Arg : LlvmArgs)
      Args.push_back(Arg.c_str());
    if (Args.size() > 1)
      cl::ParseCommandLineOptions(Args.size(), Args.data());
  });
}

Expected<std::unique_ptr<Compiler>> createClangCompiler(StringRef MainFile, StringRef Text,
                                                        const CompileOptions &Options) {
  Expected<std::shared_ptr<clang::CompilerInvocation>> Lean =
      createCudaInvocation(MainFile, Options, Side::Device, Headers::Lean);
  if (!Lean)
    return Lean.takeError();
  Expected<std::shared_ptr<clang::CompilerInvocation>> Full =
      createCudaInvocation(MainFile, Options, Side::Device, Headers::Full);
  if (!Full)
    return Full.takeError();
  initializeBackEnd((*Full)->getFrontendOpts().LLVMArgs);
  return std::make_unique<ClangCompiler>(Text.str(), Base{MainFile.str(), std::move(*Lean), std::nullopt},
                                         Base{MainFile.str(), std::move(*Full), std::nullopt});
}

} // namespace restride::ptx

namespace restride::ptx { Language languageOf(llvm::StringRef, llvm::ArrayRef<std::string>) { return Language::Cuda; } }

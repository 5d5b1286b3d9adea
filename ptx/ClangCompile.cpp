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
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/VirtualFileSystem.h"

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

class ClangCompiler : public Compiler {
public:
  ClangCompiler(std::string MainFile, std::shared_ptr<clang::CompilerInvocation> Invocation)
      : MainFile(std::move(MainFile)), Invocation(std::move(Invocation)) {}

  void buildPreamble(StringRef Text);
  Expected<std::string> compile(StringRef Text) override;

private:
  void configure(clang::CompilerInvocation &Call, MemoryBuffer &Buffer,
                 IntrusiveRefCntPtr<vfs::FileSystem> &Files) const;

  std::string MainFile;
  std::shared_ptr<clang::CompilerInvocation> Invocation;
  std::optional<clang::PrecompiledPreamble> Preamble;
};

} // namespace

/// Without a preamble every variant is compiled from scratch: slower, and the
/// same. So a failure here is none; errors in headers come back with compile().
void ClangCompiler::buildPreamble(StringRef Text) {
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(Text, MainFile);
  clang::PreambleBounds Bounds =
      clang::ComputePreambleBounds(Invocation->getLangOpts(), Buffer->getMemBufferRef(), /*MaxLines=*/0);
  clang::DiagnosticOptions DiagOptions;
  FirstError Errors;
  auto Diags = makeIntrusiveRefCnt<clang::DiagnosticsEngine>(clang::DiagnosticIDs::create(), DiagOptions, &Errors,
                                                             /*ShouldOwnClient=*/false);
  clang::PreambleCallbacks Callbacks;
  ErrorOr<clang::PrecompiledPreamble> Built = clang::PrecompiledPreamble::Build(
      *Invocation, Buffer.get(), Bounds, Diags, vfs::getRealFileSystem(),
      std::make_shared<clang::PCHContainerOperations>(), /*StoreInMemory=*/true, /*StoragePath=*/"", Callbacks);
  if (Built && !Diags->hasErrorOccurred())
    Preamble.emplace(std::move(*Built));
}

void ClangCompiler::configure(clang::CompilerInvocation &Call, MemoryBuffer &Buffer,
                              IntrusiveRefCntPtr<vfs::FileSystem> &Files) const {
  if (Preamble) {
    clang::PreambleBounds Bounds =
        clang::ComputePreambleBounds(Call.getLangOpts(), Buffer.getMemBufferRef(), /*MaxLines=*/0);
    if (Preamble->CanReuse(Call, Buffer.getMemBufferRef(), Bounds, *Files)) {
      Preamble->AddImplicitPreamble(Call, Files, &Buffer);
      return;
    }
  }
  Call.getPreprocessorOpts().addRemappedFile(MainFile, &Buffer);
}

Expected<std::string> ClangCompiler::compile(StringRef Text) {
  auto Call = std::make_shared<clang::CompilerInvocation>(*Invocation);
  IntrusiveRefCntPtr<vfs::FileSystem> Files = vfs::getRealFileSystem();
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(Text, MainFile);
  configure(*Call, *Buffer, Files);
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
    return createStringError(Errors.Text.empty() ? "Clang cannot compile '" + MainFile + "'" : Errors.Text);
  return Ptx.str().str();
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
  Expected<std::shared_ptr<clang::CompilerInvocation>> Invocation =
      createCudaInvocation(MainFile, Options, Side::Device);
  if (!Invocation)
    return Invocation.takeError();
  initializeBackEnd((*Invocation)->getFrontendOpts().LLVMArgs);
  auto Result = std::make_unique<ClangCompiler>(MainFile.str(), std::move(*Invocation));
  Result->buildPreamble(Text);
  return Result;
}

} // namespace restride::ptx

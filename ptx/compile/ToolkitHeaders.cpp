#include "ptx/compile/ToolkitHeaders.h"

#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/MultiplexConsumer.h"
#include "clang/Frontend/Utils.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Sema/Sema.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LockFileManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/xxhash.h"

namespace restride::ptx {
using namespace llvm;

/// What stands in front of every CUDA file, in this order: Clang's driver puts
/// the second there, the others are of prelude/.
static constexpr StringRef Front[] = {"restride_before.h", "__clang_cuda_runtime_wrapper.h", "restride_nvcc.h"};

/// pruneCache looks at names that begin so, and at nothing else.
static constexpr StringRef Prefix = "llvmcache-";

std::string cacheFolder() {
  SmallString<128> Folder;
  std::optional<std::string> Xdg = sys::Process::GetEnv("XDG_CACHE_HOME"), Home = sys::Process::GetEnv("HOME");
  if (Xdg && sys::path::is_absolute(*Xdg))
    Folder = *Xdg;
  else if (Home && sys::path::is_absolute(*Home))
    sys::path::append(Folder, *Home, ".cache");
  else
    return "";
  sys::path::append(Folder, "restride");
  return Folder.str().str();
}

/// Only what the headers can depend on: not the file that is compiled, nor how
/// its code is emitted.
static std::string keyOf(const clang::CompilerInvocation &Invocation) {
  clang::CompilerInvocation Headers(Invocation);
  Headers.getFrontendOpts() = {};
  Headers.getCodeGenOpts() = {};
  Headers.getLangOpts().CUID.clear();
  Headers.getPreprocessorOpts().Includes.resize(std::size(Front));
  Headers.getPreprocessorOpts().clearRemappedFiles();
  std::string All = clang::getClangFullVersion();
  for (const std::string &Arg : Headers.getCC1CommandLine())
    All += '\0' + Arg;
  return utohexstr(xxh3_64bits(All), /*LowerCase=*/true, /*Width=*/16);
}

/// What is known of the files that it was made from.
static std::string stampsOf(StringRef Pch) { return (Pch + ".files").str(); }

/// "size time path", a line per file.
static std::string stamp(StringRef Path) {
  sys::fs::file_status Status;
  if (sys::fs::status(Path, Status))
    return "";
  return utostr(Status.getSize()) + " " + std::to_string(Status.getLastModificationTime().time_since_epoch().count()) + " " +
         Path.str() + "\n";
}

/// The paths in what stamp() wrote.
static std::vector<std::string> pathsIn(StringRef Stamps) {
  SmallVector<StringRef> Lines;
  Stamps.split(Lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::vector<std::string> Out;
  for (StringRef Line : Lines)
    Out.push_back(Line.split(' ').second.split(' ').second.str());
  return Out;
}

static bool isFresh(StringRef Stamps) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Text = MemoryBuffer::getFile(Stamps);
  if (!Text || (*Text)->getBufferSize() == 0)
    return false;
  std::string Now;
  for (const std::string &Path : pathsIn((*Text)->getBuffer()))
    Now += stamp(Path);
  return Now == (*Text)->getBuffer();
}

namespace {

/// Headers check nothing of their own: Clang would read all device functions in
/// them again at the end of each file, to look for errors that it put off.
class DropDeferredChecks : public clang::ASTConsumer {
public:
  explicit DropDeferredChecks(clang::CompilerInstance &CI) : CI(CI) {}
  bool HandleTopLevelDecl(clang::DeclGroupRef) override {
    CI.getSema().DeclsToCheckForDeferredDiags.clear();
    return true;
  }

private:
  clang::CompilerInstance &CI;
};

class AllFiles : public clang::DependencyCollector {
  bool needSystemDependencies() override { return true; }
};

class Precompile : public clang::GeneratePCHAction {
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &CI, StringRef File) override {
    std::vector<std::unique_ptr<clang::ASTConsumer>> Both;
    Both.push_back(std::make_unique<DropDeferredChecks>(CI)); // before the writer
    Both.push_back(clang::GeneratePCHAction::CreateASTConsumer(CI, File));
    if (!Both.back())
      return nullptr;
    return std::make_unique<clang::MultiplexConsumer>(std::move(Both));
  }
};

} // namespace

static Error writeFile(StringRef Path, StringRef Text) {
  return writeToOutput(Path, [&](raw_ostream &OS) {
    OS << Text;
    return Error::success();
  });
}

/// Writes \p Pch, then the stamps that make it valid.
static bool precompile(const clang::CompilerInvocation &Invocation, StringRef Pch, StringRef Stamps) {
  auto Call = std::make_shared<clang::CompilerInvocation>(Invocation);
  std::string Main = (Pch + ".cu").str();
  std::unique_ptr<MemoryBuffer> Empty = MemoryBuffer::getMemBuffer("\n", Main);
  clang::PreprocessorOptions &Preprocessor = Call->getPreprocessorOpts();
  Preprocessor.Includes.resize(std::size(Front));
  Preprocessor.clearRemappedFiles();
  Preprocessor.addRemappedFile(Main, Empty.get());
  Preprocessor.RetainRemappedFileBuffers = true;
  clang::FrontendOptions &Frontend = Call->getFrontendOpts();
  Frontend.Inputs = {clang::FrontendInputFile(Main, Frontend.Inputs.front().getKind())};
  Frontend.ProgramAction = clang::frontend::GeneratePCH;
  Frontend.DisableFree = false;
  Frontend.OutputFile = Pch.str();

  auto Files = std::make_shared<AllFiles>();
  clang::IgnoringDiagConsumer Silent;
  clang::CompilerInstance Instance(Call);
  Instance.setVirtualFileSystem(vfs::getRealFileSystem());
  Instance.setVerboseOutputStream(nulls());
  Instance.createDiagnostics(&Silent, /*ShouldOwnClient=*/false);
  Instance.addDependencyCollector(Files);
  Precompile Action;
  if (!Instance.ExecuteAction(Action) || Silent.getNumErrors() > 0)
    return false;
  std::string Text = stamp(Pch);
  for (StringRef File : Files->getDependencies())
    if (File != Main)
      Text += stamp(File);
  if (Error E = writeFile(Stamps, Text)) {
    consumeError(std::move(E)); // a cache that cannot be written is none
    return false;
  }
  return true;
}

/// The precompiled headers for \p Invocation; empty where they cannot be had.
static std::string find(const clang::CompilerInvocation &Invocation) {
  SmallString<256> Folder(cacheFolder());
  if (Folder.empty())
    return "";
  sys::path::append(Folder, "headers");
  if (sys::fs::create_directories(Folder))
    return "";
  SmallString<256> Pch(Folder);
  sys::path::append(Pch, Prefix + keyOf(Invocation));
  std::string Stamps = stampsOf(Pch);
  auto Usable = [&] { return sys::fs::exists(Pch) && isFresh(Stamps); };
  if (Usable())
    return Pch.str().str();
  // What other processes have built upon must not be replaced by its like.
  LockFileManager Lock(Pch);
  Expected<bool> Owned = Lock.tryLock();
  if (!Owned) {
    consumeError(Owned.takeError());
    return "";
  }
  if (!*Owned) {
    Lock.waitForUnlockFor(std::chrono::seconds(10));
    return Usable() ? Pch.str().str() : "";
  }
  pruneCache(Folder, CachePruningPolicy());
  return Usable() || precompile(Invocation, Pch, Stamps) ? Pch.str().str() : "";
}

void usePrecompiledToolkit(clang::CompilerInvocation &Invocation) {
  clang::PreprocessorOptions &Preprocessor = Invocation.getPreprocessorOpts();
  std::vector<std::string> &Includes = Preprocessor.Includes;
  bool AsExpected = Includes.size() >= std::size(Front) && std::equal(std::begin(Front), std::end(Front), Includes.begin());
  if (!AsExpected || !Preprocessor.ImplicitPCHInclude.empty())
    return;
  std::string Pch = find(Invocation);
  if (Pch.empty())
    return;
  Preprocessor.ImplicitPCHInclude = Pch;
  Includes.erase(Includes.begin(), Includes.begin() + std::size(Front));
}

std::vector<std::string> precompiledFiles(const clang::CompilerInvocation &Invocation) {
  const std::string &Pch = Invocation.getPreprocessorOpts().ImplicitPCHInclude;
  ErrorOr<std::unique_ptr<MemoryBuffer>> Text = MemoryBuffer::getFile(stampsOf(Pch));
  if (Pch.empty() || !Text)
    return {};
  std::vector<std::string> Out = pathsIn((*Text)->getBuffer());
  if (!Out.empty())
    Out.erase(Out.begin()); // the precompiled file itself
  return Out;
}

} // namespace restride::ptx

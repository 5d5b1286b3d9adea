#include "ptx/compile/ClangInvocation.h"

#include "ptx/compile/ToolkitHeaders.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Driver/Compilation.h"
#include "clang/Driver/Driver.h"
#include "clang/Driver/Job.h"
#include "clang/Driver/Tool.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/TextDiagnosticBuffer.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Options/OptionUtils.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/TargetParser/Host.h"

namespace restride::ptx {
using namespace llvm;

std::string clangResourceDir() {
  if (sys::fs::is_directory(RESTRIDE_CLANG_RESOURCE_DIR))
    return RESTRIDE_CLANG_RESOURCE_DIR;
  // The shared library lies in <prefix>/lib, where the driver's executable
  // would lie in <prefix>/bin.
  std::string Library =
      sys::fs::getMainExecutable("", reinterpret_cast<void *>(&clang::CompilerInvocation::CreateFromArgs));
  return clang::GetResourcesPath(Library);
}

/// The folder of ptx/prelude/, as loadGpu() finds its profiles.
static Expected<std::string> preludeDir() {
  static int Anchor;
  std::vector<std::string> Dirs = {RESTRIDE_PRELUDE_SOURCE_DIR};
  SmallString<256> Beside(sys::path::parent_path(sys::path::parent_path(sys::fs::getMainExecutable(nullptr, &Anchor))));
  sys::path::append(Beside, "share", "restride", "prelude");
  Dirs.push_back(Beside.str().str());
  Dirs.push_back(RESTRIDE_PRELUDE_INSTALL_DIR);
  for (const std::string &Dir : Dirs)
    if (sys::fs::is_directory(Dir))
      return Dir;
  return createStringError("the headers that come with restride are missing: no folder '" + Dirs.back() + "'");
}

/// Include guards of what Headers::Lean leaves out. A header of another version
/// with another guard is read as usual.
static constexpr StringRef LeanGuards[] = {"__CLANG_CUDA_TEXTURE_INTRINSICS_H__", "__TEXTURE_INDIRECT_FUNCTIONS_H__",
                                           "__SURFACE_INDIRECT_FUNCTIONS_H__", "_GLIBCXX_BITS_SPECFUN_H"};

/// One command line may hold for files of several languages.
static bool isStandardOfAnother(StringRef Flag, Language As) {
  if (!Flag.consume_front("-std=") || As == Language::Cuda)
    return false;
  bool OfC = (Flag.consume_front("c") || Flag.consume_front("gnu")) && !Flag.empty() && isDigit(Flag.front());
  return OfC != (As == Language::C);
}

static StringRef spell(Language L) { return L == Language::Cuda ? "cuda" : L == Language::Cxx ? "c++" : "c"; }

/// A driver command line. The user's flags come last, so that they win.
static std::vector<std::string> driverArguments(StringRef MainFile, const CompileOptions &Options, Language As,
                                                Side Which, Headers Set, const std::string &Prelude) {
  std::vector<std::string> Args = {"clang", "-x", spell(As).str(), "-resource-dir=" + clangResourceDir(),
                                   // Warnings about the user's code are not this tool's business.
                                   "-w", "-Wno-unknown-cuda-version",
                                   // GCC only warns of it.
                                   "-Wno-register"};
  if (!Options.WorkingDirectory.empty())
    Args.push_back("-working-directory=" + Options.WorkingDirectory);
  if (As == Language::Cuda) // Newer toolkits drop architectures that Clang still knows.
    Args.insert(Args.end(), {"--cuda-path=" + Options.CudaPath, "--cuda-gpu-arch=" + Options.Arch,
                             "--no-cuda-version-check", Which == Side::Host ? "--cuda-host-only" : "--cuda-device-only"});
  if (Which == Side::Host)
    Args.push_back("-fsyntax-only");
  else
    Args.insert(Args.end(), {"-S", "-O3", "-gline-tables-only", "-o", "-"});
  if (!Options.StrictAliasing)
    Args.push_back("-fno-strict-aliasing");
  if (Set == Headers::Lean)
    for (StringRef Guard : LeanGuards)
      Args.push_back(("-D" + Guard).str());
  Args.insert(Args.end(), {"-idirafter", Prelude});
  if (As == Language::Cuda)
    Args.insert(Args.end(), {"-include", "restride_nvcc.h"});
  ArrayRef<std::string> Flags = Options.Flags;
  for (size_t I = 0; I < Flags.size(); ++I)
    if (Flags[I] == "-x")
      ++I; // it is \p As already
    else if (!isStandardOfAnother(Flags[I], As))
      Args.push_back(Flags[I]);
  SmallString<128> Include(Options.CudaPath), Cccl;
  sys::path::append(Include, "include");
  sys::path::append(Cccl, Include, "cccl");
  if (As != Language::Cuda)
    Args.insert(Args.end(), {"-isystem", Include.str().str()});
  // Since CUDA 13, thrust and cub are found by nvcc in a folder of their own.
  if (sys::fs::is_directory(Cccl))
    Args.insert(Args.end(), {"-isystem", Cccl.str().str()});
  Args.insert(Args.end(), {"--", MainFile.str()});
  return Args;
}

static Error firstError(const clang::TextDiagnosticBuffer &Buffer, StringRef Fallback) {
  if (Buffer.err_begin() != Buffer.err_end())
    return createStringError(Buffer.err_begin()->second);
  return createStringError(Fallback);
}

Expected<std::shared_ptr<clang::CompilerInvocation>>
createInvocation(StringRef MainFile, const CompileOptions &Options, Language As, Side Which, Headers Set) {
  Expected<std::string> Prelude = preludeDir();
  if (!Prelude)
    return Prelude.takeError();
  std::vector<std::string> Strings = driverArguments(MainFile, Options, As, Which, Set, *Prelude);
  std::vector<const char *> Args;
  for (const std::string &S : Strings)
    Args.push_back(S.c_str());

  clang::DiagnosticOptions DiagOptions;
  clang::TextDiagnosticBuffer Buffer;
  auto Diags = makeIntrusiveRefCnt<clang::DiagnosticsEngine>(clang::DiagnosticIDs::create(), DiagOptions, &Buffer,
                                                             /*ShouldOwnClient=*/false);
  // Diagnostics of the driver are wanted where they are errors.
  Diags->setIgnoreAllWarnings(true);

  // With -working-directory the driver changes that of its file system, which must not be the process's.
  clang::driver::Driver Driver(clangResourceDir() + "/../../../bin/clang", sys::getDefaultTargetTriple(), *Diags,
                               "restride", vfs::createPhysicalFileSystem());
  Driver.setProbePrecompiled(false);
  Driver.setCheckInputsExist(false); // the text may come from memory
  std::unique_ptr<clang::driver::Compilation> Compilation(Driver.BuildCompilation(Args));
  if (!Compilation || Diags->hasErrorOccurred())
    return firstError(Buffer, "Clang's driver refused the compiler flags");

  for (const clang::driver::Command &Job : Compilation->getJobs()) {
    if (StringRef(Job.getCreator().getName()) != "clang")
      continue;
    auto Invocation = std::make_shared<clang::CompilerInvocation>();
    if (!clang::CompilerInvocation::CreateFromArgs(*Invocation, Job.getArguments(), *Diags))
      return firstError(Buffer, "Clang refused the compiler flags");
    if (As == Language::Cuda) { // before the driver's own
      std::vector<std::string> &First = Invocation->getPreprocessorOpts().Includes;
      First.insert(First.begin(), "restride_before.h");
    }
    if (As == Language::Cuda && Set == Headers::Lean)
      usePrecompiledToolkit(*Invocation);
    return Invocation;
  }
  return createStringError("Clang's driver planned no compilation");
}

} // namespace restride::ptx

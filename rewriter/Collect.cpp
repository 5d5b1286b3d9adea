#include "rewriter/Collect.h"

#include "rewriter/Apply.h"
#include "rewriter/read/Captured.h"
#include "rewriter/read/CollectedUnit.h"
#include "rewriter/read/InputStamps.h"
#include "rewriter/read/Parse.h"
#include "rewriter/read/Progress.h"
#include "rewriter/read/UnitCompiler.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ThreadPool.h"

namespace restride {
using namespace llvm;

/// Text for the device alone is read there, see readProgram.
static bool needsDevice(const ParsedSource &Host) {
  return any_of(Host.Skipped, [](const SkippedRange &R) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(R.File);
    return Buffer && (*Buffer)->getBuffer().contains("__CUDA_ARCH__");
  });
}

/// What the parse left, as the host's or the device's side; the bytes stay in \p Parsed.
static CollectedSide sideOf(const ParsedSource &Parsed) { return {Parsed.Bytes, Parsed.Skipped, Parsed.UserFiles}; }

/// The same file, read in the same way.
static bool isSameCommand(const SourceCommand &A, const SourceCommand &B) {
  return A.File == B.File && A.Directory == B.Directory && A.Flags == B.Flags && A.Arch == B.Arch;
}

/// From now on, as the program asks what only nvcc defines.
static SourceCommand withMacros(SourceCommand Command, ArrayRef<std::string> Macros) {
  append_range(Command.Flags, Macros);
  return Command;
}

/// Facts that hold, or null.
static std::shared_ptr<const CollectedUnit> knownFacts(const ProgramUnit &U, const std::string &Path, const CompilerSettings &S) {
  Expected<std::shared_ptr<const CollectedUnit>> Known = readUnitFile(Path);
  if (!Known) {
    consumeError(Known.takeError()); // it is collected again
    return nullptr;
  }
  const CollectedUnit &K = **Known;
  bool Holds = isSameCommand(K.Command, U.Command) && K.Toolkit == S.Toolkit.Path &&
               (K.PtxKey.empty() || K.PtxKey == ptxKey(withMacros(U.Command, K.NvccMacros), S));
  return Holds ? *Known : nullptr;
}

/// As a compiler does with -MD: what \p Target hangs on, for make and Ninja.
static std::string dependencies(StringRef Target, const std::set<std::string> &Files) {
  auto Escape = [](StringRef Path) {
    std::string Out;
    for (char C : Path) {
      if (C == ' ' || C == '#')
        Out += '\\';
      if (C == '$')
        Out += '$';
      Out += C;
    }
    return Out;
  };
  std::string Out = Escape(Target) + ":";
  for (const std::string &F : Files)
    Out += " \\\n  " + Escape(F);
  return Out + "\n";
}

/// A build goes by times: facts that hold are made as new as if they were.
static Error touch(const std::string &Path) {
  int File = -1;
  std::error_code EC = sys::fs::openFileForWrite(Path, File, sys::fs::CD_OpenExisting, sys::fs::OF_Append);
  if (!EC)
    EC = sys::fs::setLastAccessAndModificationTime(File, std::chrono::system_clock::now());
  if (File >= 0)
    sys::Process::SafelyCloseFileDescriptor(File);
  return EC ? createStringError(EC, "cannot write '" + Path + "': " + EC.message()) : Error::success();
}

static std::set<std::string> absolute(const std::set<std::string> &Files, StringRef Directory) {
  std::set<std::string> Out;
  for (const std::string &F : Files) {
    SmallString<256> Path(F);
    sys::path::make_absolute(Directory, Path);
    Out.insert(Path.str().str());
  }
  return Out;
}

/// Errors of the program go to \p Errors.
static Error collectUnit(const ProgramUnit &U, const CompilerSettings &S, raw_ostream &Errors) {
  std::string Path = collectedFile(S.O.Collect, U.Command);
  if (std::shared_ptr<const CollectedUnit> Known = knownFacts(U, Path, S)) {
    if (Error E = writeFile(Path + ".d", dependencies(Path, Known->Files)))
      return E;
    return touch(Path);
  }
  Time Begin = std::chrono::system_clock::now();
  Expected<std::unique_ptr<ptx::Compiler>> Compiler = createCompiler(U, S); // reads headers beside the parse
  if (!Compiler)
    return Compiler.takeError();
  Expected<ParsedSource> Host = parse(U.Command, S.Toolkit, ptx::Side::Host, {}, Errors, /*Serialize=*/true);
  if (!Host)
    return Host.takeError();
  CollectedUnit Out;
  Out.Command = U.Command;
  Out.Toolkit = S.Toolkit.Path;
  Out.NvccMacros = Host->NvccMacros;
  Out.Read = Host->Read;
  Out.Host = sideOf(*Host);
  SourceCommand Command = withMacros(U.Command, Host->NvccMacros);
  std::set<std::string> Precompiled{Host->Precompiled}; // which this run may have made
  std::optional<ParsedSource> Device;
  if (needsDevice(*Host)) {
    Expected<ParsedSource> Parsed = parse(Command, S.Toolkit, ptx::Side::Device, {}, Errors, /*Serialize=*/true);
    if (!Parsed)
      return Parsed.takeError();
    Device = std::move(*Parsed);
    Out.Device = sideOf(*Device);
    Out.Read.insert(Device->Read.begin(), Device->Read.end());
    Precompiled.insert(Device->Precompiled);
  }
  if (!Host->NvccMacros.empty()) {
    ProgramUnit Now{Command, nullptr, {}, {}, nullptr};
    Compiler = createCompiler(Now, S);
    if (!Compiler)
      return Compiler.takeError();
  }
  Expected<std::string> Ptx = (*Compiler)->compile({});
  if (Ptx) {
    Out.PtxKey = ptxKey(Command, S);
    Out.Ptx = *Ptx;
  } else {
    consumeError(Ptx.takeError()); // it matters to a program with candidates alone, and comes back there
  }
  std::set<std::string> Files = absolute(Out.Read, U.Command.Directory);
  if (std::optional<std::string> Changed = writtenSince(Files, Begin))
    return createStringError("'" + *Changed + "' changed while it was read; run --collect again");
  Files.merge(Precompiled);
  Files.erase("");
  Out.Files = std::move(Files);
  if (Error E = writeFile(Path, packUnit(Out)))
    return E;
  return writeFile(Path + ".d", dependencies(Path, Out.Files));
}

Error collect(ArrayRef<ProgramUnit> Units, const CudaToolkit &Toolkit, StringRef GpuArch, const Options &O) {
  CompilerSettings S{Toolkit, GpuArch.str(), O};
  Progress Shown(O.Quiet ? nullptr : &errs());
  std::mutex Lock;
  size_t Done = 0;
  Error Result = Error::success();
  DefaultThreadPool Pool(hardware_concurrency(O.Jobs));
  for (const ProgramUnit &U : Units)
    Pool.async([&, &U = U] {
      std::string Said;
      Captured Errors(Said, errs());
      Error E = collectUnit(U, S, Errors);
      std::lock_guard<std::mutex> Guard(Lock);
      if (!Said.empty())
        Shown.clear();
      errs() << Said;
      Result = joinErrors(std::move(Result), std::move(E));
      Shown.show(++Done, Units.size(), U.Command.SpelledFile);
    });
  Pool.wait();
  return Result;
}

static Expected<ProgramUnit> collectedUnit(const std::string &Path) {
  Expected<std::shared_ptr<const CollectedUnit>> Facts = readUnitFile(Path);
  if (!Facts)
    return Facts.takeError();
  return ProgramUnit{(*Facts)->Command, nullptr, {}, {}, {}, *Facts};
}

Expected<std::vector<ProgramUnit>> collectedUnits(ArrayRef<ProgramUnit> Asked, const CudaToolkit &Toolkit, const Options &O) {
  Expected<std::vector<std::string>> Paths = collectedFiles(O.Decide);
  if (!Paths)
    return Paths.takeError();
  std::vector<ProgramUnit> Out;
  if (!Asked.empty())
    Paths->clear();
  for (const ProgramUnit &U : Asked) {
    Paths->push_back(collectedFile(O.Decide, U.Command));
    if (!sys::fs::exists(Paths->back()))
      return createStringError("'" + O.Decide + "' has no facts of '" + U.Command.SpelledFile + "'; run --collect=" + O.Decide + " for it");
  }
  for (const std::string &Path : *Paths) {
    Expected<ProgramUnit> U = collectedUnit(Path);
    if (!U)
      return U.takeError();
    if (U->Facts->Toolkit != Toolkit.Path)
      return createStringError("'" + Path + "' was collected with the CUDA Toolkit in '" + U->Facts->Toolkit + "', and this one is '" + Toolkit.Path +
                               "'; run --collect again");
    if (!Asked.empty() && !isSameCommand(U->Command, Asked[Out.size()].Command))
      return createStringError("'" + Asked[Out.size()].Command.SpelledFile + "' is compiled in another way now than when it was collected; run --collect again");
    if (!Asked.empty())
      U->Command = Asked[Out.size()].Command;
    U->Command = withMacros(std::move(U->Command), U->Facts->NvccMacros);
    Out.push_back(std::move(*U));
  }
  if (Asked.empty()) // as -p would have them
    sort(Out, [](const ProgramUnit &A, const ProgramUnit &B) { return A.Command.SpelledFile < B.Command.SpelledFile; });
  return Out;
}

} // namespace restride

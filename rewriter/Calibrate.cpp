#include "rewriter/Calibrate.h"

#include "analysis/cost/Calibration.h"
#include "ptx/compile/TemporaryFile.h"
#include "rewriter/Apply.h"
#include "rewriter/command/CudaToolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <optional>

namespace restride {
using namespace llvm;

/// The exit status of a program; what it printed goes to the two files.
static Expected<int> runProgram(std::vector<std::string> Args, StringRef Out, StringRef Err) {
  std::vector<StringRef> Words(Args.begin(), Args.end());
  std::optional<StringRef> Redirects[] = {StringRef(), Out, Err};
  std::string Message;
  int Status = sys::ExecuteAndWait(Args.front(), Words, /*Env=*/std::nullopt, Redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &Message);
  if (Status < 0)
    return createStringError("cannot run '" + Args.front() + "': " + Message);
  return Status;
}

/// What a program that failed said.
static Error failed(const Twine &What, const TemporaryFile &Log) {
  Expected<std::string> Said = Log.read();
  return Said ? createStringError(What + ": " + StringRef(*Said).trim()) : Said.takeError();
}

/// What the benchmarks print on this machine; nothing where there is no GPU.
static Expected<std::optional<std::string>> measure(const CudaToolkit &Toolkit, StringRef Program) {
  Expected<TemporaryFile> Source = TemporaryFile::create("cu", Program), Binary = TemporaryFile::create("out"),
                          Out = TemporaryFile::create("yaml"), Log = TemporaryFile::create("log");
  for (Expected<TemporaryFile> *File : {&Source, &Binary, &Out, &Log})
    if (!*File) {
      Error E = File->takeError();
      for (Expected<TemporaryFile> *Other : {&Source, &Binary, &Out, &Log})
        if (Other != File && !*Other)
          E = joinErrors(std::move(E), Other->takeError());
      return E;
    }
  // Without a GPU, nvcc takes its default architecture, and the program says that there is none.
  Expected<int> Status = runProgram({Toolkit.nvcc(), "-O3", "-std=c++17", "-arch=native", "-o", Binary->path().str(), Source->path().str()},
                                    Log->path(), Log->path());
  if (!Status)
    return Status.takeError();
  if (*Status != 0)
    return failed("nvcc cannot build the benchmarks", *Log);
  Status = runProgram({Binary->path().str()}, Out->path(), Log->path());
  if (!Status)
    return Status.takeError();
  if (*Status == cost::NoGpuStatus)
    return std::nullopt;
  if (*Status != 0)
    return failed("the benchmarks failed", *Log);
  Expected<std::string> Profile = Out->read();
  if (!Profile)
    return Profile.takeError();
  return std::move(*Profile);
}

/// Fails if \p Path is a file that is not ours.
static Error checkOurs(StringRef Path) {
  if (!sys::fs::exists(Path))
    return Error::success();
  ErrorOr<std::unique_ptr<MemoryBuffer>> There = MemoryBuffer::getFile(Path);
  if (There && (*There)->getBuffer().starts_with(cost::calibrationHeading()))
    return Error::success();
  return createStringError("the benchmarks would replace '" + Path + "'; give --calibrate another name");
}

static Expected<std::string> writeProgram(const Options &O, StringRef Program, StringRef Why) {
  SmallString<128> Path(O.Calibrate), Binary;
  sys::path::replace_extension(Path, ".cu");
  if (Error E = checkOurs(Path))
    return E;
  if (Error E = writeFile(Path, Program))
    return E;
  Binary = Path;
  sys::path::replace_extension(Binary, "");
  std::string Run = (sys::path::has_parent_path(Binary) ? "" : "./") + Binary.str().str();
  return (Path + ": benchmarks, as there is " + Why + " here. On the machine with the GPU:\n  nvcc -O3 -std=c++17 -arch=native -o " +
          Binary + " " + Path + "\n  " + Run + " > " + O.Calibrate + "\n").str();
}

Expected<std::string> calibrate(const Options &O) {
  Expected<cost::Gpu> Base = cost::loadGpu(O.Gpu);
  if (!Base)
    return Base.takeError();
  Expected<std::string> Program = cost::calibrationProgram(*Base);
  if (!Program)
    return Program.takeError();
  Expected<CudaToolkit> Toolkit = findCudaToolkit(O.CudaPath);
  if (!Toolkit) {
    if (!O.CudaPath.empty()) // the user names one
      return Toolkit.takeError();
    consumeError(Toolkit.takeError()); // it becomes the message
    return writeProgram(O, *Program, "no CUDA Toolkit");
  }
  if (!sys::fs::can_execute(Toolkit->nvcc()))
    return writeProgram(O, *Program, "no nvcc");
  Expected<std::optional<std::string>> Profile = measure(*Toolkit, *Program);
  if (!Profile)
    return Profile.takeError();
  if (!*Profile)
    return writeProgram(O, *Program, "no GPU");
  // A profile that cannot be read back helps nobody.
  Expected<cost::Gpu> Read = cost::parseGpu(**Profile, O.Calibrate);
  if (!Read)
    return Read.takeError();
  if (Error E = writeFile(O.Calibrate, **Profile))
    return E;
  return O.Calibrate + ": profile of " + Read->Name + "; use it with --gpu=" + O.Calibrate + "\n";
}

} // namespace restride

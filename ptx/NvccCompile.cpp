// nvcc reads and writes files, so each variant is one temporary source and one
// temporary result. #line gives errors and .loc the user's file name.
#include "ptx/Compile.h"
#include "ptx/TemporaryFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace restride::ptx {
using namespace llvm;

namespace {

class NvccCompiler : public Compiler {
public:
  NvccCompiler(std::string MainFile, CompileOptions Options)
      : MainFile(std::move(MainFile)), Options(std::move(Options)) {}
  Expected<std::string> compile(ArrayRef<SourceText> Changed) override;

private:
  std::vector<std::string> arguments(StringRef Source, StringRef Result) const;
  std::string absolute(StringRef Path) const;

  std::string MainFile;
  CompileOptions Options;
};

} // namespace

/// nvcc runs in our working directory, not in that of the user's build.
std::string NvccCompiler::absolute(StringRef Path) const {
  SmallString<256> Result(Path);
  if (!Options.WorkingDirectory.empty())
    sys::path::make_absolute(Options.WorkingDirectory, Result);
  return Result.str().str();
}

/// The user's flags in nvcc's spelling, as far as they can change the PTX.
/// Flags that only Clang has are left out.
std::vector<std::string> NvccCompiler::arguments(StringRef Source, StringRef Result) const {
  std::vector<std::string> Args = {Options.CudaPath + "/bin/nvcc", "-ptx", "-lineinfo", "-arch=" + Options.Arch, "-w",
                                   // These only accept more.
                                   "-expt-relaxed-constexpr", "-extended-lambda", "-I",
                                   absolute(sys::path::parent_path(MainFile))};
  ArrayRef<std::string> Flags = Options.Flags;
  for (size_t I = 0; I < Flags.size(); ++I) {
    StringRef Flag = Flags[I];
    if (Flag == "-fgpu-rdc") {
      Args.push_back("-rdc=true");
    } else if (Flag == "-fgpu-approx-transcendentals") {
      Args.push_back("-use_fast_math");
    } else if (Flag == "-ffp-contract=off") {
      Args.push_back("-fmad=false");
    } else if (Flag == "-fgpu-flush-denormals-to-zero") {
      Args.push_back("-ftz=true");
    } else if (Flag.starts_with("-std=c++")) {
      Args.push_back(Flag.str());
    } else if (is_contained({"-I", "-isystem", "-include"}, Flag) && I + 1 < Flags.size()) {
      Args.push_back(Flag.str());
      Args.push_back(absolute(Flags[++I]));
    } else if (Flag.starts_with("-I")) {
      Args.push_back("-I" + absolute(Flag.drop_front(2)));
    } else if (is_contained({"-D", "-U"}, Flag) && I + 1 < Flags.size()) {
      Args.push_back(Flag.str());
      Args.push_back(Flags[++I]);
    } else if (Flag.starts_with("-D") || Flag.starts_with("-U")) {
      Args.push_back(Flag.str());
    }
  }
  Args.insert(Args.end(), {"-o", Result.str(), Source.str()});
  return Args;
}

/// "sim.cu(12): error: ..." among nvcc's output, or its last line.
static std::string firstError(StringRef Log) {
  StringRef Last = "nvcc failed and said nothing";
  for (StringRef Line : split(Log, '\n')) {
    if (Line.contains("error"))
      return Line.trim().str();
    if (!Line.trim().empty())
      Last = Line.trim();
  }
  return Last.str();
}

Expected<std::string> NvccCompiler::compile(ArrayRef<SourceText> Changed) {
  StringRef Text = Changed.front().Text;
  Expected<TemporaryFile> Source = TemporaryFile::create("cu", ("#line 1 \"" + MainFile + "\"\n" + Text).str());
  if (!Source)
    return Source.takeError();
  Expected<TemporaryFile> Result = TemporaryFile::create("ptx");
  if (!Result)
    return Result.takeError();
  Expected<TemporaryFile> Log = TemporaryFile::create("log");
  if (!Log)
    return Log.takeError();

  std::vector<std::string> Strings = arguments(Source->path(), Result->path());
  std::vector<StringRef> Args(Strings.begin(), Strings.end());
  std::optional<StringRef> Redirects[] = {StringRef(), Log->path(), Log->path()};
  std::string Message;
  int Status = sys::ExecuteAndWait(Strings.front(), Args, /*Env=*/std::nullopt, Redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &Message);
  if (Status < 0)
    return createStringError("cannot run '" + Strings.front() + "': " + Message);
  if (Status > 0) {
    Expected<std::string> Said = Log->read();
    if (!Said)
      return Said.takeError();
    return createStringError(firstError(*Said));
  }
  return Result->read();
}

Expected<std::unique_ptr<Compiler>> createNvccCompiler(StringRef MainFile, const CompileOptions &Options) {
  std::string Nvcc = Options.CudaPath + "/bin/nvcc";
  if (!sys::fs::can_execute(Nvcc))
    return createStringError("cannot run '" + Nvcc + "'; use --ptx-compiler=clang or another --cuda-path");
  return std::make_unique<NvccCompiler>(MainFile.str(), Options);
}

} // namespace restride::ptx

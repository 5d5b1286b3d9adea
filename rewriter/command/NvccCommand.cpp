#include "rewriter/command/NvccCommand.h"

#include "rewriter/command/HostFlags.h"
#include "rewriter/command/NvccOptions.h"

#include "clang/Basic/OffloadArch.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <set>

namespace restride {
using namespace llvm;

FlagsOf compilerOf(StringRef Program) {
  StringRef Name = sys::path::filename(Program);
  if (Name.contains("nvcc"))
    return FlagsOf::Nvcc;
  return Name.contains("clang") ? FlagsOf::Any : FlagsOf::Gcc;
}

/// Clang's options whose value is an argument of its own.
static bool takesNextArgument(StringRef Arg) {
  return is_contained({"-Xclang", "-iquote", "-idirafter", "-imacros", "-isysroot", "-target", "-mllvm", "-resource-dir", "--sysroot",
                       "-Xpreprocessor", "--param", "-cxx-isystem", "-Xarch_host", "-Xarch_device"},
                      Arg);
}

/// -Werror is a plain flag to Clang and takes a kind in nvcc.
static bool isWerrorKind(StringRef Arg) {
  return is_contained({"all-warnings", "cross-execution-space-call", "reorder", "default-stream-launch",
                       "missing-launch-bounds", "ext-lambda-captures-this", "deprecated-declarations"},
                      Arg);
}

/// Options whose values are kept, but not as flags at once.
static constexpr NvccAction Elsewhere[] = {NvccAction::Arch, NvccAction::Host, NvccAction::OptionsFile,
                                          NvccAction::IfTrue, NvccAction::IfFalse};

/// Nobody expects to find the step of the build and its output among the flags.
static bool isBuildStep(StringRef Arg) {
  return is_contained({"-c", "--compile", "-o", "--output-file"}, Arg);
}

/// nvcc's lists: separated by commas, but not behind a backslash.
static std::vector<std::string> splitList(StringRef Value) {
  std::vector<std::string> Out(1);
  for (size_t I = 0; I < Value.size(); ++I) {
    if (Value[I] == ',') {
      Out.emplace_back();
      continue;
    }
    if (Value.substr(I).starts_with("\\,"))
      ++I;
    Out.back() += Value[I];
  }
  return Out;
}

namespace {

class Translator {
public:
  Translator(StringRef Directory, FlagsOf Whose) : Directory(Directory), Whose(Whose) {}

  Error run(ArrayRef<std::string> Args, unsigned Depth = 0) {
    for (size_t I = 0; I < Args.size(); ++I)
      if (Error E = one(Args, I, Depth))
        return E;
    return Error::success();
  }

  ClangFlags finish();

private:
  Error one(ArrayRef<std::string> Args, size_t &I, unsigned Depth);
  Error apply(const NvccMatch &M, StringRef Value, unsigned Depth);
  void addAs(const NvccMatch &M, StringRef Value);
  void addUnknown(ArrayRef<std::string> Args, size_t &I);
  Error readOptionsFile(StringRef File, unsigned Depth);
  void noteArchs(StringRef Text);

  StringRef Directory;
  FlagsOf Whose;
  ClangFlags Result;
  std::vector<std::string> Host; ///< flags for the host compiler
  std::set<unsigned> Archs;
};

} // namespace

Error Translator::one(ArrayRef<std::string> Args, size_t &I, unsigned Depth) {
  StringRef Arg = Args[I];
  if (Arg.starts_with("@") && Arg.size() > 1)
    return readOptionsFile(Arg.drop_front(), Depth);
  if (!Arg.starts_with("-") || Arg == "-") // an input
    return Error::success();
  if (Arg == "-Werror" || Arg == "--Werror") {
    bool HasKind = I + 1 < Args.size() && isWerrorKind(Args[I + 1]);
    Result.Dropped.push_back(HasKind ? (Arg + " " + Args[++I]).str() : Arg.str());
    return Error::success();
  }
  std::optional<NvccMatch> M = findNvccOption(Arg);
  if (!M && (Arg.starts_with("-W") || Arg.starts_with("--W"))) {
    Result.Dropped.push_back(Arg.str());
    return Error::success();
  }
  if (!M && takesNextArgument(Arg) && I + 1 == Args.size())
    return createStringError("compiler flag '" + Arg + "' lacks its value");
  if (!M) {
    addUnknown(Args, I);
    return Error::success();
  }
  if (M->TakesNext && I + 1 == Args.size())
    return createStringError("compiler flag '" + Arg + "' lacks its value");
  StringRef Value = M->TakesNext ? StringRef(Args[++I]) : M->Value.value_or("");
  size_t Before = Result.Flags.size();
  if (Error E = apply(*M, Value, Depth))
    return E;
  bool HasPlace = Result.Flags.size() > Before || is_contained(Elsewhere, M->Option->Do) || isBuildStep(Arg);
  if (!HasPlace)
    Result.Dropped.push_back(M->TakesNext ? (Arg + " " + Value).str() : Arg.str());
  return Error::success();
}

void Translator::addUnknown(ArrayRef<std::string> Args, size_t &I) {
  std::vector<std::string> &To = Whose == FlagsOf::Any ? Result.Flags : Host;
  To.push_back(Args[I]);
  if (takesNextArgument(Args[I]))
    To.push_back(Args[++I]);
}

void Translator::addAs(const NvccMatch &M, StringRef Value) {
  StringRef Clang = M.Option->Clang;
  if (M.Option->Value == NvccValue::None) {
    Result.Flags.push_back(Clang.str());
    return;
  }
  bool IsList = Whose == FlagsOf::Nvcc && M.Option->Value != NvccValue::One && Clang != "-x";
  for (const std::string &Part : IsList ? splitList(Value) : std::vector<std::string>{Value.str()})
    if (Clang.ends_with("=") || (M.IsJoined && Clang != "-x")) {
      Result.Flags.push_back(Clang.str() + Part);
    } else {
      Result.Flags.push_back(Clang.str());
      Result.Flags.push_back(Part);
    }
}

Error Translator::apply(const NvccMatch &M, StringRef Value, unsigned Depth) {
  switch (M.Option->Do) {
  case NvccAction::Drop:
    break;
  case NvccAction::As:
    addAs(M, Value);
    break;
  case NvccAction::Arch:
    noteArchs(Value);
    break;
  case NvccAction::Host:
    append_range(Host, splitHostFlags(Value));
    break;
  case NvccAction::OptionsFile:
    for (const std::string &File : splitList(Value))
      if (Error E = readOptionsFile(File, Depth))
        return E;
    break;
  case NvccAction::FastMath:
    Result.Flags.insert(Result.Flags.end(),
                        {"-fgpu-approx-transcendentals", "-fgpu-flush-denormals-to-zero", "-fapprox-func", "-D__RESTRIDE_APPROX_SQRT"});
    break;
  case NvccAction::IfTrue:
  case NvccAction::IfFalse:
    if (Value == (M.Option->Do == NvccAction::IfTrue ? "true" : "false"))
      Result.Flags.push_back(M.Option->Clang);
    break;
  }
  return Error::success();
}

Error Translator::readOptionsFile(StringRef File, unsigned Depth) {
  SmallString<256> Path(File);
  sys::path::make_absolute(Directory, Path);
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path);
  if (!Buffer)
    return createStringError("cannot read options file '" + Path + "': " + Buffer.getError().message());
  if (Depth == 16)
    return createStringError("options files include each other: '" + Path + "'");
  Result.OptionsFiles.push_back(Path.str().str());
  BumpPtrAllocator Allocator;
  StringSaver Saver(Allocator);
  SmallVector<const char *> Words;
  cl::TokenizeGNUCommandLine((*Buffer)->getBuffer(), Saver, Words);
  return run(std::vector<std::string>(Words.begin(), Words.end()), Depth + 1);
}

void Translator::noteArchs(StringRef Text) {
  static constexpr StringRef Prefixes[] = {"sm_", "compute_"};
  for (StringRef Prefix : Prefixes)
    for (size_t At = Text.find(Prefix); At != StringRef::npos; At = Text.find(Prefix, At + 1)) {
      StringRef Number = Text.substr(At + Prefix.size());
      unsigned Arch = 0;
      if (!Number.consumeInteger(10, Arch))
        Archs.insert(Arch);
    }
}

ClangFlags Translator::finish() {
  keepHostFlags(Host, Result.Flags, Result.Dropped);
  for (unsigned Arch : Archs) {
    Result.Archs.push_back("sm_" + std::to_string(Arch));
    if (clang::StringToOffloadArch(Result.Archs.back()) != clang::OffloadArch::UNKNOWN)
      Result.Arch = Result.Archs.back();
  }
  return std::move(Result);
}

Expected<ClangFlags> translateFlags(ArrayRef<std::string> Args, StringRef Directory, FlagsOf Whose) {
  Translator T(Directory, Whose);
  if (Error E = T.run(Args))
    return E;
  return T.finish();
}

} // namespace restride

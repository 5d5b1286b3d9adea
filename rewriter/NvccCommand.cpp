#include "rewriter/NvccCommand.h"

#include "clang/Options/Options.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

namespace {

/// What becomes of an option.
enum class Action {
  Drop,
  As,          ///< Rule::Clang, then the value as its own or a joined argument
  Arch,        ///< notes the GPU
  Host,        ///< flags for the host compiler, separated by commas
  Optionsfile, ///< more arguments
  FastMath,
  IfTrue,  ///< Rule::Clang if the value is true
  IfFalse, ///< Rule::Clang if the value is false
};

/// How an option takes its value.
enum class Takes {
  Nothing,
  Value,  ///< "-x v" and "-x=v"
  Joined, ///< also "-xv"
};

struct Rule {
  const char *Names; ///< separated by spaces
  Takes Value;
  Action Do;
  const char *Clang = "";
};

} // namespace

/// nvcc's options, long and short, and those of Clang and GCC that this tool
/// sets itself. The first match counts, so longer names come before the
/// one-letter options that they begin with.
static constexpr Rule Rules[] = {
    // The program's meaning: kept.
    {"-std --std", Takes::Value, Action::As, "-std="},
    {"-isystem --system-include", Takes::Value, Action::As, "-isystem"},
    {"-include --pre-include", Takes::Value, Action::As, "-include"},
    {"-x --x", Takes::Joined, Action::As, "-x"}, // nvcc's names of languages, which ptx::languageOf reads
    {"--include-path", Takes::Value, Action::As, "-I"},
    {"--define-macro", Takes::Value, Action::As, "-D"},
    {"--undefine-macro", Takes::Value, Action::As, "-U"},
    {"-rdc --relocatable-device-code", Takes::Value, Action::IfTrue, "-fgpu-rdc"},
    {"-dc --device-c -dw --device-w", Takes::Nothing, Action::As, "-fgpu-rdc"},
    {"-use_fast_math --use_fast_math", Takes::Nothing, Action::FastMath},
    {"-ftz --ftz", Takes::Value, Action::IfTrue, "-fgpu-flush-denormals-to-zero"},
    {"-fmad --fmad", Takes::Value, Action::IfFalse, "-ffp-contract=off"},
    {"-default-stream --default-stream", Takes::Value, Action::As, "-fgpu-default-stream="},
    {"-Xcompiler --compiler-options", Takes::Value, Action::Host},
    {"-optf --options-file", Takes::Value, Action::Optionsfile},
    // The GPU: the profile decides, but the newest one named is worth knowing.
    {"-gencode --generate-code -arch --gpu-architecture -code --gpu-code --cuda-gpu-arch --offload-arch", Takes::Value,
     Action::Arch},
    // How and where the build works, what it warns of, how it links: dropped.
    {"-ccbin --compiler-bindir -Xptxas --ptxas-options -Xcudafe --cudafe-options -Xlinker --linker-options -Xnvlink "
     "--nvlink-options -Xarchive --archive-options -Xcicc -Xfatbinary -t --threads -split-compile --split-compile "
     "-maxrregcount --maxrregcount -diag-suppress --diag-suppress -diag-error --diag-error -diag-warn --diag-warn "
     "-cudart --cudart -cudadevrt --cudadevrt -o --output-file -odir --output-directory -keep-dir --keep-dir "
     "-objtemp -idp -ddp -dp -MF -MT -MQ --dependency-output --dependency-target-name -prec-div --prec-div "
     "-prec-sqrt --prec-sqrt -machine --machine -m -brief-diag --brief-diagnostics -jump-table-density "
     "-target-dir --target-directory -cuda-path --cuda-path -nvcc-options",
     Takes::Value, Action::Drop},
    {"-L -l --library --library-path -O --optimize", Takes::Joined, Action::Drop},
    {"-c --compile -dlto --dlink-time-opt -dlink --device-link -link --link -lib --lib -ptx --ptx -cubin --cubin "
     "-fatbin --fatbin -cuda --cuda -run --run -shared --shared -static -G --device-debug -g --debug -pg --profile "
     "-lineinfo --generate-line-info -keep --keep -save-temps --save-temps -clean --clean-targets -dryrun --dryrun -v "
     "--verbose -time --time -res-usage --resource-usage -src-in-ptx --source-in-ptx -restrict --restrict -w "
     "--disable-warnings -extended-lambda --extended-lambda -expt-extended-lambda --expt-extended-lambda "
     "-expt-relaxed-constexpr --expt-relaxed-constexpr -forward-unknown-to-host-compiler "
     "--forward-unknown-to-host-compiler -forward-unknown-opts --forward-unknown-opts -forward-unknown-to-host-linker "
     "--forward-unknown-to-host-linker -extra-device-vectorization --extra-device-vectorization -M -MM -MD -MMD -MP "
     "-MG -m64 -m32 -E --preprocess -S -emit-llvm -fsyntax-only --cuda-host-only --cuda-device-only -pthread -pipe "
     "-noprof --no-align-double -no-compress --no-compress -err-no --display-error-number -Wno-deprecated-gpu-targets",
     Takes::Nothing, Action::Drop},
};

/// Clang's options whose value is an argument of its own.
static bool takesNextArgument(StringRef Arg) {
  return is_contained({"-Xclang", "-I", "-D", "-U", "-iquote", "-idirafter", "-imacros", "-isysroot", "-target",
                       "-mllvm", "-resource-dir", "--sysroot", "-Xpreprocessor", "--param", "-cxx-isystem"},
                      Arg);
}

/// -Werror is a plain flag to Clang and takes a kind in nvcc.
static bool isWerrorKind(StringRef Arg) {
  return is_contained({"all-warnings", "cross-execution-space-call", "reorder", "default-stream-launch",
                       "missing-launch-bounds", "ext-lambda-captures-this", "deprecated-declarations"},
                      Arg);
}

/// Whether the program's meaning may hang on a flag for the host compiler that
/// Clang understands too.
static bool isHostFlagForClang(StringRef Flag) {
  if (Flag.starts_with("-D") || Flag.starts_with("-U") || Flag.starts_with("-I") || Flag.starts_with("-std="))
    return true;
  if (!Flag.starts_with("-f") && !Flag.starts_with("-m"))
    return false;
  unsigned MissingIndex = 0, MissingCount = 0;
  std::string Text = Flag.str();
  const char *Argument = Text.c_str();
  opt::InputArgList Parsed = clang::getDriverOptTable().ParseArgs(Argument, MissingIndex, MissingCount,
                                                                  opt::Visibility(clang::options::ClangOption));
  return !Parsed.hasArg(clang::options::OPT_UNKNOWN, clang::options::OPT_INPUT);
}

namespace {

class Translator {
public:
  explicit Translator(StringRef Directory) : Directory(Directory) {}

  Error run(ArrayRef<std::string> Args, unsigned Depth = 0) {
    for (size_t I = 0; I < Args.size(); ++I)
      if (Error E = one(Args, I, Depth))
        return E;
    return Error::success();
  }

  ClangFlags Result;

private:
  Error one(ArrayRef<std::string> Args, size_t &I, unsigned Depth);
  Error apply(const Rule &R, StringRef Value, unsigned Depth);
  Error readOptionsFile(StringRef File, unsigned Depth);
  void noteArchs(StringRef Text);

  StringRef Directory;
};

} // namespace

/// The value of \p Arg under \p R, from \p Next where it is an argument of its
/// own, or nothing if \p R is not about \p Arg.
static std::optional<StringRef> match(const Rule &R, StringRef Arg, StringRef Next, bool &UsesNext) {
  UsesNext = false;
  for (StringRef Name : split(R.Names, ' ')) {
    StringRef Rest = Arg;
    if (!Rest.consume_front(Name))
      continue;
    if (Rest.empty()) {
      UsesNext = R.Value != Takes::Nothing && !(R.Value == Takes::Joined && Name == "-O");
      return UsesNext ? Next : "";
    }
    if (R.Value != Takes::Nothing && Rest.consume_front("="))
      return Rest;
    if (R.Value == Takes::Joined)
      return Rest;
  }
  return std::nullopt;
}

Error Translator::one(ArrayRef<std::string> Args, size_t &I, unsigned Depth) {
  StringRef Arg = Args[I];
  StringRef Next = I + 1 < Args.size() ? StringRef(Args[I + 1]) : StringRef();
  if (!Arg.starts_with("-")) // an input
    return Error::success();
  if (Arg == "-Werror" || Arg == "--Werror") {
    I += isWerrorKind(Next);
    return Error::success();
  }
  bool UsesNext = false;
  for (const Rule &R : Rules)
    if (std::optional<StringRef> Value = match(R, Arg, Next, UsesNext)) {
      if (UsesNext && ++I == Args.size())
        return createStringError("compiler flag '" + Arg + "' lacks its value");
      return apply(R, *Value, Depth);
    }
  if (Arg.starts_with("-W"))
    return Error::success();
  Result.Flags.push_back(Arg.str());
  if (takesNextArgument(Arg)) {
    if (++I == Args.size())
      return createStringError("compiler flag '" + Arg + "' lacks its value");
    Result.Flags.push_back(Next.str());
  }
  return Error::success();
}

Error Translator::apply(const Rule &R, StringRef Value, unsigned Depth) {
  switch (R.Do) {
  case Action::Drop:
    break;
  case Action::As:
    if (R.Value == Takes::Nothing) {
      Result.Flags.push_back(R.Clang);
    } else if (StringRef(R.Clang).ends_with("=")) {
      Result.Flags.push_back((R.Clang + Value).str());
    } else {
      Result.Flags.push_back(R.Clang);
      Result.Flags.push_back(Value.str());
    }
    break;
  case Action::Arch:
    noteArchs(Value);
    break;
  case Action::Host:
    for (StringRef Part : split(Value, ','))
      for (StringRef Flag : split(Part, ' '))
        if (isHostFlagForClang(Flag))
          Result.Flags.push_back(Flag.str());
    break;
  case Action::Optionsfile:
    return readOptionsFile(Value, Depth);
  case Action::FastMath:
    Result.Flags.insert(Result.Flags.end(),
                        {"-fgpu-approx-transcendentals", "-fgpu-flush-denormals-to-zero", "-fapprox-func"});
    break;
  case Action::IfTrue:
  case Action::IfFalse:
    if (Value == (R.Do == Action::IfTrue ? "true" : "false"))
      Result.Flags.push_back(R.Clang);
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
  BumpPtrAllocator Allocator;
  StringSaver Saver(Allocator);
  SmallVector<const char *> Words;
  cl::TokenizeGNUCommandLine((*Buffer)->getBuffer(), Saver, Words);
  return run(std::vector<std::string>(Words.begin(), Words.end()), Depth + 1);
}

void Translator::noteArchs(StringRef Text) {
  static constexpr StringRef Prefixes[] = {"sm_", "compute_"};
  unsigned Newest = 0;
  if (Result.Arch)
    StringRef(*Result.Arch).drop_front(3).consumeInteger(10, Newest);
  for (StringRef Prefix : Prefixes)
    for (size_t At = Text.find(Prefix); At != StringRef::npos; At = Text.find(Prefix, At + 1)) {
      StringRef Number = Text.substr(At + Prefix.size());
      unsigned Arch = 0;
      if (!Number.consumeInteger(10, Arch) && Arch > Newest) {
        Newest = Arch;
        Result.Arch = "sm_" + std::to_string(Arch);
      }
    }
}

Expected<ClangFlags> translateFlags(ArrayRef<std::string> Args, StringRef Directory) {
  Translator T(Directory);
  if (Error E = T.run(Args))
    return E;
  return std::move(T.Result);
}

} // namespace restride

#include "rewriter/command/NvccOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace restride {
using namespace llvm;

using enum NvccAction;

/// nvcc's options, long and short, and those of Clang and GCC that this tool
/// sets itself.
static constexpr NvccOption Options[] = {
    // The program's meaning: kept.
    {"-std --std", NvccValue::One, As, "-std="},
    {"-isystem --system-include", NvccValue::List, As, "-isystem"},
    {"-include --pre-include", NvccValue::List, As, "-include"},
    {"-I --include-path", NvccValue::Joined, As, "-I"},
    {"-D --define-macro", NvccValue::Joined, As, "-D"},
    {"-U --undefine-macro", NvccValue::Joined, As, "-U"},
    {"-x --x", NvccValue::Joined, As, "-x"}, // nvcc's names of languages, which ptx::languageOf reads
    {"-ftemplate-depth --ftemplate-depth", NvccValue::One, As, "-ftemplate-depth="},
    {"-noeh --no-exceptions", NvccValue::None, As, "-fno-exceptions"},
    // Code that asks for these is compiled without them otherwise.
    {"-extended-lambda --extended-lambda -expt-extended-lambda --expt-extended-lambda", NvccValue::None, As,
     "-D__CUDACC_EXTENDED_LAMBDA__"},
    {"-expt-relaxed-constexpr --expt-relaxed-constexpr", NvccValue::None, As, "-D__CUDACC_RELAXED_CONSTEXPR__"},
    // What kernels compute, and how fast: kept for the PTX that is scored.
    {"-rdc --relocatable-device-code", NvccValue::One, IfTrue, "-fgpu-rdc"},
    {"-dc --device-c -dw --device-w", NvccValue::None, As, "-fgpu-rdc"},
    {"-use_fast_math --use_fast_math", NvccValue::None, FastMath},
    {"-ftz --ftz", NvccValue::One, IfTrue, "-fgpu-flush-denormals-to-zero"},
    {"-fmad --fmad", NvccValue::One, IfFalse, "-ffp-contract=off"},
    {"-prec-div --prec-div", NvccValue::One, IfFalse, "-fapprox-func"},
    {"-prec-sqrt --prec-sqrt", NvccValue::One, IfFalse, "-D__RESTRIDE_APPROX_SQRT"}, // of ptx/prelude
    {"-default-stream --default-stream", NvccValue::One, As, "-fgpu-default-stream="},
    {"-Xcompiler --compiler-options", NvccValue::List, Host},
    {"-optf --options-file", NvccValue::List, OptionsFile},
    // The GPU: the profile decides, but the newest one named is worth knowing.
    {"-gencode --generate-code -arch --gpu-architecture -code --gpu-code --cuda-gpu-arch --offload-arch", NvccValue::One, Arch},
    // How and where the build works, what it warns of, how it links: dropped.
    {"-ccbin --compiler-bindir -Xptxas --ptxas-options -Xcudafe --cudafe-options -Xlinker --linker-options -Xnvlink "
     "--nvlink-options -Xarchive --archive-options -Xcicc -Xfatbinary -split-compile --split-compile "
     "-split-compile-extended --split-compile-extended -maxrregcount --maxrregcount -diag-suppress --diag-suppress "
     "-diag-error --diag-error -diag-warn --diag-warn -cudart --cudart -cudadevrt --cudadevrt --output-file -odir "
     "--output-directory -keep-dir --keep-dir -idp --input-drive-prefix -ddp --dependency-drive-prefix -dp --drive-prefix "
     "-MF -MT -MQ --dependency-output --dependency-target-name -machine --machine -m -brief-diag "
     "--brief-diagnostics -jtd --jump-table-density -target-dir --target-directory -cuda-path --cuda-path -arbin "
     "--archiver-binary -ldir --libdevice-directory -opt-info --optimization-info -dopt --dopt -ftemplate-backtrace-limit "
     "--ftemplate-backtrace-limit -static-global-template-stub --static-global-template-stub "
     "-device-entity-has-hidden-visibility --device-entity-has-hidden-visibility -fdevice-time-trace --fdevice-time-trace "
     "-time --time -run-args --run-args -e --entries -hls --host-linker-script -device-stack-protector "
     "--device-stack-protector -compress-mode --compress-mode -frandom-seed --frandom-seed -sanitize --sanitize "
     "--library --library-path --optimize",
     NvccValue::One, Drop},
    {"-t --threads", NvccValue::Number, Drop},
    {"-o -l -L", NvccValue::Joined, Drop},
    {"-O -g", NvccValue::Suffix, Drop},
    {"-c --compile -dlto --dlink-time-opt -lto --lto -gen-opt-lto --gen-opt-lto -dlink --device-link -nodlink "
     "--no-device-link -link --link -lib --lib -ptx --ptx -cubin --cubin -fatbin --fatbin -cuda --cuda -optix-ir --optix-ir "
     "-ltoir --ltoir -run --run -shared --shared -static -G --device-debug -O -g --debug -pg --profile -lineinfo "
     "--generate-line-info -keep --keep -save-temps --save-temps -clean --clean-targets -dryrun --dryrun -v --verbose "
     "-res-usage --resource-usage -src-in-ptx --source-in-ptx -restrict --restrict -w --disable-warnings "
     "-forward-unknown-to-host-compiler --forward-unknown-to-host-compiler -forward-unknown-opts --forward-unknown-opts "
     "-forward-unknown-to-host-linker --forward-unknown-to-host-linker -extra-device-vectorization "
     "--extra-device-vectorization -M --generate-dependencies -MM --generate-nonsystem-dependencies -MD "
     "--generate-dependencies-with-compile -MMD --generate-nonsystem-dependencies-with-compile -MP "
     "--generate-dependency-targets -MG -m64 --m64 -m32 -E --preprocess -S -emit-llvm -fsyntax-only -fdevice-syntax-only "
     "--fdevice-syntax-only --cuda-host-only --cuda-device-only -pipe -noprof --dont-use-profile --no-align-double "
     "-no-compress --no-compress -err-no --display-error-number -no-err-no --no-display-error-number -objtemp "
     "--objdir-as-tempdir -allow-unsupported-compiler --allow-unsupported-compiler -use-local-env --use-local-env "
     "-force-cl-env-setup --force-cl-env-setup -nohdinitlist --no-host-device-initializer-list -nohdmoveforward "
     "--no-host-device-move-forward -keep-device-functions --keep-device-functions -ewp --extensible-whole-program "
     "-qpp-config --qpp-config -astoolspatch --compile-as-tools-patch -code-ls --list-gpu-code -arch-ls --list-gpu-arch "
     "-aug-hls --augment-host-linker-script -r --relocatable-link -reloc-ptx --relocatable-ptx -jobserver --jobserver",
     NvccValue::None, Drop},
};

static bool isPrefixOnly(NvccValue V) { return V == NvccValue::Suffix; }

/// \p Arg is a name of \p O, or one and "=" and a value.
static std::optional<NvccMatch> matchName(const NvccOption &O, StringRef Arg) {
  auto [Name, Value] = Arg.split('=');
  bool HasValue = Name.size() != Arg.size();
  if (isPrefixOnly(O.Value) || (HasValue && O.Value == NvccValue::None) || !is_contained(split(O.Names, ' '), Name))
    return std::nullopt;
  if (HasValue)
    return NvccMatch{&O, Value};
  return NvccMatch{&O, std::nullopt, O.Value != NvccValue::None};
}

/// \p Arg is a short name of \p O and its value, with nothing between.
static std::optional<NvccMatch> matchJoined(const NvccOption &O, StringRef Arg) {
  if (O.Value != NvccValue::Joined && O.Value != NvccValue::Number && !isPrefixOnly(O.Value))
    return std::nullopt;
  for (StringRef Name : split(O.Names, ' '))
    if (StringRef Rest = Arg; !Name.starts_with("--") && Rest.consume_front(Name) && !Rest.empty())
      if (O.Value != NvccValue::Number || all_of(Rest, isDigit))
        return NvccMatch{&O, Rest, false, true};
  return std::nullopt;
}

std::optional<NvccMatch> findNvccOption(StringRef Arg) {
  for (const NvccOption &O : Options)
    if (std::optional<NvccMatch> Found = matchName(O, Arg))
      return Found;
  for (const NvccOption &O : Options)
    if (std::optional<NvccMatch> Found = matchJoined(O, Arg))
      return Found;
  return std::nullopt;
}

} // namespace restride

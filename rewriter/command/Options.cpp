#include "rewriter/command/Options.h"

#include "analysis/cost/Suggest.h"
#include "layouts/Layout.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <thread>

namespace restride {
using namespace llvm;

static cl::OptionCategory Category("restride options");

static cl::list<std::string> Files(cl::Positional, cl::desc("FILE..."), cl::cat(Category));
static cl::opt<bool> InPlace("in-place", cl::desc("Write the fastest layouts back to the files"), cl::cat(Category));
static cl::alias InPlaceShort("i", cl::desc("Same as --in-place"), cl::aliasopt(InPlace), cl::cat(Category));
static cl::opt<bool> Check("check", cl::desc("Write nothing; exit with 1 if a file would change"), cl::cat(Category));
static cl::opt<bool> List("list", cl::desc("Only list arrays of structs, and why they are refused"), cl::cat(Category));
static cl::opt<bool> Quiet("quiet", cl::desc("Print errors and the diff only"), cl::cat(Category));
static cl::opt<bool> Hook("hook", cl::desc("Take FILE... as what a commit changes: files without a command in a\ncompile_commands.json are programs of their own, and one that\ncannot be read is skipped with a hint"),
                          cl::cat(Category));
static cl::opt<bool> Strict("strict", cl::desc("With --hook: a file that cannot be read is an error"), cl::cat(Category));
static cl::opt<bool> Verbose("verbose", cl::desc("Also print how each file is read: for which GPU, and without which flags"),
                             cl::cat(Category));
static cl::opt<bool> NoCache("no-cache", cl::desc("Neither take nor keep the output of a run over the same files"), cl::cat(Category));
static cl::opt<std::string> LayoutName("layout", cl::desc("Give every array this layout instead of the fastest"),
                                       cl::value_desc("NAME"), cl::cat(Category));
static cl::list<std::string> Structs("struct", cl::desc("Look at arrays of this struct only; can be repeated"),
                                     cl::value_desc("NAME"), cl::cat(Category));
static cl::opt<std::string> EmitVariants("emit-variants",
                                         cl::desc("Write every variant, with its PTX, to DIR/<struct>/<layout>/"),
                                         cl::value_desc("DIR"), cl::cat(Category));
static cl::opt<std::string> ReportFile("report", cl::desc("Write all findings and scores to FILE.json, as a page to FILE.html, or\nfor code hosts to FILE.sarif"),
                                       cl::value_desc("FILE"), cl::cat(Category));
static cl::opt<std::string> ExportFixes("export-fixes", cl::desc("Write what would change to FILE, for clang-apply-replacements"),
                                        cl::value_desc("FILE"), cl::cat(Category));
static cl::opt<std::string> Collect("collect", cl::desc("First of three steps: read each file, and leave its facts in DIR"),
                                    cl::value_desc("DIR"), cl::cat(Category));
static cl::opt<std::string> Decide("decide", cl::desc("Second step: write DIR/plan.json from the facts of FILE..., or of\nall files in DIR"),
                                   cl::value_desc("DIR"), cl::cat(Category));
static cl::opt<std::string> Apply("apply", cl::desc("Third step: change the files as PLAN says"), cl::value_desc("PLAN"), cl::cat(Category));
static cl::opt<std::string> Gpu("gpu",
                                cl::desc("Predict for this GPU: a profile's name or a .yaml file (default: h200)"),
                                cl::value_desc("NAME|FILE.yaml"), cl::cat(Category));
static cl::opt<std::string> Calibrate("calibrate",
                                      cl::desc("Measure this machine's GPU and write its profile; without a\nGPU, write the "
                                               "benchmarks that do, as FILE.cu"),
                                      cl::value_desc("FILE.yaml"), cl::cat(Category));
static cl::opt<std::string> Model("cost-model", cl::desc("throughput (default) or thesis"), cl::value_desc("NAME"),
                                  cl::init("throughput"), cl::cat(Category));
static cl::opt<std::string> Compiler("ptx-compiler", cl::desc("clang (default, in process) or nvcc"),
                                     cl::value_desc("NAME"), cl::init("clang"), cl::cat(Category));
static cl::opt<std::string> CudaPath("cuda-path",
                                     cl::desc("CUDA Toolkit (default: CUDA_PATH, CUDA_HOME, the nvcc on PATH, "
                                              "/usr/local/cuda)"),
                                     cl::value_desc("DIR"), cl::cat(Category));
static cl::opt<std::string> BuildPath("p", cl::desc("Take compiler flags from DIR/compile_commands.json, and\nall its files where none is named"),
                                      cl::value_desc("DIR"), cl::cat(Category));
static cl::list<std::string> ExtraArgs("extra-arg", cl::desc("One more compiler flag; can be repeated"),
                                       cl::value_desc("FLAG"), cl::cat(Category));
static cl::opt<unsigned> Jobs("j", cl::desc("Variants compiled at a time (default: one per processor)"),
                              cl::value_desc("N"), cl::init(0), cl::Prefix, cl::cat(Category));

static cl::opt<std::string> HeaderFilter("header-filter", cl::desc("Change only headers whose path matches; the files named always may"),
                                         cl::value_desc("REGEX"), cl::cat(Category));
static cl::opt<bool> DumpConfig("dump-config", cl::desc("Print the configuration that holds for FILE, or here, and end"), cl::cat(Category));
static cl::opt<bool> VerifyConfig("verify-config", cl::desc("Only check the configuration that holds for FILE, or here"), cl::cat(Category));

static constexpr StringRef Models[] = {"throughput", "thesis"};
static constexpr StringRef Compilers[] = {"clang", "nvcc"};

bool isHtml(StringRef ReportFile) { return sys::path::extension(ReportFile) == ".html"; }
bool isSarif(StringRef ReportFile) { return sys::path::extension(ReportFile) == ".sarif"; }

StringRef spell(CostModel M) { return Models[int(M)]; }
StringRef spell(PtxCompiler C) { return Compilers[int(C)]; }

/// The enumerator of the same position.
template <typename Enum> static Expected<Enum> oneOf(StringRef What, StringRef Name, ArrayRef<StringRef> Known) {
  const StringRef *Found = find(Known, Name);
  if (Found == Known.end())
    return unknownName(What, Name, Known);
  return Enum(Found - Known.begin());
}

static void printVersion(raw_ostream &OS) {
  OS << "restride " << RESTRIDE_VERSION << " (LLVM " << LLVM_VERSION_STRING << ")\n";
}

/// Splits what comes after "--" off; it is the compiler's.
static std::vector<const char *> ownArguments(int Argc, const char *const *Argv,
                                              std::optional<std::vector<std::string>> &Fixed) {
  ArrayRef<const char *> All(Argv, Argc);
  const char *const *Dashes = find_if(All, [](StringRef Arg) { return Arg == "--"; });
  if (Dashes != All.end())
    Fixed.emplace(Dashes + 1, All.end());
  return std::vector<const char *>(All.begin(), Dashes);
}

static Error parseCommandLine(ArrayRef<const char *> Args) {
  static bool Hidden = (cl::HideUnrelatedOptions(Category), cl::SetVersionPrinter(printVersion), true);
  (void)Hidden;
  cl::ResetAllOptionOccurrences();
  std::string Message;
  raw_string_ostream Errors(Message);
  if (cl::ParseCommandLineOptions(Args.size(), Args.data(),
                                  "Finds arrays of structs in CUDA programs, predicts from PTX which data layout is\n"
                                  "fastest, and rewrites the source to it. Without an action it prints what it found\n"
                                  "and the diff of what it would change. Compiler flags follow after --.\n",
                                  &Errors))
    return Error::success();
  // LLVM begins each line with the tool's name, as our caller does with the
  // first. What it printed itself (a bad value) leaves nothing to say.
  std::vector<std::string> Parts;
  for (StringRef Line : split(StringRef(Message).rtrim(), '\n')) {
    Line.consume_front("restride: ");
    Parts.push_back(Line.str());
  }
  return createStringError(join(Parts, " "));
}

/// Each of the steps runs by itself.
static Error checkSteps(const Options &O) {
  std::vector<StringRef> Steps;
  if (!O.Collect.empty())
    Steps.push_back("--collect");
  if (!O.Decide.empty())
    Steps.push_back("--decide");
  if (!O.Apply.empty())
    Steps.push_back("--apply");
  if (Steps.empty())
    return Error::success();
  if (Steps.size() > 1)
    return createStringError(Steps[0] + " and " + Steps[1] + " exclude each other");
  if (O.InPlace || O.Hook || O.List)
    return createStringError(Steps[0] + " and " + (O.InPlace ? "--in-place" : O.Hook ? "--hook" : "--list") + " exclude each other");
  bool Reports = O.Check || !O.ReportFile.empty() || !O.ExportFixes.empty() || !O.EmitVariants.empty();
  if (O.Decide.empty() && Reports)
    return createStringError(Steps[0] + " decides nothing; --check and reports go with --decide");
  if (!O.Apply.empty() && !O.Files.empty())
    return createStringError("--apply takes no input file; the plan names them");
  return Error::success();
}

/// What the options say together.
static Error checkTogether(const Options &O) {
  if (O.DumpConfig || O.VerifyConfig)
    return Error::success();
  if (!O.Calibrate.empty()) {
    StringRef Ending = sys::path::extension(O.Calibrate);
    if (Ending != ".yaml" && Ending != ".yml")
      return createStringError("--calibrate=" + O.Calibrate + ": the name must end in .yaml");
    return O.Files.empty() ? Error::success() : createStringError("--calibrate takes no input file");
  }
  if (Error E = checkSteps(O))
    return E;
  if (O.Files.empty() && O.Flags.BuildPath.empty() && O.Decide.empty() && O.Apply.empty())
    return createStringError("no input file; usage: restride [options] FILE... [-- compiler flags], or -p DIR for all files of its "
                             "compile_commands.json");
  if (O.Hook && (O.InPlace == O.Check || O.List || !O.ReportFile.empty() || !O.ExportFixes.empty() || !O.EmitVariants.empty()))
    return createStringError("--hook goes with one of --in-place and --check, and writes nothing else");
  if (O.Strict && !O.Hook)
    return createStringError("--strict goes with --hook");
  if (O.InPlace && O.Check)
    return createStringError("--in-place and --check exclude each other");
  if (O.InPlace && O.List)
    return createStringError("--in-place and --list exclude each other");
  if (O.InPlace && !O.ExportFixes.empty())
    return createStringError("--in-place and --export-fixes exclude each other");
  if (!O.ReportFile.empty() && !isHtml(O.ReportFile) && !isSarif(O.ReportFile) && sys::path::extension(O.ReportFile) != ".json")
    return createStringError("--report=" + O.ReportFile + ": the name must end in .json, .html or .sarif");
  std::string Why;
  if (!O.HeaderFilter.empty() && !Regex(O.HeaderFilter).isValid(Why))
    return createStringError("--header-filter=" + O.HeaderFilter + ": " + Why);
  if (!O.Layout.empty() && !is_contained(layoutNames(), O.Layout))
    return unknownName("layout", O.Layout, layoutNames());
  return Error::success();
}

Expected<Options> parseOptions(int Argc, const char *const *Argv) {
  Options O;
  if (Error E = parseCommandLine(ownArguments(Argc, Argv, O.Flags.Fixed)))
    return E;
  O.Files = Files;
  O.InPlace = InPlace;
  O.Check = Check;
  O.List = List;
  O.Hook = Hook;
  O.Strict = Strict;
  O.Quiet = Quiet;
  O.Verbose = Verbose;
  O.NoCache = NoCache;
  O.Layout = LayoutName;
  O.Structs = Structs;
  O.EmitVariants = EmitVariants;
  O.ReportFile = ReportFile;
  O.ExportFixes = ExportFixes;
  O.Collect = Collect;
  O.Decide = Decide;
  O.Apply = Apply;
  O.Calibrate = Calibrate;
  O.Gpu = Gpu;
  O.CudaPath = CudaPath;
  O.HeaderFilter = HeaderFilter;
  O.DumpConfig = DumpConfig;
  O.VerifyConfig = VerifyConfig;
  O.Flags.BuildPath = BuildPath;
  O.Flags.Extra = ExtraArgs;
  O.Jobs = Jobs ? unsigned(Jobs) : std::max(1u, std::thread::hardware_concurrency());
  Expected<CostModel> M = oneOf<CostModel>("cost model", Model, Models);
  if (!M)
    return M.takeError();
  O.Model = *M;
  Expected<PtxCompiler> C = oneOf<PtxCompiler>("PTX compiler", Compiler, Compilers);
  if (!C)
    return C.takeError();
  O.Compiler = *C;
  if (Error E = checkTogether(O))
    return E;
  return O;
}

Expected<std::vector<std::string>> configure(Options &O) {
  std::vector<std::string> Used, Files = O.Files;
  if (Files.empty() && O.Flags.BuildPath.empty() && !O.Decide.empty())
    Files.push_back(O.Decide);
  if (Files.empty()) // a name in the folder whose configuration is meant
    Files.push_back(O.Flags.BuildPath.empty() ? ConfigName : O.Flags.BuildPath + "/" + ConfigName);
  for (const std::string &File : Files) {
    Expected<Config> C = findConfig(File, Used);
    if (!C)
      return C.takeError();
    O.Project = inherit(std::move(O.Project), *C);
  }
  if (O.Gpu.empty())
    O.Gpu = O.Project.Gpu.value_or(DefaultGpu);
  sort(Used);
  Used.erase(std::unique(Used.begin(), Used.end()), Used.end());
  return Used;
}

} // namespace restride

#include "rewriter/Apply.h"
#include "rewriter/Calibrate.h"
#include "rewriter/ChangePlan.h"
#include "rewriter/EmitVariants.h"
#include "rewriter/Hook.h"
#include "rewriter/Pipeline.h"
#include "rewriter/RunCache.h"
#include "rewriter/RunKey.h"
#include "rewriter/command/Options.h"
#include "rewriter/command/Unread.h"
#include "rewriter/read/Captured.h"
#include "rewriter/views/CommandsView.h"
#include "rewriter/views/Diff.h"
#include "rewriter/views/FixesView.h"
#include "rewriter/views/HtmlView.h"
#include "rewriter/views/JsonView.h"
#include "rewriter/views/SarifView.h"
#include "rewriter/views/TextView.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/WithColor.h"

#include <csignal>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace llvm;
using namespace restride;

enum ExitCode { Done = 0, WouldChange = 1, Failed = 2 };

static int fail(Error E) {
  outs().flush();
  std::string Text = toString(std::move(E));
  if (!Text.empty()) // else LLVM printed it, about the value of an option
    WithColor::error(errs(), "restride") << Text << '\n';
  return Failed;
}

static std::string text(const Report &R, void (*Print)(const Report &, raw_ostream &)) {
  std::string Out;
  raw_string_ostream OS(Out);
  Print(R, OS);
  return Out;
}

/// Writes the files that were asked for beside the program's own.
static Error writeReports(const Options &O, const Report &R) {
  if (!O.ReportFile.empty()) {
    Expected<std::string> Text = isHtml(O.ReportFile) ? htmlPage(R) : text(R, isSarif(O.ReportFile) ? printSarif : printJson);
    if (!Text)
      return Text.takeError();
    if (Error E = writeFile(O.ReportFile, *Text))
      return E;
  }
  if (!O.ExportFixes.empty()) {
    Expected<std::string> Fixes = fixes(R);
    if (!Fixes)
      return Fixes.takeError();
    if (Error E = writeFile(O.ExportFixes, *Fixes))
      return E;
  }
  if (!O.Decide.empty()) {
    Expected<std::string> Plan = planText(R);
    if (!Plan)
      return Plan.takeError();
    if (Error E = writeFile(O.Decide + "/plan.json", *Plan))
      return E;
  }
  return O.EmitVariants.empty() ? Error::success() : emitVariants(R, O.EmitVariants);
}

/// Findings are diagnostics and go to standard error, so that standard output
/// is a diff that patch can read; a list that was asked for is the output.
static Expected<RunOutput> print(const Options &O, const Report &R) {
  RunOutput Output;
  Captured Out(Output.Out, outs()), Err(Output.Err, errs());
  if (O.Verbose)
    printCommands(R, Err);
  if (O.List || !O.Quiet)
    printText(R, O.List ? static_cast<raw_ostream &>(Out) : Err);
  if (O.List)
    return Output;
  if (O.Check)
    Output.ExitCode = R.Changes.empty() ? Done : WouldChange;
  if (O.Check || O.InPlace)
    return Output;
  for (const Report::Change &Change : R.Changes) {
    Expected<std::string> Diff = unifiedDiff(Change);
    if (!Diff)
      return Diff.takeError();
    printDiff(*Diff, Out);
  }
  return Output;
}

static int finish(const RunOutput &Output) {
  errs() << Output.Err;
  outs() << Output.Out;
  return Output.ExitCode;
}

/// --dump-config and --verify-config.
static int showConfig(const Options &O, ArrayRef<std::string> Used) {
  if (O.DumpConfig)
    outs() << printConfig(O.Project);
  else
    for (const std::string &Path : Used)
      outs() << Path << ": no errors\n";
  if (Used.empty() && O.VerifyConfig)
    outs() << "no " << ConfigName << " holds here\n";
  return Done;
}

/// A commit does not fail for a file that only its whole build can read.
static int skip(Error E) {
  Error Other = handleErrors(std::move(E), [](const Unread &U) {
    WithColor::note(errs(), "restride") << U.message() << "; skipped (its flags come from a compile_commands.json or --extra-arg)\n";
  });
  return Other ? fail(std::move(Other)) : Done;
}

/// Whether a run's output is all that it leaves. What it writes back is not kept.
static bool isKept(const Options &O) {
  return !O.NoCache && O.Collect.empty() && O.Decide.empty() && O.ReportFile.empty() && O.ExportFixes.empty() && O.EmitVariants.empty();
}

static int run(const Options &O, ArrayRef<const char *> Args) {
  RunCache Cache(isKept(O) ? runKey(O, Args) : std::vector<std::string>());
  if (std::optional<RunOutput> Known = isKept(O) ? Cache.find() : std::nullopt)
    return finish(*Known);
  Expected<Report> R = runPipeline(O);
  if (!R)
    return O.Hook && !O.Strict ? skip(R.takeError()) : fail(R.takeError());
  if (Error E = writeReports(O, *R))
    return fail(std::move(E));
  Expected<RunOutput> Output = print(O, *R);
  if (!Output)
    return fail(Output.takeError());
  bool Writes = O.InPlace && !R->Changes.empty();
  if (Writes)
    if (Error E = applyChanges(R->Changes)) {
      errs() << Output->Err;
      return fail(std::move(E));
    }
  if (isKept(O) && !Writes)
    Cache.store(R->Read, *Output);
  return finish(*Output);
}

/// --apply.
static int runPlan(const Options &O) {
  Expected<ChangePlan> Plan = readPlan(O.Apply);
  if (!Plan)
    return fail(Plan.takeError());
  if (Plan->Applied && !O.Quiet)
    WithColor::note(errs(), "restride") << "'" << O.Apply << "' was applied before; there is nothing left to do\n";
  if (Error E = applyChanges(Plan->Changes))
    return fail(std::move(E));
  return Done;
}

static int runCalibration(const Options &O) {
  Expected<std::string> Said = calibrate(O);
  if (!Said)
    return fail(Said.takeError());
  outs() << *Said;
  return Done;
}

/// --dump-config and --verify-config, or a run on what the configuration says.
static int configureAndRun(Options O, ArrayRef<const char *> Args) {
  if (!O.Apply.empty())
    return runPlan(O);
  Expected<std::vector<std::string>> Used = configure(O);
  if (!Used)
    return fail(Used.takeError());
  return O.DumpConfig || O.VerifyConfig ? showConfig(O, *Used) : O.Calibrate.empty() ? run(O, Args) : runCalibration(O);
}

static int runHook(const Options &O, ArrayRef<const char *> Args) {
  Expected<std::vector<Options>> Runs = hookRuns(O);
  if (!Runs)
    return fail(Runs.takeError());
  int Worst = Done;
  for (Options &One : *Runs)
    Worst = std::max(Worst, configureAndRun(std::move(One), Args));
  return Worst;
}

/// Runs in a signal handler, after temporary files are gone. Apply holds signals
/// back while it replaces files.
static void interrupted() {
  static constexpr StringLiteral Before("restride: error: interrupted; no file was changed\n");
  static constexpr StringLiteral After("restride: error: interrupted; the changes were made already\n");
  StringRef Message = filesWereReplaced() ? After : Before;
  ssize_t Ignored = write(STDERR_FILENO, Message.data(), Message.size());
  (void)Ignored;
  _exit(Failed);
}

/// Scoring frees and takes megabytes all the time; to give the pages back to the
/// system in between, and to get them again, takes a third of it.
static void keepMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // bytes
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

int main(int argc, char **argv) {
  keepMemory();
  InitLLVM Init(argc, argv);
  sys::SetInterruptFunction(interrupted);
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of its write, and no crash
  setBugReportMsg("restride: this is a bug; no file was changed\n");
  Expected<Options> O = parseOptions(argc, argv);
  if (!O)
    return fail(O.takeError());
  int Result = O->Hook ? runHook(*O, ArrayRef(argv, argc)) : configureAndRun(*O, ArrayRef(argv, argc));
  outs().flush();
  if (outs().has_error()) {
    std::error_code EC = outs().error();
    outs().clear_error();
    return fail(createStringError(EC, "cannot write to standard output: " + EC.message()));
  }
  return Result;
}

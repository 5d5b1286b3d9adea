// The command line as values.
#pragma once

#include "rewriter/command/Config.h"
#include "rewriter/command/SourceCommand.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace restride {

enum class CostModel { Throughput, Thesis };
enum class PtxCompiler { Clang, Nvcc };

llvm::StringRef spell(CostModel M);
llvm::StringRef spell(PtxCompiler C);

struct Options {
  std::vector<std::string> Files; ///< as the user typed them; none: all of the database
  bool InPlace = false, Check = false, List = false, Quiet = false, Verbose = false, NoCache = false;
  bool Hook = false, Strict = false; ///< see Hook.h
  std::string Layout;               ///< forced; empty: choose
  std::vector<std::string> Structs; ///< only these records; empty: all
  std::string EmitVariants;         ///< folder; empty: none
  std::string ReportFile;           ///< ends in .json; empty: none
  std::string ExportFixes;          ///< empty: none
  std::string Collect, Decide;      ///< folders of facts, see Collect.h; empty: none
  std::string Apply;                ///< a plan, see ChangePlan.h; empty: none
  std::string Calibrate;            ///< a .yaml file to write; empty: none
  std::string Gpu;                  ///< a shipped name or a .yaml file; empty: the configuration's
  CostModel Model = CostModel::Throughput;
  PtxCompiler Compiler = PtxCompiler::Clang;
  std::string CudaPath; ///< empty: look for it
  std::string HeaderFilter; ///< headers whose path matches may change; empty: all
  FlagSources Flags;
  unsigned Jobs = 1;
  bool DumpConfig = false, VerifyConfig = false;
  Config Project; ///< see configure()
};

/// Parses a command line. --help and --version print and end the process. Errors
/// lack the tool's name; an empty one was printed already, by LLVM.
llvm::Expected<Options> parseOptions(int Argc, const char *const *Argv);

/// By its ending; a report is .html, .sarif or .json.
bool isHtml(llvm::StringRef ReportFile);
bool isSarif(llvm::StringRef ReportFile);

/// The GPU where nobody names one.
inline constexpr char DefaultGpu[] = "h200";

/// Reads the configurations of the files into Project. Where files differ in what
/// theirs say, the first file's is taken. The command line's own words stay.
/// Returns the paths of the configurations.
llvm::Expected<std::vector<std::string>> configure(Options &O);

} // namespace restride

// .restride.yaml: what a project wants of restride.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace restride {

/// "sim/.restride.yaml:4:3", for what is found out later.
using ConfigPlace = std::string;

/// The layout that all arrays of a record get; "keep" leaves them as they are.
struct StructRule {
  std::string Record; ///< with or without its namespace
  std::string Layout;
  ConfigPlace At;
};

/// A number that a kernel's integer parameter has: the end of a loop, mostly.
struct ParameterValue {
  std::string Parameter;
  int64_t Value;
  ConfigPlace At;
};

/// How the entries lie that a kernel's pointer to integers leads to: "random", "sorted" or "local".
struct ParameterOrder {
  std::string Parameter, Order;
  ConfigPlace At;
};

struct KernelRule {
  std::string Kernel;
  std::optional<double> Calls; ///< launches, in the place of those that the source shows
  std::vector<ParameterValue> Trips;
  std::vector<ParameterOrder> Index;
  std::optional<double> Likely; ///< that a lane runs the body of an `if` on loaded data, 0 to 1
  ConfigPlace At;
};

/// The layout of arrays by parameters of a kernel that takes them: one array of
/// structs, or parallel arrays that become one. "keep" leaves them as they are.
struct ArrayRule {
  std::string Kernel; ///< without its namespace
  std::vector<std::string> Members;
  std::string Layout;
  ConfigPlace At;
};

struct Config {
  std::optional<std::string> Gpu;   ///< as --gpu; a file is relative to the configuration's folder
  std::optional<double> MinSpeedup; ///< least predicted gain of a change, 1 or more
  std::vector<std::string> Layouts; ///< to choose from; empty: all
  std::vector<StructRule> Structs;
  std::vector<ArrayRule> Arrays;
  std::vector<KernelRule> Kernels;
  bool InheritParent = false; ///< what it does not say, the next file upward says
};

/// The name of a configuration file.
inline constexpr char ConfigName[] = ".restride.yaml";

/// Reads \p Text of the file \p Path. Errors begin with the place; an unknown key
/// or name suggests the one that was meant.
llvm::Expected<Config> parseConfig(llvm::StringRef Text, llvm::StringRef Path);

/// \p Own where it says something, else \p Parent. Rules for the same
/// name are one.
Config inherit(Config Own, const Config &Parent);

/// The configuration of \p File: the nearest one upward from it, with those that
/// it inherits from. \p Used gets their paths. Without any: an empty one.
llvm::Expected<Config> findConfig(llvm::StringRef File, std::vector<std::string> &Used);

/// As YAML that parseConfig() reads.
std::string printConfig(const Config &C);

} // namespace restride

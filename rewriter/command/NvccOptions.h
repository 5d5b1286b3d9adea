// nvcc's options as a table: how each takes its value, and what becomes of it.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace restride {

/// What becomes of an option.
enum class NvccAction {
  Drop,
  As,          ///< Clang's spelling, then the value as its own or a joined argument
  Arch,        ///< notes the GPU
  Host,        ///< flags for the host compiler
  OptionsFile, ///< more arguments
  FastMath,
  IfTrue,  ///< Clang's spelling if the value is true
  IfFalse, ///< Clang's spelling if the value is false
};

/// How an option takes its value.
enum class NvccValue {
  None,
  One,    ///< "-x v" and "-x=v"
  List,   ///< the same; nvcc separates several by commas
  Joined, ///< List, and "-xv"
  Number, ///< One, and "-x4"
  Suffix, ///< only "-xv"
};

struct NvccOption {
  const char *Names; ///< separated by spaces
  NvccValue Value;
  NvccAction Do;
  const char *Clang = "";
};

struct NvccMatch {
  const NvccOption *Option;
  std::optional<llvm::StringRef> Value; ///< nothing: the next argument, if it takes one
  bool TakesNext = false;
  bool IsJoined = false; ///< written as "-xv"
};

/// The option that \p Arg spells. A whole name comes before one that begins so.
std::optional<NvccMatch> findNvccOption(llvm::StringRef Arg);

} // namespace restride

// How Clang is asked to read a program: one driver run turns the user's flags
// into the cc1 arguments of the host or of the device side, so that parsing and
// compiling see the same program.
#pragma once

#include "ptx/compile/Compile.h"

namespace clang {
class CompilerInvocation;
class DiagnosticsEngine;
} // namespace clang

namespace restride::ptx {

enum class Side { Host, Device };

/// Half of the time that a CUDA file takes to parse goes into texture
/// intrinsics and the special functions of C++17's <cmath>. Lean leaves those
/// headers out. A program that needs them has errors then and is read again
/// with Full; in a program without errors they make no difference.
enum class Headers { Lean, Full };

/// The cc1 invocation for \p MainFile. Bad flags are an error of one line. A
/// file of C or C++ is read as nvcc's host compiler does: the toolkit's headers
/// can be included, and none is by itself. It has no device side.
llvm::Expected<std::shared_ptr<clang::CompilerInvocation>>
createInvocation(llvm::StringRef MainFile, const CompileOptions &Options, Language As, Side Which, Headers Set);

/// Clang's own headers (cuda_wrappers, __clang_cuda_runtime_wrapper.h): where
/// this Clang was configured, else below the library that is running.
std::string clangResourceDir();

} // namespace restride::ptx

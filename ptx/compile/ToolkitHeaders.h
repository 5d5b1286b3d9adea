// CUDA's headers, which every CUDA file begins with, precompiled once and kept
// in the user's cache folder: they take most of the time of reading a file.
//
// A precompiled header is found by the compiler's arguments and version, and is
// used only while all files that went into it have the size and time they had.
#pragma once

#include <string>
#include <vector>

namespace clang {
class CompilerInvocation;
} // namespace clang

namespace restride::ptx {

/// restride/ in $XDG_CACHE_HOME, where that is absolute, or in ~/.cache; empty: none.
std::string cacheFolder();

/// Lets \p Invocation, of a CUDA file, begin with the precompiled headers. Where
/// there is none, and none can be made or kept, it stays as it is: slower, and
/// the same. They lie in headers/ of that folder.
void usePrecompiledToolkit(clang::CompilerInvocation &Invocation);

/// The files that the precompiled headers of \p Invocation were made from.
std::vector<std::string> precompiledFiles(const clang::CompilerInvocation &Invocation);

} // namespace restride::ptx

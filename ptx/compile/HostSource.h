// A C or C++ file of a CUDA program: it has no kernels, and no compiler need
// look at it to find that out.
#pragma once

#include "ptx/compile/Compile.h"

namespace restride::ptx {

class HostSource : public Compiler {
public:
  llvm::Expected<std::string> compile(llvm::ArrayRef<SourceText>) override { return ""; }
};

} // namespace restride::ptx

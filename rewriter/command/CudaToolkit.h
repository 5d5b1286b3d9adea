// Where the CUDA Toolkit is.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace restride {

struct CudaToolkit {
  std::string Path;              ///< root: has include/cuda.h and nvvm/libdevice
  unsigned Major = 0, Minor = 0; ///< 13.0
  std::string nvcc() const { return Path + "/bin/nvcc"; }
  std::string ptxas() const { return Path + "/bin/ptxas"; }
};

/// The toolkit at \p CudaPath (--cuda-path); if that is empty, at $CUDA_PATH,
/// at $CUDA_HOME, around the nvcc on $PATH, or in /usr/local/cuda. A place that
/// the user names and that holds no toolkit is an error, never passed over.
llvm::Expected<CudaToolkit> findCudaToolkit(llvm::StringRef CudaPath);

/// One line about a version that Clang does not know, or nothing.
std::string remarkOnVersion(const CudaToolkit &Toolkit);

} // namespace restride

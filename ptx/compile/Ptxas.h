// The registers that ptxas gives each kernel.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <mutex>
#include <string>

namespace restride::ptx {

/// Asks ptxas once for each kernel, wherever in a module it stands: most
/// variants leave most kernels as they are. Thread safe.
class RegisterCounts {
public:
  /// \p Ptxas is the program, \p Arch what the PTX is for ("sm_90").
  RegisterCounts(std::string Ptxas, std::string Arch) : Ptxas(std::move(Ptxas)), Arch(std::move(Arch)) {}

  /// Registers per thread of the kernels of \p Ptx, by their mangled names.
  /// Empty where ptxas cannot assemble it: a toolkit may be older than the PTX,
  /// or no longer know the GPU. Fails if there is no room for its files.
  llvm::Expected<llvm::StringMap<unsigned>> of(llvm::StringRef Ptx);

private:
  std::string Ptxas, Arch;
  std::mutex Lock;
  llvm::StringMap<unsigned> Known; ///< by the text of a kernel
};

} // namespace restride::ptx

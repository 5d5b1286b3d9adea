// Source variants to PTX. Clang compiles in process: the headers are parsed
// once into a PrecompiledPreamble and every variant reuses it. nvcc is a choice.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace restride::ptx {

struct CompileOptions {
  std::string CudaPath; ///< toolkit root
  std::string Arch = "sm_90";
  std::vector<std::string> Flags; ///< Clang spelling, from after `--` (-std, -I, -D ...)
  std::string WorkingDirectory;   ///< for relative includes
};

/// Compiles variants of one main file. Thread safe after creation.
class Compiler {
public:
  virtual ~Compiler() = default;
  /// PTX of the main file with \p Text in place of its contents, with line
  /// tables (.loc). Fails with the compiler's first error, as one line.
  virtual llvm::Expected<std::string> compile(llvm::StringRef Text) = 0;
};

/// In process. Parses the headers of \p MainFile (contents \p Text) once.
llvm::Expected<std::unique_ptr<Compiler>> createClangCompiler(llvm::StringRef MainFile, llvm::StringRef Text,
                                                              const CompileOptions &Options);
/// Runs CudaPath/bin/nvcc -ptx on temporary files beside nothing of the user's.
llvm::Expected<std::unique_ptr<Compiler>> createNvccCompiler(llvm::StringRef MainFile, const CompileOptions &Options);

} // namespace restride::ptx

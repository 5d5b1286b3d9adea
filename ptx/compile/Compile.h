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
  /// Pointers to different types do not alias. Clang compiles so by default;
  /// nvcc never does.
  bool StrictAliasing = true;
};

/// New text for a file that exists.
struct SourceText {
  std::string Path; ///< absolute; any of the file's names
  std::string Text;
};

/// Compiles variants of one translation unit. Thread safe after creation.
class Compiler {
public:
  virtual ~Compiler() = default;
  /// PTX of the main file, with line tables (.loc), where the main file and
  /// user headers in \p Changed have new text and all other files are as they
  /// are on disk. Empty for a main file that has no device code (languageOf).
  /// Fails with the compiler's first error, as one line.
  virtual llvm::Expected<std::string> compile(llvm::ArrayRef<SourceText> Changed) = 0;
};

/// In process. Begins at once to read the headers of \p MainFile (contents \p Text).
llvm::Expected<std::unique_ptr<Compiler>> createClangCompiler(llvm::StringRef MainFile, llvm::StringRef Text,
                                                              const CompileOptions &Options);
/// Runs CudaPath/bin/nvcc -ptx on temporary files beside nothing of the user's.
llvm::Expected<std::unique_ptr<Compiler>> createNvccCompiler(llvm::StringRef MainFile, const CompileOptions &Options);

enum class Language { Cuda, Cxx, C };

/// What nvcc compiles \p File as: by the last -x among \p Flags, else by its ending.
Language languageOf(llvm::StringRef File, llvm::ArrayRef<std::string> Flags);

} // namespace restride::ptx

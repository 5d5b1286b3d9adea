// From a variant's texts to its score: compiles, parses the PTX, runs the cost
// model. Results are kept by text, since different plans often meet again.
#pragma once

#include "analysis/cost/Rank.h"
#include "ptx/Compile.h"
#include "rewriter/Variant.h"

#include <map>
#include <mutex>

namespace restride {

struct Compiled {
  std::string Ptx;
  std::shared_ptr<const ptx::Module> Module;
};

/// Thread safe.
class VariantCompiler {
public:
  /// \p C may be null where nothing will be compiled.
  explicit VariantCompiler(ptx::Compiler *C) : C(C) {}
  /// As ptx::Compiler; the order of \p Changed is of no matter.
  llvm::Expected<Compiled> compile(llvm::ArrayRef<ptx::SourceText> Changed);
  /// A compiler read \p Changed before, without an error.
  bool knows(llvm::ArrayRef<ptx::SourceText> Changed);

private:
  /// By path.
  using Texts = std::map<std::string, std::string>;
  static Texts key(llvm::ArrayRef<ptx::SourceText> Changed);

  ptx::Compiler *C;
  std::mutex Lock;
  std::map<Texts, Compiled> Known;
};

/// A kernel's qualified name with its template arguments and without parameters:
/// what stays of a mangled name when a parameter changes its type.
std::string kernelName(llvm::StringRef Mangled);

/// What a plan costs in the kernels named by \p Kernels (mangled).
llvm::Expected<cost::Score> scorePlan(const Program &P, const Plan &Layouts, llvm::ArrayRef<std::string> Kernels,
                                      const ptx::Module &M, const cost::Gpu &Gpu, cost::Model Model);

} // namespace restride

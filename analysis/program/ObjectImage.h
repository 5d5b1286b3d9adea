// What objects hold that the host passes to kernels, or copies to constant memory.
#pragma once

#include "analysis/program/Candidate.h"

#include "clang/AST/Type.h"

namespace clang {
class Expr;
}

namespace restride {

class Evaluator;

struct ObjectImage {
  KnownObject Object;
  std::vector<std::string> Unknown; ///< integers: "p.n"
  std::vector<std::string> Assumed; ///< integers that may be others: "p.n is taken as 64"
};

/// Of the object \p E of the type \p T, which the messages call \p Name. Floating-point
/// numbers and elements of arrays are known only where they never change.
ObjectImage objectImage(const clang::Expr *E, clang::QualType T, llvm::StringRef Name, const Evaluator &Values, clang::ASTContext &Context);

} // namespace restride

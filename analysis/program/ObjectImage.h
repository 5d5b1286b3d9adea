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
  std::vector<std::string> Notes; ///< what was assumed of integers: "argument 'p.n' is taken as 64"
};

/// Of the object \p E of the type \p T, in notes the \p Role ("argument") \p Name. Floating-point
/// numbers and elements of arrays are known only where they never change.
ObjectImage objectImage(const clang::Expr *E, clang::QualType T, llvm::StringRef Role, llvm::StringRef Name, const Evaluator &Values,
                        clang::ASTContext &Context);

} // namespace restride

// What a reference to a variable does to one part of the object.
#pragma once

#include "clang/AST/Expr.h"

namespace restride {

struct PartUse {
  enum class Kind { None, Assigns, Changes } K = Kind::None;
  const clang::Expr *Value = nullptr; ///< Assigns: to the part, or to an object around it
  size_t Known = 0;                   ///< Assigns: the first steps to the part lead to what is assigned to
};

/// Of \p R, which names the variable, on the part \p P of it (Evaluate.h).
PartUse partUse(const clang::DeclRefExpr *R, llvm::ArrayRef<uint64_t> P, clang::ASTContext &Context);

/// What \p E names a part of, `g` of `g.size[2]`; the steps to it go before those in \p P.
/// Null: an index is not known, or a member is none of data.
const clang::Expr *wholeOf(const clang::Expr *E, llvm::SmallVectorImpl<uint64_t> &P, const clang::ASTContext &Context);

} // namespace restride

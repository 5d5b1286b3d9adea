// What functions of the host return, and whether a call of one can be computed.
#pragma once

#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"

namespace restride {

/// What \p C gives its function's parameters: not the object of an operator that is a member.
llvm::ArrayRef<const clang::Expr *> argumentsOf(const clang::CallExpr *C);

/// The function and arguments of \p E, a call or a construction.
struct Called {
  const clang::FunctionDecl *Function = nullptr; ///< null: by a pointer
  llvm::ArrayRef<const clang::Expr *> Arguments;
};
Called calledBy(const clang::Expr *E);

/// What the last statement of \p F returns; null: it returns nothing, or the body is not seen.
const clang::Expr *lastReturned(const clang::FunctionDecl *F);

/// Nothing stands in front of that but variables and other returns.
bool onlyReturns(const clang::FunctionDecl *F);

/// It is computed by its last statement alone, from variables that are initialised once, or change in a loop.
bool isFormula(const clang::FunctionDecl *F);

/// \p Is holds for a statement or expression of \p F, or of a short function that it calls.
bool anyStatement(const clang::FunctionDecl *F, llvm::function_ref<bool(const clang::Stmt *)> Is);

/// What the statement or expression \p S itself changes, and is there before and after a call of the function around it;
/// null: nothing.
const clang::Expr *changedAround(const clang::Stmt *S);

/// \p F changes such a thing.
bool changesState(const clang::FunctionDecl *F);

/// And goes on from there, not just to the next number: it draws one at random.
bool isGenerator(const clang::FunctionDecl *F);

/// \p S mixes the bits of a number, or of a generator's state: it multiplies by a large one.
bool mixesBits(const clang::Stmt *S);

/// The constructor that \p F, std::make_unique<T> or the like, hands so many \p Arguments to: the only one that takes them; null: none is.
const clang::CXXConstructorDecl *madeBy(const clang::FunctionDecl *F, unsigned Arguments);

} // namespace restride

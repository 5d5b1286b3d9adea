// What a statement stands in.
#pragma once

#include "clang/AST/ASTContext.h"
#include "clang/AST/ASTTypeTraits.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Stmt.h"

namespace restride {

/// From what \p S stands in outward, as long as \p Each says so.
void goOutward(const clang::Stmt *S, clang::ASTContext &Context, llvm::function_ref<bool(const clang::DynTypedNode &)> Each);

/// Loops of the function, or lambda, that \p S is run by, the innermost first; not those that macros wrap statements in,
/// do { ... } while (0).
llvm::SmallVector<const clang::Stmt *, 4> loopsAround(const clang::Stmt *S, clang::ASTContext &Context);

/// The function, or lambda, whose body \p S stands in; null: none.
const clang::FunctionDecl *functionAround(const clang::Stmt *S, clang::ASTContext &Context);

/// \p S is a branch of an `if` of its function, or stands in one, or in a `switch`.
bool isConditional(const clang::Stmt *S, clang::ASTContext &Context);

/// A block, and whether an expression is evaluated whenever its statement there is.
struct Surroundings {
  const clang::Stmt *Statement = nullptr;
  const clang::CompoundStmt *Block = nullptr;
  bool Certain = true;
};

/// The block whose statement \p E is part of. None if a loop or branch stands
/// between them.
Surroundings surroundings(const clang::Expr *E, clang::ASTContext &Context);

/// The statement that declares \p D; null where none does, as for parameters and members.
const clang::DeclStmt *statementOf(const clang::DeclaratorDecl *D, clang::ASTContext &Context);

/// \p F is a kernel, or a kernel may call it.
bool runsOnDevice(const clang::FunctionDecl *F);

/// Code of the host may call \p F; also such as a kernel may call.
bool runsOnHost(const clang::FunctionDecl *F);

/// The statement that \p S is part of; null where it is none's, and for null.
const clang::Stmt *parentOf(const clang::Stmt *S, clang::ASTContext &Context);

} // namespace restride

// Calls whose result only an error check looks at, and what statements stand in.
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/Decl.h"
#include "clang/AST/Stmt.h"

namespace restride {

/// The text of the statement that \p Call is, without its semicolon: alone, or
/// inside of a macro or function that does nothing if the call succeeds. Without
/// this statement the program differs only in the call. Nothing if the result is
/// used for more.
std::optional<Range> checkedStatement(const clang::CallExpr *Call, clang::ASTContext &Context, const SourceView &View);

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

/// The statement that \p S is part of; null where it is none's, and for null.
const clang::Stmt *parentOf(const clang::Stmt *S, clang::ASTContext &Context);

} // namespace restride

// What a variable or a member of a struct holds where it is read.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

/// The value that reaches \p Use of a local variable on every way to it: the
/// last assignment or initialisation before it in the same block, or in a block
/// around it. Null where that is not plain to see.
const clang::Expr *reachingValue(const clang::DeclRefExpr *Use, const UnitFacts &Facts, clang::ASTContext &Context);

/// \p Copy gives \p Object a value as a whole, and the pointer \p Member of it
/// gets another before anything can read it.
bool overwrittenBeforeUse(const clang::Stmt *Copy, const clang::VarDecl *Object, const clang::FieldDecl *Member, clang::ASTContext &Context,
                          const SourceView &View);

} // namespace restride

// Calls whose result only an error check looks at.
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/Expr.h"

namespace restride {

/// The text of the statement that \p Call is, without its semicolon: alone, or
/// inside of a macro or function that does nothing if the call succeeds. Without
/// this statement the program differs only in the call. Nothing if the result is
/// used for more.
std::optional<Range> checkedStatement(const clang::CallExpr *Call, clang::ASTContext &Context, const SourceView &View);

/// The braces of the block whose statement \p Call is part of. Nothing if it is
/// the only statement of a loop or branch.
std::optional<Range> blockAround(const clang::CallExpr *Call, clang::ASTContext &Context, const SourceView &View);

} // namespace restride

// Calls whose result only an error check looks at.
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

} // namespace restride

// Whether the names in a function's body mean the same where generated code
// repeats it: behind a record, which may lie in another namespace.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

/// The records behind which a function that works on \p Object is written.
std::set<const clang::CXXRecordDecl *> homesOf(NodeId Object, llvm::ArrayRef<InPlaceCall> Calls, const Flow &Graph);

/// A name at namespace scope, as written in a function.
struct NameUse {
  const clang::NamedDecl *D = nullptr;
  clang::SourceLocation Where;
  /// A call finds it by its arguments, wherever it is written.
  bool ByArguments = false;
  bool Fixed = false; ///< nothing can be written in front of it: an operator, a namespace
};

/// \p E, which names \p D, as a call or an operator would find it.
NameUse nameUse(const clang::DeclRefExpr *E, clang::ASTContext &Context);

/// The namespace that \p Q begins with; null where it begins with anything else.
const clang::NamedDecl *leadingNamespace(clang::NestedNameSpecifierLoc Q);

/// \p Names in \p F, which is written again behind \p Home: those that need
/// their namespace in front get it, and what would mean something else refuses.
void checkNames(const clang::FunctionDecl *F, llvm::ArrayRef<NameUse> Names, const clang::CXXRecordDecl *Home, const SourceView &View, Method &Out);

} // namespace restride

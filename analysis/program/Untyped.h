// `void *p; cudaMalloc(&p, n * sizeof(T)); return static_cast<T *>(p);`
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

namespace restride {

/// Local variables `void *p` that are cast to pointers to one type of record and
/// to no other type, and that record. They can be declared with its pointer.
llvm::DenseMap<const clang::VarDecl *, const clang::CXXRecordDecl *> untypedPointers(llvm::ArrayRef<clang::Decl *> Scope, const SourceView &View);

/// The cast that gives the value of \p E, of type `void *`, its type. Null where it goes elsewhere.
const clang::ExplicitCastExpr *typedBy(const clang::Expr *E, clang::ASTContext &Context);

} // namespace restride

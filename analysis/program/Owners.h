// `std::unique_ptr<P[], CudaFree>`: objects that own an array and free it.
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/ExprCXX.h"

namespace restride {

/// The record behind a std::unique_ptr, or a reference to one, whose deleter does nothing but cudaFree; null: T is none.
const clang::CXXRecordDecl *ownedRecord(clang::QualType T, const SourceView &View);

/// std::unique_ptr, or another name of it: `template <class T> using Owner = std::unique_ptr<T[], CudaFree>`.
bool isOwnerTemplate(const clang::TemplateDecl *T);

/// How that type is written: "Owner<P>".
std::string ownerType(clang::QualType T, const SourceView &View);

/// What \p E, of a std::unique_ptr's type, gets its pointer from: another one, a call, the pointer itself, where one is
/// made of it. Null: from nowhere, it is empty.
const clang::Expr *ownedBy(const clang::Expr *E);

/// Types written in \p E, down to what it gets its pointer from: `Owner<P>(p)`.
std::vector<clang::SourceRange> ownersNamed(const clang::Expr *E);

/// The object of `owner.get()` and `owner.release()`; null: \p E is no such call.
const clang::Expr *ownerOf(const clang::Expr *E);

} // namespace restride

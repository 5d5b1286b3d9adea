// Functions of an earlier run that copy one field of an array of records:
//
//   // restride: one field of an array of Xyz from and to an array of its own.
//   ... Xyz_memcpy(Xyz *p, T Xyz::*field, const void *from, size_t bytes, cudaMemcpyKind kind)
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/Decl.h"

namespace restride {

/// The comment line before the functions for the record \p Name.
std::string fieldCopyMark(llvm::StringRef Name);

/// \p D is one of these functions, or a template of it.
bool isFieldCopyCode(const clang::Decl *D, const SourceView &View);

/// The record's name, where \p F is one that the program calls.
std::optional<llvm::StringRef> fieldCopyRecord(const clang::FunctionDecl *F, const SourceView &View);

/// All of it for the record \p Name, with the comment.
std::optional<Range> fieldCopyCode(llvm::StringRef Name, llvm::ArrayRef<clang::Decl *> Scope, const SourceView &View);

} // namespace restride

// Byte counts and record sizes: what a program may say about them so that the
// record can move.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

enum class ByteCount {
  Unclear,  ///< not seen to be a whole number of records
  Whole,    ///< a whole number of records, by its value
  Scaled,   ///< a multiple of sizeof the record, so it follows the record's size
};

/// How \p Bytes relates to the size of \p Element, a record or a scalar. \p Members gets the members
/// whose values it depends on: other units may write them too.
ByteCount byteCount(const clang::Expr *Bytes, clang::QualType Element, const clang::ASTContext &Context,
                    const UnitFacts &Facts, std::set<const clang::FieldDecl *> *Members = nullptr);

/// How many elements \p Bytes are for, in one spelling for all arrays: "n * m"
/// for n * m * sizeof(float). Empty if that is not plain to see.
struct CountText {
  std::string Text;
  std::vector<const clang::Expr *> Changes; ///< names of its local variables, where they are assigned
  bool Changing = false; ///< it depends on something that may change anywhere
};
CountText elementCount(const clang::Expr *Bytes, clang::QualType Element, clang::ASTContext &Context, const UnitFacts &Facts);

/// Where somebody could notice a change of the size of a record: nowhere if it
/// can be aligned in place.
struct SizeObservers {
  std::optional<Refusal> First;
  /// Functions and variables by symbol. Where no other unit defines them,
  /// code that is not seen knows the size.
  std::vector<std::pair<std::string, Refusal>> Unseen;
};
SizeObservers sizeObservers(const clang::CXXRecordDecl *Record, llvm::ArrayRef<clang::Decl *> Scope,
                                    clang::ASTContext &Context, const SourceView &View, const UnitFacts &Facts);

} // namespace restride

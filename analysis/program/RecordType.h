// A C++ record as layouts see it.
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/DeclCXX.h"

namespace restride {

struct RecordFacts {
  Record Type;
  Location Where;
  unsigned HelperAt = 0;               ///< as Candidate::HelperAt, if InMainFile
  std::optional<unsigned> AttributeAt; ///< as Candidate::AttributeAt
  std::optional<unsigned> FriendAt;    ///< as Candidate::FriendAt
  bool InMainFile = false;
  std::vector<Refusal> Refusals;       ///< a union, a bit-field, ...
};

/// Fields, sizes and offsets of \p D, with every reason why no layout can move
/// its elements.
RecordFacts recordFacts(const clang::CXXRecordDecl *D, const clang::ASTContext &Context, const SourceView &View);

/// The record's name from anywhere in the program: "geo::P".
std::string qualifiedName(const clang::CXXRecordDecl *D);

/// Marks the member array at \p Path (names of members) as one that stays whole.
void keepWhole(Record &R, llvm::ArrayRef<std::string> Path);

} // namespace restride

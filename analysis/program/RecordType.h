// A C++ record as layouts see it.
#pragma once

#include "analysis/program/SourceView.h"

namespace restride {

struct RecordFacts {
  Record Type;
  std::string Qualified; ///< its name from anywhere in the program: "geo::P"
  std::string Kind;      ///< "struct", "class"; empty where a typedef gives the name
  Location Where;
  std::optional<unsigned> FriendAt;    ///< as Candidate::FriendAt
  bool InMainFile = false;
  std::optional<unsigned> HelperAt;    ///< the line after it; nothing if its file cannot be edited
  std::optional<unsigned> AttributeAt; ///< as Candidate::AttributeAt
  std::vector<Refusal> Refusals;       ///< a union, a bit-field, ...
};

/// Fields, sizes and offsets of \p D, with every reason why no layout can move
/// its elements.
RecordFacts recordFacts(const clang::CXXRecordDecl *D, const clang::ASTContext &Context, const SourceView &View);

/// The record's name from anywhere in the program: "geo::P".
std::string qualifiedName(const clang::CXXRecordDecl *D);

/// Marks the member at \p Path (names of members) as one that stays whole: a
/// member array, or only the nested records in it.
void keepWhole(Record &R, llvm::ArrayRef<std::string> Path, bool OnlyNested = false);

/// Keeps the largest member arrays whole until a handle has a sensible size.
void limitLeaves(Record &R);

} // namespace restride

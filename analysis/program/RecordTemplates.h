// Templates over records, as "template <class T> T *upload(const std::vector<T> &)"
// or "template <class T> class Buffer { T *data; ... };". One of them is used with
// arrays that move and with ones that do not, so where an array moves it is written
// once more, for its record alone: as a function, or as a specialisation of the class.
#pragma once

#include "analysis/program/SourceView.h"

namespace clang {
class CallExpr;
class ClassTemplateSpecializationDecl;
class CXXRecordDecl;
class FunctionDecl;
} // namespace clang

namespace restride {

/// A parameter of a template that it has pointers to, and the record that it stands for.
struct RecordArgument {
  unsigned Position;
  const clang::CXXRecordDecl *Record;
};

/// Empty where \p F is not made from a function template, or where that has no pointers to a record of the user's
/// by one of its parameters' names.
std::vector<RecordArgument> recordArguments(const clang::FunctionDecl *F, const SourceView &View);
std::vector<RecordArgument> recordArguments(const clang::ClassTemplateSpecializationDecl *C, const SourceView &View);

/// What a template's text needs to become that for its records.
struct RecordTemplate {
  std::vector<Respelling> Edits;
  std::vector<Range> Names;  ///< of a function, in each of its declarations
  std::vector<Range> Unused; ///< of a class: from behind their heads to the end of their bodies, member functions that nobody calls
  ForRecords How;
  std::string Objection;     ///< why it cannot be done; empty: it can
};

RecordTemplate recordFunction(const clang::FunctionDecl *F, llvm::ArrayRef<RecordArgument> Records, const SourceView &View);
RecordTemplate recordClass(const clang::ClassTemplateSpecializationDecl *C, llvm::ArrayRef<RecordArgument> Records, const SourceView &View);

/// Of the class template that \p C is made from: from "template" to its semicolon.
std::optional<Range> textOf(const clang::ClassTemplateSpecializationDecl *C, const SourceView &View);

/// How a call names such a function.
struct RecordCall {
  std::optional<Range> Name;   ///< none: a macro's body writes it
  std::vector<Range> Records;  ///< that the call says: "<Particle>" in allocate<Particle>(n)
  bool Unclear = false;        ///< some of them have no text of their own
};

RecordCall recordCall(const clang::CallExpr *Call, llvm::ArrayRef<RecordArgument> Records, const SourceView &View);

} // namespace restride

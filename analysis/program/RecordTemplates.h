// Function templates over records, as "template <class T> T *upload(const std::vector<T> &)".
// One of them is called with arrays that move and with ones that do not, so
// where an array moves the function is written once more, for its record alone.
#pragma once

#include "analysis/program/SourceView.h"

namespace clang {
class CallExpr;
class CXXRecordDecl;
class FunctionDecl;
} // namespace clang

namespace restride {

/// A parameter of a function template that it has pointers to, and the record that it stands for.
struct RecordArgument {
  unsigned Position;
  const clang::CXXRecordDecl *Record;
};

/// Empty where \p F is not made from a function template, or where that has no pointers to a record of the user's
/// by one of its parameters' names.
std::vector<RecordArgument> recordArguments(const clang::FunctionDecl *F, const SourceView &View);

/// What a template's text needs to become that of a function for its records.
struct RecordFunction {
  std::vector<Respelling> Edits;
  std::vector<Range> Names;  ///< its own, in each of its declarations
  ForRecords How;
  std::string Objection;     ///< why it cannot be done; empty: it can
};

RecordFunction recordFunction(const clang::FunctionDecl *F, llvm::ArrayRef<RecordArgument> Records, const SourceView &View);

/// How a call names such a function.
struct RecordCall {
  std::optional<Range> Name;   ///< none: a macro's body writes it
  std::vector<Range> Records;  ///< that the call says: "<Particle>" in allocate<Particle>(n)
  bool Unclear = false;        ///< some of them have no text of their own
};

RecordCall recordCall(const clang::CallExpr *Call, llvm::ArrayRef<RecordArgument> Records, const SourceView &View);

} // namespace restride

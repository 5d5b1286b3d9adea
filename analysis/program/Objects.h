// Objects of struct types that hold tracked pointers: one `Data` on the host
// and one for the device, each with arrays of its own. Where every object is a
// variable, a parameter or a function's result, and is copied by value only, a
// copy unites the members of two objects; but not a member of which the copy is
// overwritten before anything reads it:
//
//   Data device = host;
//   cudaMalloc(&device.p, bytes);
//
// Anything else that is done with an object merges the struct's objects: a
// member is one node then, as it is where the struct is no plain data.
#pragma once

#include "analysis/program/Flow.h"

namespace restride {

class ObjectClassifier {
public:
  ObjectClassifier(clang::ASTContext &Context, const SourceView &View, Flow &Graph) : Context(Context), View(View), Graph(Graph) {}

  /// Any expression, in \p Function.
  void expression(const clang::Expr *E, const clang::FunctionDecl *Function);
  /// The members that the initialiser list \p L of a struct gives values to: those of the
  /// object it is for, or those of all objects. One for each tracked field of \p Type.
  std::vector<NodeId> initialised(const clang::InitListExpr *L, const clang::CXXRecordDecl *Type);

private:
  /// What becomes of an object's value.
  struct Destination {
    enum { Unclear, Dropped, Object } K = Unclear;
    const clang::ValueDecl *To = nullptr; ///< a variable, or a function for what it gives back
    const clang::Stmt *Copy = nullptr;    ///< the statement that does nothing else
  };
  Destination destination(const clang::Expr *E);
  void copy(const Destination &To, llvm::ArrayRef<NodeId> From, const clang::CXXRecordDecl *Type);

  clang::ASTContext &Context;
  const SourceView &View;
  Flow &Graph;
};

} // namespace restride

// Which declarations can hold a pointer into the same array. Every variable,
// parameter, member and function result of type "pointer to record" is a node;
// assignments, calls and copies unite nodes; what is left are flow classes, one
// per logical array.
//
// Nodes are keyed by the place of the declaration, so that a template and its
// instantiations, which share their places, are one.
#pragma once

#include "analysis/program/SourceView.h"

#include "clang/AST/DeclCXX.h"
#include "llvm/ADT/DenseMap.h"

#include <set>

namespace restride {

using NodeId = unsigned;

/// A non-null value that enters a class from outside of it.
struct Origin {
  enum Kind { Host, Unknown } K;
  Location Where;
  std::string What;
};

/// What is known about one node; the facts of a class are those of its nodes together.
struct NodeFacts {
  const clang::CXXRecordDecl *Record = nullptr;
  std::string Name;
  std::string Function; ///< it is a parameter or local of; empty for others
  Location Where;
  std::optional<Range> Scope; ///< of that function
  bool KernelParameter = false;
  std::vector<std::string> Kernels;
  std::vector<Origin> Origins;
  std::vector<std::vector<std::string>> WholeArrays; ///< paths of member arrays used as pointers
  /// Collects sites; Candidate's other members are filled when classes are known.
  Candidate Sites;
};

/// The record behind a `T *`, `const T *`, `T *&` or `T *` array parameter that is worth
/// tracking: a class the user wrote. nullptr for anything else.
const clang::CXXRecordDecl *trackedPointee(clang::QualType T, const SourceView &View);

class Flow {
public:
  explicit Flow(const SourceView &View) : View(View) {}

  /// The node of a variable, parameter or member of tracked pointer type.
  std::optional<NodeId> node(const clang::ValueDecl *D);
  /// The node of a function's result.
  std::optional<NodeId> result(const clang::FunctionDecl *F);
  void unite(NodeId A, NodeId B);
  NodeId root(NodeId A) const;
  NodeFacts &facts(NodeId A) { return Facts[A]; }
  const NodeFacts &facts(NodeId A) const { return Facts[A]; }
  size_t size() const { return Facts.size(); }
  void refuse(NodeId A, clang::SourceLocation L, std::string Reason, std::string Layout = "");

private:
  NodeId make(const clang::NamedDecl *D, bool Result, const clang::CXXRecordDecl *Record);

  const SourceView &View;
  llvm::DenseMap<std::pair<unsigned, unsigned>, NodeId> Ids;
  mutable std::vector<NodeId> Parent;
  std::vector<NodeFacts> Facts;
};

} // namespace restride

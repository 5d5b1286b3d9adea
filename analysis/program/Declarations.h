// The declarations that spell a tracked pointer type, as text that a layout can
// respell.
#pragma once

#include "analysis/program/Flow.h"

#include <map>

namespace restride {

/// Declarations by place of their first token. A declarator's Candidate holds a
/// node until classes are known.
class DeclarationTable {
public:
  DeclarationTable(const SourceView &View, Flow &Graph) : View(View), Graph(Graph) {}

  /// Any variable, parameter or member: neighbours of a tracked one count too.
  void add(const clang::DeclaratorDecl *D);
  /// A function's result.
  void addResult(const clang::FunctionDecl *F, NodeId Node);
  /// Declarations with at least one tracked declarator. What cannot be
  /// respelled refuses its node.
  std::vector<Declaration> build();

private:
  std::optional<Declaration> declaration(const std::vector<const clang::DeclaratorDecl *> &Group);
  bool typeName(const clang::DeclaratorDecl *D, NodeId Node, Declaration &Out);

  const SourceView &View;
  Flow &Graph;
  /// By place, and by the records that the function around them is made for.
  std::map<std::pair<unsigned, std::string>, std::vector<const clang::DeclaratorDecl *>> Groups;
  std::vector<std::pair<const clang::FunctionDecl *, NodeId>> Results;
};

/// "geo::" of a record in geo.
std::string scopeName(const clang::CXXRecordDecl *Record);

/// Offset behind the semicolon that follows \p At, blanks and comments aside; 0 where none does.
unsigned behindSemicolon(llvm::StringRef Text, unsigned At);

} // namespace restride

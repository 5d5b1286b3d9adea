// Host expressions as formulas of the counters of the loops around them.
#pragma once

#include "analysis/program/Draws.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/Fill.h"

namespace restride {

class FillFormula {
public:
  /// \p Loops are in the order of Fill::Loops; what changes inside of \p Outermost,
  /// the loop around all of them, is not known. Null: there is none.
  FillFormula(llvm::ArrayRef<Evaluator::CountedLoop> Loops, const clang::Stmt *Outermost, const Evaluator &Values,
              const UnitFacts &Facts, clang::ASTContext &Context);

  /// What is added from now on stands in the function of \p C, a call of it.
  void enter(const clang::CallExpr *C) { enter(C, 0); }
  /// Adds \p E, an integer. The last node is its value.
  uint32_t add(const clang::Expr *E) { return add(E, 0); }
  uint32_t constant(int64_t Value);
  uint32_t binary(FillNode::Op What, uint32_t A, uint32_t B) { return push({What, 64, true, 0, A, B, 0}); }

  std::vector<FillNode> Nodes;
  bool Draws = false; ///< a random generator is asked

private:
  uint32_t push(FillNode N);
  uint32_t counter(size_t Loop) { return push({FillNode::Op::Counter, 64, true, int64_t(Loop)}); }
  uint32_t typed(clang::QualType T, FillNode::Op What, uint32_t A = 0, uint32_t B = 0, uint32_t C = 0);
  uint32_t unknown(const clang::Expr *E);
  uint32_t add(const clang::Expr *E, unsigned Depth);
  uint32_t variable(const clang::DeclRefExpr *R, unsigned Depth);
  /// Loops, as bits, around where \p V is declared: what is unknown there is another number in their trips.
  uint32_t loopsAroundOf(const clang::VarDecl *V) const;
  uint32_t operation(clang::BinaryOperatorKind What, clang::QualType T, uint32_t L, uint32_t R);
  uint32_t element(const clang::ArraySubscriptExpr *S, unsigned Depth);
  /// The number \p M of an object that a trip makes, where it is given once: `b.floors = 10 + rand() % 50; b.lifts = b.floors / 10;`
  uint32_t memberOfLocal(const clang::MemberExpr *M, unsigned Depth);
  /// The number \p M, if it is one of the object whose method is followed.
  uint32_t memberOfThis(const clang::MemberExpr *M);
  // FillBranches.cpp
  /// \p V, which begins anew in each trip, where \p R reads it, if all that changes it before that is followed.
  std::optional<uint32_t> assigned(const clang::DeclRefExpr *R, const clang::VarDecl *V, unsigned Depth);
  /// What \p V, in Parameters, is behind \p S; false: that is not known.
  bool assign(const clang::Stmt *S, const clang::VarDecl *V, unsigned Depth);
  // FillCounter.cpp
  /// \p V, which the loops change, where \p R reads it, if they do so by one number in each trip.
  uint32_t counted(const clang::DeclRefExpr *R, const clang::VarDecl *V, unsigned Depth);
  // FillCall.cpp
  uint32_t call(const clang::CallExpr *C, unsigned Depth);
  void enter(const clang::CallExpr *C, unsigned Depth);
  /// Gives \p V, in Parameters, what the assignment \p B does.
  void give(const clang::VarDecl *V, const clang::BinaryOperator *B, unsigned Depth);
  /// What the parameters of \p F are, and those that vary and are no integers.
  std::map<const clang::VarDecl *, uint32_t> given(const clang::FunctionDecl *F, llvm::ArrayRef<const clang::Expr *> Arguments, unsigned Depth);
  /// What \p F returns, statement by statement.
  uint32_t follow(const clang::FunctionDecl *F, unsigned Depth);
  uint32_t drawn(const clang::CallExpr *C, const DrawnBetween &Between, unsigned Depth);
  // FillShare.cpp
  struct Range {
    double Low = 0, High = 1;
  };
  /// What \p Real, which is drawn at random, lies between: `lowest + draw() * count`. A function's number of which nothing
  /// else is known lies between 0 and 1, most likely.
  std::optional<Range> drawnRange(const clang::Expr *Real, unsigned Depth);
  std::optional<Range> drawnRangeOf(const clang::BinaryOperator *B, unsigned Depth);
  std::optional<Range> drawnRangeOf(const clang::CallExpr *C, unsigned Depth);
  /// It is finite, and integers of 64 bits hold it.
  static bool isBounded(const Range &R);
  std::optional<double> fixedReal(const clang::Expr *E, unsigned Depth);
  /// Adds the integer that \p Real is cut to.
  std::optional<uint32_t> cutShare(const clang::Expr *Real, unsigned Depth);
  std::optional<uint32_t> shareBelow(const clang::BinaryOperator *B, unsigned Depth);
  /// 1 in so many cases, else 0.
  uint32_t oneIn(double Share);
  /// The loop that \p V counts the trips of; none: it is no such variable.
  std::optional<size_t> loopOf(const clang::VarDecl *V) const;
  /// The value is another one in another trip.
  bool varies(const clang::Stmt *S, unsigned Depth);
  bool changesInside(const clang::VarDecl *V, const Part &P = {}) const;
  bool growsInside(const clang::ValueDecl *Container) const;
  bool standsInside(clang::SourceLocation L) const;

  std::vector<Evaluator::CountedLoop> Loops;
  const clang::Stmt *Outermost;
  uint32_t Varies = ~0u; ///< of what is unknown, see FillNode
  const clang::Expr *This = nullptr; ///< the object whose method is followed, or a pointer to it
  std::map<const clang::VarDecl *, uint32_t> Parameters; ///< of the function that is followed, and its variables
  std::set<const clang::VarDecl *> Reals;                ///< and other parameters that vary
  std::set<const clang::ValueDecl *> Changed;            ///< variables and members around it that the function changes: a generator's state
  std::set<const clang::DeclRefExpr *> Followed;         ///< assignments that are taken in their order
  std::map<std::pair<const clang::VarDecl *, const clang::Stmt *>, uint32_t> Assigned; ///< what variables are in a statement
  unsigned Ranges = 0; ///< asked for
  std::map<const clang::VarDecl *, bool> Varying;        ///< local variables that were looked at
  const Evaluator &Values;
  const UnitFacts &Facts;
  clang::ASTContext &Context;
};

/// \p R, a reference to a number, is not only read.
bool isWritten(const clang::DeclRefExpr *R, clang::ASTContext &Context);

} // namespace restride

// Host expressions as numbers, as far as the source gives them: the value a
// launch would have if nobody passed other arguments to the program.
#pragma once

#include "analysis/program/Uses.h"

namespace restride {

struct Estimate {
  int64_t Value = 0;
  bool Assumed = false; ///< depends on a variable that may hold something else at run time
};

class Evaluator {
public:
  Evaluator(const clang::ASTContext &Context, const UnitFacts &Facts) : Context(Context), Facts(Facts) {}

  /// Value of an integer expression: constants, variables by their
  /// initialiser, parameters by the one value all calls give them; of a ?: whose
  /// condition is unknown, the arm that is known.
  std::optional<Estimate> integer(const clang::Expr *E, unsigned Depth = 0) const;
  /// A grid or block size: an integer or a dim3. Zeros where unknown.
  void dimensions(const clang::Expr *E, uint64_t Out[3], bool &Assumed) const;
  /// How often the loops around \p E run it; loops that cannot be counted
  /// count as UnknownLoopTrips.
  double timesExecuted(const clang::Stmt *E, clang::ASTContext &Context) const;

  static constexpr double UnknownLoopTrips = 16;

private:
  std::optional<Estimate> variable(const clang::VarDecl *V, unsigned Depth) const;

  const clang::ASTContext &Context;
  const UnitFacts &Facts;
};

} // namespace restride

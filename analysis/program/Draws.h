// Calls of the host that give random numbers, and what those lie between.
#pragma once

#include "clang/AST/Expr.h"

#include <optional>

namespace restride {

/// A call that gives a random number: rand(), a distribution of the C++ library, a generator of the program's own, or
/// a function that asks one.
bool drawsAtRandom(const clang::CallExpr *C);

/// Such a call stands in \p S.
bool anyDraw(const clang::Stmt *S);

/// The numbers that one is drawn between; of whole ones both may come out.
struct DrawnBetween {
  const clang::Expr *Low = nullptr; ///< null: zero
  const clang::Expr *High = nullptr;
};

/// `std::uniform_int_distribution<int> d(0, n - 1); d(generator)`, and what a function of the program's own draws
/// between two floating-point numbers, `uniform(-1.0f, 1.0f)`. None: it is no such call, or its object comes from elsewhere.
std::optional<DrawnBetween> drawnBetween(const clang::CallExpr *C);

/// `std::bernoulli_distribution d(0.3); d(generator)`: 0.3. Null: it is no such call.
const clang::Expr *drawnShare(const clang::CallExpr *C);

} // namespace restride

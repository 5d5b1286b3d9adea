// A parameter is known where all calls give it the same.
#pragma once

#include "analysis/program/Uses.h"

#include <optional>

namespace restride {

/// What \p Of says, an optional estimate, of each of \p Given; none where it says nothing of one, or not the same.
template <typename FnT> auto inAllCalls(llvm::ArrayRef<const clang::Expr *> Given, FnT Of) {
  decltype(Of(Given.front())) One;
  for (const clang::Expr *Each : Given) {
    const auto Next = Of(Each);
    if (!Next || (One && One->Value != Next->Value))
      return decltype(One)();
    One = Next;
  }
  return One;
}

} // namespace restride

// Columns of text, for views.
#pragma once

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace restride {

/// Widest line that a report prints, columns.
inline constexpr size_t MaxWidth = 100;

/// Rows of cells; the first row is the head. Two spaces before and between. Flush
/// right but for the first \p Left columns.
class Table {
public:
  explicit Table(size_t Left = 1) : Left(Left) {}
  void row(std::vector<std::string> Cells) { Rows.push_back(std::move(Cells)); }
  void print(llvm::raw_ostream &OS) const;
  /// Of the whole, with the spaces before it.
  size_t width() const;

private:
  size_t width(size_t Column) const;

  size_t Left;
  std::vector<std::vector<std::string>> Rows;
};

/// A count with three digits: "980", "1.23k", "45.6M". "?" if it is not finite.
std::string spellCount(double N);

} // namespace restride

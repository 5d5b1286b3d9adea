// What a stream would print, kept for later.
#pragma once

#include "llvm/Support/raw_ostream.h"

namespace restride {

/// In colour if \p Like has it.
class Captured : public llvm::raw_string_ostream {
public:
  Captured(std::string &Text, llvm::raw_ostream &Like) : raw_string_ostream(Text), HasColors(Like.has_colors()) { enable_colors(HasColors); }
  bool has_colors() const override { return HasColors; }
  bool is_displayed() const override { return HasColors; }

private:
  bool HasColors;
};

} // namespace restride

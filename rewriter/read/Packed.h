// Texts one after the other in one file, each after its length, so that any
// bytes may stand in them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace restride {

/// BLAKE3, as hexadecimal digits.
std::string hashOf(llvm::StringRef Text);

void put(std::string &To, llvm::StringRef Text);
void putList(std::string &To, llvm::ArrayRef<std::string> Texts);

/// Takes the next text, or list of texts, off \p From. Nothing where it is broken.
std::optional<llvm::StringRef> take(llvm::StringRef &From);
std::optional<std::vector<std::string>> takeList(llvm::StringRef &From);

} // namespace restride

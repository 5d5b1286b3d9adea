// Places in the text of a program whose arrays are folded.
#pragma once

#include "analysis/program/Candidate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace restride {

inline bool isWord(char C) { return isalnum((unsigned char)C) || C == '_'; }
inline bool isIdentifier(llvm::StringRef Text) { return llvm::all_of(Text, isWord); }

/// The name at the end of \p Base: the "x" of "s.x".
std::optional<Range> nameAtEnd(Range Base, llvm::StringRef Name, llvm::StringRef Source);

/// \p Item of a list with the comma before it; nothing if there is none.
std::optional<Range> withComma(Range Item, llvm::StringRef Source);

/// \p Statement with its semicolon, and with the whole line where nothing else
/// but a comment stands in it.
Range wholeLine(Range Statement, llvm::StringRef Source);

/// Nothing stands between these statements.
bool areNeighbours(std::vector<Range> Statements, llvm::StringRef Source);

/// What stands before a member's name, "s." or "p->", is the same object all the
/// way from \p Begin to \p End: nothing there but members of it are named.
bool isOneObject(llvm::StringRef Prefix, unsigned Begin, unsigned End, llvm::StringRef Source);

} // namespace restride

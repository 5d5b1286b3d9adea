// What a mnemonic says by itself, before its operands are read. One row per
// root; the suffixes choose the variant.
#pragma once

#include "ptx/parse/Module.h"

namespace restride::ptx {

/// A mnemonic taken apart. Op is Opcode::Unknown for a root that is not in the
/// table; types and space are then still those its suffixes spell.
struct OpcodeForm {
  Opcode Op = Opcode::Unknown;
  Type Ty, SrcTy;
  Space Mem = Space::None;
  unsigned Vector = 1;
  llvm::StringRef Compare; ///< points into the mnemonic
  bool HasResult = true;   ///< the first operand is written
};

OpcodeForm decodeMnemonic(llvm::StringRef Mnemonic);

/// ".u32", "f16x2", "pred" without the dot; kind None: not a type.
Type parseType(llvm::StringRef Suffix);
/// "global", "shared::cta" without the dot; None: not a space.
Space parseSpace(llvm::StringRef Suffix);

} // namespace restride::ptx

// --emit-variants: every variant as source, with its PTX beside it.
#pragma once

#include "rewriter/decide/Report.h"

#include "llvm/Support/Error.h"

namespace restride {

/// Writes DIR/<candidate>/<layout>/<file> and <file>.ptx. Two candidates of one
/// record are <record> and <record>-<array>.
llvm::Error emitVariants(const Report &R, llvm::StringRef Folder);

} // namespace restride

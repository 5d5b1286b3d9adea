// The AST of a unit from the bytes that a parse left (ParsedSource::Bytes). Clang
// reads of it what is asked for, so that loading takes a tenth of parsing.
#pragma once

#include "rewriter/command/SourceCommand.h"

#include <memory>

namespace clang {
class ASTUnit;
} // namespace clang

namespace restride {

/// \p Bytes must outlive the AST, and all files that were read must be as they
/// were. Null where Clang cannot use the bytes.
std::shared_ptr<clang::ASTUnit> loadAst(llvm::StringRef Bytes, const SourceCommand &Command);

} // namespace restride

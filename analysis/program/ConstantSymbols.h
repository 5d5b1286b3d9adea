// What the host copies to variables in constant memory.
#pragma once

#include "analysis/program/Candidate.h"

namespace clang {
class ASTContext;
class Decl;
}

namespace restride {

class Evaluator;

/// By name as in PTX: variables that one object of their own type is copied to, or several that hold the same.
std::map<std::string, ConstantSymbol> constantSymbols(llvm::ArrayRef<clang::Decl *> Scope, const Evaluator &Values, clang::ASTContext &Context);

} // namespace restride

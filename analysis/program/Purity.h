// Can an expression be evaluated twice, or earlier, without anybody noticing?
#pragma once

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"

namespace restride {

/// No side effect in \p E: no assignment, no volatile access, and calls only of
/// functions whose bodies are seen and change nothing but their own locals, or
/// of arithmetic library functions (min, sqrtf).
bool isPure(const clang::Expr *E);

/// \p F's body is seen and changes nothing but its own locals and, with
/// \p OwnObject, the object that it is called on.
bool isPureFunction(const clang::FunctionDecl *F, bool OwnObject = false);

/// \p P is a const reference that its function reads and does not keep or give
/// back: a copy does as well.
bool takesCopies(const clang::ParmVarDecl *P);

/// The function of \p P finds elements of its member arrays by subscripts that are no constants. A copy would lie in
/// memory, not in registers, and be loaded whole.
bool searchesMembers(const clang::ParmVarDecl *P);

/// Evaluating \p Operands in another order could give other values.
bool orderMatters(llvm::ArrayRef<const clang::Expr *> Operands);

/// Evaluating \p E could change an object of the type \p Record.
bool mayChange(const clang::Expr *E, const clang::CXXRecordDecl *Record);

/// The first parameter of an operator outside of a class that changes it:
/// `P &operator+=(P &a, const P &b)`. Null for other functions.
const clang::ParmVarDecl *changedOperand(const clang::FunctionDecl *F);

/// \p P is a const reference of a member function, or of an operator, that changes
/// nothing but its object. A copy does as well, even of that same object if \p MayBeObject.
bool takesCopies(const clang::ParmVarDecl *P, bool MayBeObject);

/// The object of the member function \p F, or what its reference parameters are
/// bound to, may be a copy: it changes nothing, and keeps or compares no address.
bool worksOnCopies(const clang::FunctionDecl *F);

/// The pointer (or reference) variable \p V is only used to reach the one object it
/// points to: *v, atomics and cached loads on it, and functions that do no more.
bool onlyDereferenced(const clang::VarDecl *V, clang::ASTContext &Context);

/// The compiler or a library brings \p F along.
bool isLibraryFunction(const clang::FunctionDecl *F);

/// A pointer to a number becomes one to another number of the same size, as atomics of signed integers need.
bool keepsSize(const clang::CastExpr *C, clang::ASTContext &Context);

/// The lvalue \p E is read, assigned, or bound to references of which that is
/// true. Nobody takes its address to reach what lies beside it.
bool staysInside(const clang::Expr *E, clang::ASTContext &Context);

/// atomicAdd and its family, __ldg and its family: they touch one object through
/// their pointer argument.
bool touchesOneObject(const clang::FunctionDecl *F);

} // namespace restride

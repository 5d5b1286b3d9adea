#include "analysis/program/HostPlaces.h"
#include "analysis/program/Returned.h"

#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace restride {

static constexpr unsigned MaxDepth = 16;

const Expr *withoutCasts(const Expr *E) {
  for (;;) {
    const Expr *Inner = E->IgnoreParenCasts();
    if (const FullExpr *F = dyn_cast<FullExpr>(Inner))
      Inner = F->getSubExpr();
    else if (const MaterializeTemporaryExpr *M = dyn_cast<MaterializeTemporaryExpr>(Inner))
      Inner = M->getSubExpr();
    else if (const CXXBindTemporaryExpr *B = dyn_cast<CXXBindTemporaryExpr>(Inner))
      Inner = B->getSubExpr();
    if (Inner == E)
      return E;
    E = Inner;
  }
}

const Expr *withoutCopies(const Expr *E) {
  E = withoutCasts(E);
  if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E); C && C->getNumArgs() == 1)
    E = withoutCasts(C->getArg(0));
  return E;
}

llvm::StringRef identifierOf(const NamedDecl *D) { return D && D->getDeclName().isIdentifier() ? D->getName() : ""; }

static bool isUniquePointer(QualType T) { return identifierOf(T->getAsCXXRecordDecl()) == "unique_ptr"; }

namespace {

/// Follows pointers back to the arrays they lead to.
class ArrayFinder {
public:
  explicit ArrayFinder(const UnitFacts &Facts) : Facts(Facts) {}

  const ValueDecl *arrayOf(const Expr *E) {
    E = withoutCasts(E);
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
      return isa<VarDecl>(R->getDecl()) ? origin(cast<VarDecl>(R->getDecl())) : nullptr;
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
      const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
      const ValueDecl *Object = F && isPointerInClass(F) && !isa<CXXThisExpr>(withoutCasts(M->getBase())) ? arrayOf(M->getBase()) : nullptr;
      return Object ? Object : F;
    }
    if (const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(E))
      return resultOf(M);
    if (const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(E)) // of a std::unique_ptr, or a copy
      return C->getNumArgs() && (isUniquePointer(C->getType()) || C->getConstructor()->isCopyOrMoveConstructor()) ? arrayOf(C->getArg(0)) : nullptr;
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_AddrOf) {
      const Expr *Inner = withoutCasts(U->getSubExpr());
      if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(Inner))
        return arrayOf(S->getBase());
      if (const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(Inner); O && O->getOperator() == OO_Subscript)
        return arrayOf(O->getArg(0));
      return arrayOf(Inner);
    }
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(E); U && U->getOpcode() == UO_Deref && U->getType()->isPointerType())
      if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(withoutCasts(U->getSubExpr())); R && isa<ParmVarDecl>(R->getDecl()))
        return origin(cast<ParmVarDecl>(R->getDecl())); // the parameter T **p
    if (const BinaryOperator *B = dyn_cast<BinaryOperator>(E); B && B->isAdditiveOp() && B->getType()->isPointerType())
      return arrayOf(B->getLHS()->getType()->isPointerType() ? B->getLHS() : B->getRHS());
    return nullptr;
  }

  /// Parameters and pointers that lead to one array only, as that array.
  const ValueDecl *origin(const VarDecl *V) {
    if (!Active.insert(V).second)
      return V; // a function that calls itself
    const ValueDecl *Out = V;
    const QualType T = V->getType();
    if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(V)) {
      const ValueDecl *One = nullptr;
      bool Same = true;
      if (auto At = Facts.Arguments.find(P); At != Facts.Arguments.end())
        for (const Expr *A : At->second)
          if (const ValueDecl *Next = Same ? arrayOf(A) : nullptr; Next != V) {
            Same &= Next && (!One || One == Next);
            One = Next;
          }
      Out = One && Same ? One : V;
    } else if (V->getInit() && (T->isReferenceType() || (T->isPointerType() && !isModified(Facts, V)))) {
      const ValueDecl *Of = arrayOf(V->getInit());
      Out = Of ? Of : V;
    }
    Active.erase(V);
    return Out;
  }

private:
  /// `v.data()`, and what a method returns of its object: `T *device() { return ptr_; }`.
  const ValueDecl *resultOf(const CXXMemberCallExpr *C) {
    const CXXMethodDecl *M = C->getMethodDecl();
    if (llvm::StringSwitch<bool>(identifierOf(M)).Cases({"data", "get", "begin", "end", "cbegin", "cend"}, true).Default(false))
      return arrayOf(C->getImplicitObjectArgument());
    const Expr *Returned = M && !M->isVirtual() && M->getReturnType()->isPointerType() ? lastReturned(M) : nullptr;
    if (!Returned || !Active.insert(M).second)
      return nullptr;
    const FieldDecl *F = dyn_cast_or_null<FieldDecl>(arrayOf(Returned));
    Active.erase(M);
    const bool InThis = F && isPointerInClass(F) && !isa<CXXThisExpr>(withoutCasts(C->getImplicitObjectArgument()));
    const ValueDecl *Object = InThis ? arrayOf(C->getImplicitObjectArgument()) : nullptr;
    return Object ? Object : F;
  }

  const UnitFacts &Facts;
  std::set<const ValueDecl *> Active; ///< on the way: they may call themselves
};

} // namespace

bool isPointerInClass(const FieldDecl *F) {
  const auto pointsTo = [](QualType T) { return T->isPointerType() && !T->getPointeeType()->isIncompleteType(); }; // no cudaStream_t
  const RecordDecl *Class = F->getParent();
  return !Class->isUnion() && llvm::all_of(Class->fields(), [&](const FieldDecl *Other) {
    const QualType T = Other->getType();
    return Other == F ? pointsTo(T) || isUniquePointer(T) : T->isScalarType() && !pointsTo(T);
  });
}

bool isContainer(QualType T) {
  return llvm::StringSwitch<bool>(identifierOf(T.getNonReferenceType()->getAsCXXRecordDecl()))
      .Cases({"vector", "unique_ptr", "array", "valarray"}, true)
      .Default(false);
}

namespace {

/// The `__begin` of a range-based for, of which \p E is the element; null: it is no such.
const DeclRefExpr *rangeBegin(const Expr *E) {
  const UnaryOperator *U = dyn_cast<UnaryOperator>(E);
  const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(E);
  const Expr *Of = U && U->getOpcode() == UO_Deref ? U->getSubExpr() : O && O->getOperator() == OO_Star ? O->getArg(0) : nullptr;
  const DeclRefExpr *R = Of ? dyn_cast<DeclRefExpr>(withoutCasts(Of)) : nullptr;
  const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr;
  return V && V->isImplicit() && V->getInit() && identifierOf(V).starts_with("__begin") ? R : nullptr;
}

/// Walks an lvalue from the outside to the array that it lies in.
class PlaceReader {
public:
  PlaceReader(const UnitFacts &Facts, const ASTContext &Context) : Facts(Facts), Context(Context) {}

  std::optional<HostPlace> read(const Expr *E) {
    return step(E, 0) ? std::optional(std::move(Out)) : std::nullopt;
  }

private:
  int64_t sizeOf(QualType T) const { return Context.getTypeSizeInChars(T.getNonReferenceType()).getQuantity(); }

  /// \p E is the array itself, a pointer to its first element.
  bool root(const Expr *E, unsigned Depth) {
    E = withoutCasts(E);
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E); M && M->getType()->isConstantArrayType())
      return step(M, Depth); // an array inside of an element
    const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E);
    if (const VarDecl *V = R ? dyn_cast<VarDecl>(R->getDecl()) : nullptr; V && V->getType()->isPointerType() && V->getInit() && !isModified(Facts, V))
      if (const UnaryOperator *U = dyn_cast<UnaryOperator>(withoutCasts(V->getInit())); U && U->getOpcode() == UO_AddrOf)
        return step(U->getSubExpr(), Depth + 1); // P *p = &h[i]
    Out.Array = arrayOf(E, Facts);
    return Out.Array && !isa<CXXMemberCallExpr>(E);
  }

  bool step(const Expr *E, unsigned Depth) {
    E = withoutCasts(E);
    if (Depth > MaxDepth)
      return false;
    if (const MemberExpr *M = dyn_cast<MemberExpr>(E)) {
      const FieldDecl *F = dyn_cast<FieldDecl>(M->getMemberDecl());
      if (!F || F->isBitField() || F->getParent()->isDependentType() || !F->getParent()->isCompleteDefinition())
        return false;
      if (isContainer(F->getType()))
        return root(E, Depth);
      Out.Offset += Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity();
      if (!M->isArrow())
        return step(M->getBase(), Depth + 1);
      return root(M->getBase(), Depth + 1);
    }
    if (const ArraySubscriptExpr *S = dyn_cast<ArraySubscriptExpr>(E)) {
      Out.Indices.push_back({S->getIdx(), sizeOf(S->getType())});
      return root(S->getBase(), Depth + 1);
    }
    const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(E);
    const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(E);
    const bool At = M && identifierOf(M->getMethodDecl()) == "at" && M->getNumArgs() == 1;
    if (At || (O && O->getOperator() == OO_Subscript && O->getNumArgs() == 2)) {
      const Expr *Object = withoutCasts(At ? M->getImplicitObjectArgument() : O->getArg(0));
      Out.Indices.push_back({At ? M->getArg(0) : O->getArg(1), sizeOf(E->getType())});
      if (identifierOf(Object->getType()->getAsCXXRecordDecl()) == "array" && !isa<DeclRefExpr>(Object))
        return step(Object, Depth + 1);
      return isContainer(Object->getType()) && !isa<CXXOperatorCallExpr, ArraySubscriptExpr>(Object) && root(Object, Depth + 1);
    }
    if (const DeclRefExpr *Begin = rangeBegin(E)) { // for (P &p : h)
      Out.Indices.push_back({Begin, sizeOf(E->getType())});
      Out.Array = arrayOf(cast<VarDecl>(Begin->getDecl())->getInit(), Facts);
      return Out.Array != nullptr;
    }
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) {
      const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
      if (V && V->getType()->isReferenceType() && V->getInit() && !isa<ParmVarDecl>(V))
        return step(V->getInit(), Depth + 1); // P &p = h[i]
      Out.Array = V;
      return V && V->isLocalVarDecl() && V->getType()->isRecordType(); // P p; p.x = ...
    }
    return false;
  }

  const UnitFacts &Facts;
  const ASTContext &Context;
  HostPlace Out;
};

} // namespace

std::optional<HostPlace> placeOf(const Expr *E, const UnitFacts &Facts, const ASTContext &Context) { return PlaceReader(Facts, Context).read(E); }

const ValueDecl *arrayOf(const Expr *E, const UnitFacts &Facts) { return ArrayFinder(Facts).arrayOf(E); }

const ValueDecl *arrayOf(const VarDecl *V, const UnitFacts &Facts) { return ArrayFinder(Facts).origin(V); }

} // namespace restride

#include "analysis/program/Reached.h"

#include "analysis/program/Around.h"
#include "analysis/program/HostPlaces.h"
#include "analysis/program/Returned.h"

#include "clang/AST/ParentMapContext.h"

using namespace clang;

namespace restride {

static constexpr size_t MaxCalls = 4, MaxArrays = 256;

/// What the call or construction \p Call gives its function's parameter \p P; null: it is none of its function.
static const Expr *givenBy(const Expr *Call, const ParmVarDecl *P) {
  const auto [F, Given] = calledBy(Call);
  const FunctionDecl *Definition = nullptr;
  const unsigned I = P->getFunctionScopeIndex();
  return F && F->hasBody(Definition) && P->getDeclContext() == Definition && I < Given.size() ? Given[I] : nullptr;
}

namespace {

class Reacher {
public:
  Reacher(const UnitFacts &Facts, ASTContext &Context) : Facts(Facts), Context(Context) {}
  std::vector<Reached> Out;

  void add(const ValueDecl *Array, const FunctionDecl *In, const CallPath &Calls) {
    if (!Array || Out.size() == MaxArrays)
      return;
    Out.push_back({Array, Calls});
    if (!In || Calls.size() == MaxCalls)
      return;
    const auto further = [&](const Expr *Call) {
      CallPath More = Calls;
      More.push_back(Call);
      return More;
    };
    const ParmVarDecl *P = dyn_cast<ParmVarDecl>(Array);
    const FieldDecl *Member = dyn_cast<FieldDecl>(Array);
    const bool Keeps = Member && isPointerInClass(Member) && isa<CXXMethodDecl>(In) && cast<CXXMethodDecl>(In)->getParent() == Member->getParent();
    const Expr *Returned = isa<VarDecl>(Array) && !P ? lastReturned(In) : nullptr;
    const bool Returns = Returned && arrayOf(Returned, Facts) == Array;
    if (auto At = Facts.CallsOf.find(In); At != Facts.CallsOf.end())
      for (const CallExpr *C : At->second) {
        if (P)
          addGiven(givenBy(C, P), C, further(C));
        else if (Returns)
          addTarget(C, further(C));
        else if (const CXXMemberCallExpr *M = Keeps ? dyn_cast<CXXMemberCallExpr>(C) : nullptr)
          addObject(M, Array, further(C));
      }
    if (auto At = Facts.ConstructionsBy.find(In); At != Facts.ConstructionsBy.end())
      for (const CXXConstructExpr *C : At->second)
        P ? addGiven(givenBy(C, P), C, further(C)) : Keeps ? addConstructed(C, Array, further(C)) : void();
  }

private:
  void addGiven(const Expr *Argument, const Expr *Call, const CallPath &Calls) {
    if (Argument)
      add(arrayOf(Argument, Facts), functionAround(Call, Context), Calls);
  }

  /// Of a method's call, its object.
  void addObject(const CXXMemberCallExpr *C, const ValueDecl *Kept, const CallPath &Calls) {
    const Expr *Object = C->getImplicitObjectArgument();
    add(isa<CXXThisExpr>(withoutCasts(Object)) ? Kept : arrayOf(Object, Facts), functionAround(C, Context), Calls);
  }

  void addConstructed(const CXXConstructExpr *C, const ValueDecl *Kept, const CallPath &Calls) {
    const CXXConstructorDecl *Outer = dyn_cast_or_null<CXXConstructorDecl>(functionAround(C, Context));
    const bool Delegates = Outer && Outer->isDelegatingConstructor() && Outer->getTargetConstructor() == C->getConstructor();
    Delegates ? add(Kept, Outer, Calls) : addTarget(C, Calls);
  }

  /// What the value of \p E becomes: a variable, a member, or what its function returns in turn.
  void addTarget(const Expr *E, const CallPath &Calls) {
    const Stmt *Child = E;
    goOutward(E, Context, [&](const DynTypedNode &Node) {
      if (const Expr *Outer = Node.get<Expr>()) {
        const BinaryOperator *B = dyn_cast<BinaryOperator>(Outer);
        const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(Outer);
        if (B && B->getOpcode() == BO_Assign && B->getRHS() == Child)
          add(arrayOf(B->getLHS(), Facts), functionAround(E, Context), Calls);
        else if (O && O->getOperator() == OO_Equal && O->getNumArgs() == 2 && O->getArg(1) == Child)
          add(arrayOf(O->getArg(0), Facts), functionAround(E, Context), Calls);
        else if (const InitListExpr *List = dyn_cast<InitListExpr>(Outer))
          add(memberOf(List, Child), functionAround(E, Context), Calls);
        Child = Outer;
        return isa<ParenExpr, CastExpr, FullExpr, MaterializeTemporaryExpr, CXXBindTemporaryExpr, CXXConstructExpr, CXXNewExpr>(Outer);
      }
      if (Node.get<ReturnStmt>())
        returned(functionAround(E, Context), Calls);
      else if (const VarDecl *V = Node.get<VarDecl>())
        add(V, functionAround(E, Context), Calls);
      else if (const FieldDecl *F = Node.get<FieldDecl>())
        add(F, nullptr, Calls);
      else if (const CXXConstructorDecl *C = Node.get<CXXConstructorDecl>())
        for (const CXXCtorInitializer *I : C->inits())
          if (I->getInit() == Child)
            add(I->getMember(), nullptr, Calls);
      return false;
    });
  }

  void returned(const FunctionDecl *F, const CallPath &Calls) {
    auto At = F && Calls.size() < MaxCalls ? Facts.CallsOf.find(F) : Facts.CallsOf.end();
    for (const CallExpr *C : At == Facts.CallsOf.end() ? std::vector<const CallExpr *>() : At->second) {
      CallPath More = Calls;
      More.push_back(C);
      addTarget(C, More);
    }
  }

  /// The member of an aggregate that \p Init is for; null: it is none's.
  static const FieldDecl *memberOf(const InitListExpr *List, const Stmt *Init) {
    const RecordDecl *R = List->getType()->getAsRecordDecl();
    const auto At = llvm::find(List->inits(), Init);
    if (!R || At == List->inits().end())
      return nullptr;
    const unsigned I = At - List->inits().begin();
    for (const FieldDecl *F : R->fields())
      if (F->getFieldIndex() == I)
        return F;
    return nullptr;
  }

  const UnitFacts &Facts;
  ASTContext &Context;
};

} // namespace

std::vector<Reached> reachedBy(const Expr *E, const FunctionDecl *In, const UnitFacts &Facts, ASTContext &Context) {
  Reacher R(Facts, Context);
  R.add(arrayOf(E, Facts), In, {});
  return std::move(R.Out);
}

const ValueDecl *arrayIn(llvm::ArrayRef<const Expr *> Calls, const Expr *E, const UnitFacts &Facts) {
  const ValueDecl *Array = arrayOf(E, Facts);
  for (const Expr *Call : Calls) {
    const ParmVarDecl *P = dyn_cast_or_null<ParmVarDecl>(Array);
    const Expr *Argument = P ? givenBy(Call, P) : nullptr;
    if (Argument)
      Array = arrayOf(Argument, Facts);
  }
  return Array;
}

} // namespace restride

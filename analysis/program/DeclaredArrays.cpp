// Arrays of records that are declared in device memory: "__device__ P t[64];",
// "__constant__ P t[64];", and tiles in shared memory. Their elements are used
// as those behind a pointer are; as a whole they only meet sizeof and the
// runtime's copies to and from symbols.

#include "analysis/program/Launches.h"
#include "analysis/program/Uses.h"

#include "clang/AST/Attr.h"
#include "clang/AST/ParentMapContext.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace restride {

void checkDeclaredArray(const VarDecl *V, NodeId Node, Flow &Graph, ASTContext &Context) {
  auto Refuse = [&](std::string Why) { Graph.refuse(Node, V->getLocation(), "'" + V->getName().str() + "' " + std::move(Why)); };
  const ConstantArrayType *Array = Context.getAsConstantArrayType(V->getType());
  if (!Array)
    return Refuse("is an array without an extent");
  if (Array->getElementType()->isArrayType())
    return Refuse("is an array of arrays; make it one array with a computed index");
  if (Array->getElementType().isVolatileQualified())
    Refuse("is volatile");
  if (V->isStaticDataMember() || isa<VarTemplateSpecializationDecl>(V))
    Refuse("is a member of a class or a template");
  else if (V->hasExternalStorage() || V->getPreviousDecl())
    Refuse("is declared in several places");
  // A trivial default constructor is a construction, too.
  if (const Expr *Init = V->getInit(); Init && !isa<CXXConstructExpr>(Init->IgnoreImplicit()))
    Refuse("is initialised where it is declared; fill it with cudaMemcpyToSymbol");
  if (const CXXRecordDecl *Record = Array->getElementType()->getAsCXXRecordDecl(); !Record->hasTrivialDefaultConstructor())
    Refuse("has elements with a default constructor");
  Graph.facts(Node).Sites.Symbols = symbolNames(V, Context);
  ElementCount &Elements = Graph.facts(Node).Sites.Elements;
  Elements.Count = std::max(Elements.Count, double(Array->getSize().getZExtValue()));
}

bool UseClassifier::leavesDeclaredArray(const Expr *E, const Pointer &P) {
  if (!Graph.facts(P.Node).Sites.declared())
    return false;
  refuse(P, E->getExprLoc(), "'" + Graph.facts(P.Node).Name + "' is declared in device memory, and a pointer to it is passed on or kept here");
  return true;
}

/// Inside of sizeof and its kind, where nothing is evaluated.
static bool isUnevaluated(const Expr *E, ASTContext &Context) {
  while (E && !isa<UnaryExprOrTypeTraitExpr>(E)) {
    auto Parents = Context.getParents(*E);
    E = Parents.empty() ? nullptr : Parents[0].get<Expr>();
  }
  return E != nullptr;
}

void UseClassifier::declaredArray(const Expr *E, const Pointer &P) {
  NodeFacts &Array = Graph.facts(P.Node);
  auto Unknown = [&](std::string What) { refuse(P, E->getExprLoc(), "'" + Graph.facts(P.Node).Name + "' " + std::move(What)); };
  bool Kernel = Caller && Caller->hasAttr<CUDAGlobalAttr>();
  bool OnDevice = Kernel || (Caller && Caller->hasAttr<CUDADeviceAttr>());
  if (Kernel)
    Array.Kernels.push_back({mangledKernel(Caller, Context)});
  else if (OnDevice)
    Facts.DeviceUses.insert(P.Node);
  if (!E->getType()->isConstantArrayType() || E->getType()->getAsArrayTypeUnsafe()->getElementType()->isArrayType())
    return; // refused where it is declared
  const VarDecl *Variable = nullptr;
  const Expr *Outer = E;
  const Stmt *S = parent(Outer, &Variable);
  while (S && (isa<ParenExpr>(S) || (isa<ImplicitCastExpr>(S) && cast<ImplicitCastExpr>(S)->getCastKind() == CK_NoOp))) {
    Outer = cast<Expr>(S);
    S = parent(Outer, &Variable);
  }
  if (!S || Variable)
    return Unknown("gets another name here");
  if (const UnaryExprOrTypeTraitExpr *T = dyn_cast<UnaryExprOrTypeTraitExpr>(S)) {
    std::optional<Range> Whole = View.range(T->getSourceRange()), Name = View.range(E->getSourceRange());
    if (T->getKind() != UETT_SizeOf || !Whole || !Name)
      return Unknown(T->getKind() == UETT_SizeOf ? "stands in a macro's body, which would have to change" : "is asked for a property of its type");
    Array.Sites.Sizes.push_back({*Whole, *Name});
    return;
  }
  if (const ImplicitCastExpr *Decay = dyn_cast<ImplicitCastExpr>(S); Decay && Decay->getCastKind() == CK_ArrayToPointerDecay) {
    if (!OnDevice && !isUnevaluated(Decay, Context))
      return Unknown("is declared in device memory, and host code uses it");
    Pointer Here = P;
    if (isa<ParenExpr>(Outer))
      Here.Base = Outer;
    return pointer(Decay, Here);
  }
  if (const CallExpr *Call = dyn_cast<CallExpr>(S)) {
    if (symbolCall(Call, Outer, P))
      return;
    const FunctionDecl *Callee = Call->getDirectCallee();
    return Unknown("is declared in device memory, and is passed to '" + (Callee ? Callee->getNameAsString() : "a function") + "' as a whole");
  }
  Unknown("is declared in device memory, and is used as a whole");
}

/// cudaMemcpyToSymbol and its kind, from the array's first element on.
bool UseClassifier::symbolCall(const CallExpr *Call, const Expr *E, const Pointer &P) {
  const FunctionDecl *Callee = Call->getDirectCallee();
  if (!isRuntimeFunction(Callee))
    return false;
  std::optional<HostCall::Api> What = llvm::StringSwitch<std::optional<HostCall::Api>>(Callee->getName())
                                          .Case("cudaMemcpyToSymbol", HostCall::MemcpyToSymbol)
                                          .Case("cudaMemcpyToSymbolAsync", HostCall::MemcpyToSymbolAsync)
                                          .Case("cudaMemcpyFromSymbol", HostCall::MemcpyFromSymbol)
                                          .Case("cudaMemcpyFromSymbolAsync", HostCall::MemcpyFromSymbolAsync)
                                          .Default(std::nullopt);
  unsigned Symbol = What && *What >= HostCall::MemcpyFromSymbol ? 1 : 0;
  if (!What || Call->getNumArgs() < 4 || Call->getArg(Symbol) != E)
    return false;
  const Expr *Offset = Call->getArg(3);
  if (const CXXDefaultArgExpr *Default = dyn_cast<CXXDefaultArgExpr>(Offset))
    Offset = Default->getExpr();
  Expr::EvalResult Value;
  if (!Offset->EvaluateAsInt(Value, Context) || Value.Val.getInt() != 0) {
    refuse(P, Offset->getExprLoc(), "a part of '" + Graph.facts(P.Node).Name + "' that does not begin with its first element is copied");
    return true;
  }
  HostCall Site;
  Site.What = *What;
  Site.Where = View.where(Call->getExprLoc());
  std::optional<Range> Name = View.range(Call->getCallee()->getSourceRange()), Whole = View.range(E->getSourceRange());
  if (!Name || !Whole) {
    refuse(P, Call->getExprLoc(), std::string("this call") + View.whyNoRange(Call->getExprLoc()));
    return true;
  }
  Site.Callee = *Name;
  Site.Pointers.push_back({Symbol, *Whole, std::nullopt, {}});
  std::vector<HostCall> &Sites = Graph.facts(P.Node).Sites.Calls;
  Facts.Calls.push_back({P.Node, Sites.size(), Call, Call->getArg(2)});
  Sites.push_back(std::move(Site));
  return true;
}

} // namespace restride

// Calls of the CUDA runtime that allocate, copy, fill and free the array.

#include "analysis/program/Around.h"
#include "analysis/program/CheckedCalls.h"
#include "analysis/program/FieldCopyCode.h"
#include "analysis/program/Uses.h"

using namespace clang;

namespace restride {

namespace {

struct RuntimeFunction {
  llvm::StringRef Name;
  HostCall::Api Api;
  int Bytes; ///< argument with the byte count; -1: none
};

} // namespace

static constexpr RuntimeFunction RuntimeFunctions[] = {
    {"cudaMalloc", HostCall::Malloc, 1},         {"cudaMallocManaged", HostCall::MallocManaged, 1},
    {"cudaMallocAsync", HostCall::MallocAsync, 1}, {"cudaFree", HostCall::Free, -1},
    {"cudaFreeAsync", HostCall::FreeAsync, -1},  {"cudaMemcpy", HostCall::Memcpy, 2},
    {"cudaMemcpyAsync", HostCall::MemcpyAsync, 2}, {"cudaMemset", HostCall::Memset, 2},
    {"cudaMemsetAsync", HostCall::MemsetAsync, 2},  {"memset", HostCall::HostMemset, 2},
    {"cudaMemPrefetchAsync", HostCall::Prefetch, 1}, {"cudaMemAdvise", HostCall::Advise, 1},
};

bool UseClassifier::isRuntimeFunction(const FunctionDecl *F) const {
  return F && F->getDeclName().isIdentifier() && !View.isUserCode(F->getLocation());
}

/// Xyz_memcpy(d, &Xyz::x, h, bytes, kind): as cudaMemcpy, for one field.
void UseClassifier::fieldCopy(const CallExpr *Call, const Expr *E, const Pointer &P) {
  auto Unknown = [&](const char *Why) { refuse(P, E->getExprLoc(), Why); };
  const FunctionDecl *Callee = Call->getDirectCallee();
  unsigned Argument = std::find(Call->arg_begin(), Call->arg_end(), E) - Call->arg_begin();
  bool Fill = Callee->getName().contains("_memset"), Async = Callee->getName().ends_with("Async");
  if (Argument > (Fill ? 0u : 1u) || Argument + 1 >= Call->getNumArgs())
    return Unknown("this copy of a field is not understood");
  const UnaryOperator *Address = dyn_cast<UnaryOperator>(Call->getArg(Argument + 1)->IgnoreParenImpCasts());
  const DeclRefExpr *Member = Address ? dyn_cast<DeclRefExpr>(Address->getSubExpr()) : nullptr;
  std::optional<Range> Name = View.range(Call->getCallee()->getSourceRange()), Begin = View.range(E->getSourceRange()),
                       End = Member ? View.range(Address->getSourceRange()) : std::nullopt;
  std::optional<Element> What = elementOf(P, E->getExprLoc());
  if (!What || !Name || !Begin || !End)
    return Unknown("this copy of a field is not understood");
  HostCall Site;
  Site.What = Fill ? (Async ? HostCall::MemsetAsync : HostCall::Memset) : (Async ? HostCall::MemcpyAsync : HostCall::Memcpy);
  Site.Where = View.where(Call->getExprLoc());
  Site.Callee = *Name;
  Site.Field = Member->getDecl()->getNameAsString();
  HostCall::Pointer Place;
  Place.Argument = Argument;
  Place.Whole = {Begin->Begin, End->End};
  Place.What = *What;
  Site.Pointers.push_back(std::move(Place));
  std::vector<HostCall> &Sites = Graph.facts(P.Node).Sites.Calls;
  Facts.Calls.push_back({P.Node, Sites.size(), Call, Call->getArg(3)});
  Sites.push_back(std::move(Site));
}

bool UseClassifier::runtimeCall(const CallExpr *Call, const Expr *E, const Pointer &P, bool AddressOf) {
  const FunctionDecl *Callee = Call->getDirectCallee();
  if (!AddressOf && !Graph.scalars() && fieldCopyRecord(Callee, View)) {
    fieldCopy(Call, E, P);
    return true;
  }
  if (!isRuntimeFunction(Callee))
    return false;
  llvm::StringRef Name = Callee->getName();
  unsigned Argument = std::find(Call->arg_begin(), Call->arg_end(), E) - Call->arg_begin();
  if (Name == "free") {
    Graph.facts(P.Node).Origins.push_back({Origin::Host, View.where(E->getExprLoc()), "free"});
    return true;
  }
  const RuntimeFunction *Known = nullptr;
  for (const RuntimeFunction &F : RuntimeFunctions)
    if (F.Name == Name)
      Known = &F;
  if (!Known)
    return false;
  bool Allocates = Known->Api <= HostCall::MallocAsync;
  bool Copies = Known->Api == HostCall::Memcpy || Known->Api == HostCall::MemcpyAsync;
  if (Allocates != AddressOf || Argument > (Copies ? 1u : 0u))
    return false;
  if (Known->Api == HostCall::HostMemset && (Graph.scalars() || !Caller || runsOnDevice(Caller) || !resultIsUnused(Call)))
    return false;
  // A list in braces has no type that a helper could take it by.
  if ((Known->Api == HostCall::Prefetch || Known->Api == HostCall::Advise) &&
      (Graph.scalars() || llvm::any_of(Call->arguments(), [](const Expr *A) { return isa<InitListExpr>(A->IgnoreImplicit()); })))
    return false;

  auto Macro = [&] {
    refuse(P, E->getExprLoc(), std::string("this call") + View.whyNoRange(E->getExprLoc()));
    return true;
  };
  HostCall Site;
  Site.What = Known->Api;
  Site.Where = View.where(Call->getExprLoc());
  std::optional<Range> Name_ = View.range(Call->getCallee()->getSourceRange());
  std::optional<Range> Whole = View.range(E->getSourceRange());
  if (!Name_ || !Whole)
    return Macro();
  Site.Callee = *Name_;
  if (Graph.scalars()) {
    Site.Whole = View.range(Call->getSourceRange());
    if (Known->Bytes >= 0 && unsigned(Known->Bytes) < Call->getNumArgs())
      Site.Count = View.range(Call->getArg(Known->Bytes)->getSourceRange());
    Site.Statement = checkedStatement(Call, Context, View);
    Surroundings Around = surroundings(Call, Context);
    Site.Certain = Around.Certain;
    if (Around.Block)
      Site.Block = View.range(Around.Block->getSourceRange());
  }
  HostCall::Pointer Place;
  Place.Argument = Argument;
  Place.Whole = *Whole;
  if (AddressOf) {
    // "(void **)&d": the helper wants &d.
    const Expr *Plain = E->IgnoreParenCasts();
    Place.Plain = View.range(Plain->getSourceRange());
    if (!Place.Plain)
      return Macro();
  } else {
    std::optional<Element> What = elementOf(P, E->getExprLoc());
    if (!What)
      return true;
    Place.What = *What;
  }
  Site.Pointers.push_back(std::move(Place));
  std::vector<HostCall> &Sites = Graph.facts(P.Node).Sites.Calls;
  const Expr *Bytes = Known->Bytes >= 0 && unsigned(Known->Bytes) < Call->getNumArgs() ? Call->getArg(Known->Bytes) : nullptr;
  Facts.Calls.push_back({P.Node, Sites.size(), Call, Bytes});
  Sites.push_back(std::move(Site));

  // Device to device: both sides are one array, or each is converted by itself
  // through a layout that neither has.
  if (Copies) {
    const Expr *Other = Call->getArg(1 - Argument)->IgnoreParenCasts();
    while (const BinaryOperator *B = dyn_cast<BinaryOperator>(Other)) {
      if (!B->isAdditiveOp())
        break;
      Other = (B->getLHS()->getType()->isPointerType() ? B->getLHS() : B->getRHS())->IgnoreParenCasts();
    }
    std::optional<NodeId> Node = Graph.node(Other);
    if (const CallExpr *Value = dyn_cast<CallExpr>(Other); Value && Value->getDirectCallee())
      Node = Graph.result(Value->getDirectCallee());
    const DeclRefExpr *K = Call->getNumArgs() > 3 ? dyn_cast<DeclRefExpr>(Call->getArg(3)->IgnoreParenImpCasts()) : nullptr;
    llvm::StringRef Kind = K && isa<EnumConstantDecl>(K->getDecl()) ? K->getDecl()->getName() : "";
    if (Node && Kind == "cudaMemcpyDeviceToDevice")
      Graph.unite(P.Node, *Node);
    else if (Node && Kind != "cudaMemcpyHostToDevice" && Kind != "cudaMemcpyDeviceToHost")
      refuse(P, Call->getExprLoc(), "the direction of this copy is not written in the call");
  }
  return true;
}

} // namespace restride

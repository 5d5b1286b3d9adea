#include "analysis/program/Around.h"
#include "analysis/program/FieldCopyCode.h"
#include "analysis/program/FunctionVisitor.h"
#include "analysis/program/Launches.h"
#include "analysis/program/Objects.h"
#include "analysis/program/UnitVisitor.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/ParentMapContext.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace restride {

/// `f(buffer)` of a class that converts to a pointer: it goes on as it is. `buffer[i]`, `if (buffer)` and
/// `buffer.operator T *()` do not.
static bool goesOn(const Expr *Converted, ASTContext &Context) {
  const Stmt *Child = Converted;
  if (const CastExpr *Implicit = dyn_cast_or_null<ImplicitCastExpr>(parentOf(Converted, Context)); !Implicit || Implicit->getCastKind() != CK_UserDefinedConversion)
    return false;
  for (;;) {
    auto Parents = Context.getParents(*Child);
    const Stmt *Parent = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
    if (!Parent)
      return !Parents.empty() && Parents[0].get<VarDecl>();
    if (const ImplicitCastExpr *Cast = dyn_cast<ImplicitCastExpr>(Parent); Cast && !Cast->getType()->isPointerType())
      return false;
    if (isa<ImplicitCastExpr, ExprWithCleanups, MaterializeTemporaryExpr>(Parent)) {
      Child = Parent;
      continue;
    }
    const BinaryOperator *B = dyn_cast<BinaryOperator>(Parent);
    return isa<ReturnStmt, InitListExpr>(Parent) || (isa<CallExpr>(Parent) && !isa<CXXOperatorCallExpr>(Parent)) || (B && B->getOpcode() == BO_Assign && B->getRHS() == Child);
  }
}

namespace {

class UseVisitor : public FunctionVisitor {
public:
  UseVisitor(Unit &U, const SourceView &View, Flow &Graph, ASTContext &Context)
      : U(U), View(View), Graph(Graph), Context(Context), Classifier(Context, View, Graph, U.Facts), Objects(Context, View, Graph) {}

  bool VisitExpr(Expr *E) override {
    Objects.expression(E, Function);
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *E) override { return reference(E, E->getDecl()); }
  bool VisitMemberExpr(MemberExpr *E) override { return reference(E, E->getMemberDecl()); }
  bool VisitCallExpr(CallExpr *E) override {
    const FunctionDecl *Callee = E->getDirectCallee();
    if (inTemplate() || !Callee)
      return true;
    Classifier.enter(functionAround(Function));
    if (std::optional<NodeId> Node = Graph.result(Callee)) {
      Classifier.callResult(E, *Node);
      if (isa<CXXConversionDecl>(Callee) && !goesOn(E, Context))
        Graph.refuse(*Node, E->getExprLoc(), "an object is converted to a pointer and used here; give it to a pointer first");
    }
    if (fieldCopyRecord(Callee, View))
      return true;
    for (unsigned I = 0; I < std::min(E->getNumArgs(), Callee->getNumParams()); ++I)
      if (std::optional<NodeId> Node = Graph.node(Callee->getParamDecl(I)); Node && !isa<CXXOperatorCallExpr>(E) && !isa<CXXDefaultArgExpr>(E->getArg(I)))
        Classifier.passed(E, E->getArg(I), *Node);
    return true;
  }
  bool VisitReturnStmt(ReturnStmt *R) override {
    Classifier.enter(functionAround(Function));
    if (!inTemplate() && Function && R->getRetValue())
      if (std::optional<NodeId> Node = Graph.result(Function))
        Classifier.flowInto(*Node, R->getRetValue());
    return true;
  }
  bool VisitVarDecl(VarDecl *V) override {
    if (!inTemplate() && !isa<ParmVarDecl>(V) && V->getInit())
      Initialised.push_back(V);
    return true;
  }
  bool VisitParmVarDecl(ParmVarDecl *P) override {
    if (!inTemplate() && P->hasDefaultArg() && !P->hasUninstantiatedDefaultArg())
      Initialised.push_back(P);
    return true;
  }
  bool VisitCXXForRangeStmt(CXXForRangeStmt *Loop) override {
    const Expr *Range = inTemplate() || !Loop->getRangeInit() ? nullptr : Loop->getRangeInit()->IgnoreParens();
    std::optional<NodeId> Array = Range && isa<DeclRefExpr, MemberExpr>(Range) ? Graph.node(Range) : std::nullopt;
    std::optional<NodeId> One = Array && Graph.facts(*Array).Several ? Graph.node(Loop->getLoopVariable()) : std::nullopt;
    if (One) {
      Graph.unite(*Array, *One);
      Entries.insert(Loop->getLoopVariable());
    }
    return true;
  }
  bool VisitInitListExpr(InitListExpr *L) override {
    Classifier.enter(functionAround(Function));
    if (!inTemplate())
      initialises(L->getSemanticForm() ? L->getSemanticForm() : L);
    return true;
  }
  bool VisitCXXParenListInitExpr(CXXParenListInitExpr *L) override {
    const CXXRecordDecl *Record = inTemplate() ? nullptr : L->getType()->getAsCXXRecordDecl();
    for (const FieldDecl *F : Record ? Record->fields() : RecordDecl::field_range({}, {}))
      if (std::optional<NodeId> Node = Graph.node(F))
        Graph.refuse(*Node, L->getExprLoc(), "an initialiser list sets members by their position");
    return true;
  }
  bool VisitCXXConstructorDecl(CXXConstructorDecl *C) override {
    Classifier.enter(C);
    if (!C->isDependentContext())
      for (const CXXCtorInitializer *I : C->inits())
        if (std::optional<NodeId> Node = I->getMember() && I->isWritten() ? Graph.node(I->getMember()) : std::nullopt)
          Classifier.flowInto(*Node, I->getInit());
    return true;
  }
  bool VisitFieldDecl(FieldDecl *F) override {
    Classifier.enter(nullptr);
    const Expr *Init = F->hasInClassInitializer() ? F->getInClassInitializer() : nullptr;
    std::optional<NodeId> Node = Graph.node(F);
    if (const CXXRecordDecl *Class = dyn_cast<CXXRecordDecl>(F->getParent()); Node && F->hasInClassInitializer() && !Init)
      if (const CXXRecordDecl *Pattern = Class->getTemplateInstantiationPattern()) // no constructor here needs it
        Init = (*std::next(Pattern->field_begin(), F->getFieldIndex()))->getInClassInitializer();
    if (Node && Init)
      Classifier.flowInto(*Node, Init);
    return true;
  }

  void finish() {
    for (const VarDecl *V : Initialised) {
      std::optional<NodeId> Node = Graph.node(V);
      if (!Node || U.Facts.Aliases.count(V) || Entries.count(V) || Graph.facts(*Node).Sites.declared())
        continue;
      const Expr *Init = isa<ParmVarDecl>(V) ? cast<ParmVarDecl>(V)->getDefaultArg() : V->getInit();
      Classifier.enter(functionAround(V->getDeclContext()));
      Classifier.flowInto(*Node, Init);
    }
    Classifier.readMethods();
  }

private:
  /// Which member each initialiser is for is in the semantic form, where inner
  /// braces that the source leaves out are lists too.
  void initialises(const InitListExpr *L) {
    const CXXRecordDecl *Record = L->getType()->getAsCXXRecordDecl();
    for (const Expr *Init : L->inits())
      if (const InitListExpr *Inner = dyn_cast_or_null<InitListExpr>(Init))
        initialises(Inner);
    if (!Record || !Record->isAggregate() || Record->isUnion())
      return;
    std::vector<NodeId> Members;
    if (const CXXRecordDecl *Holder = Graph.holder(Record))
      Members = Objects.initialised(L, Holder);
    auto Member = Members.begin();
    unsigned Given = 0; // by position
    for (unsigned I = 0; I < L->getNumInits(); ++I)
      if (L->getInit(I) && !isa<ImplicitValueInitExpr, CXXDefaultInitExpr>(L->getInit(I)))
        Given = I + 1;
    for (const FieldDecl *F : Record->fields()) {
      unsigned At = F->getFieldIndex() + Record->getNumBases();
      std::optional<NodeId> Node = Graph.node(F);
      if (Node && Member != Members.end())
        Node = *Member++;
      if (Node && Graph.scalars() && Given > 1 && Given > At)
        Graph.refuse(*Node, L->getExprLoc(), "an initialiser list sets members by their position");
      if (Node && At < L->getNumInits() && L->getInit(At) && !isa<ImplicitValueInitExpr, CXXDefaultInitExpr>(L->getInit(At)))
        Classifier.initialises(*Node, F, L->getInit(At));
    }
  }

  bool reference(const Expr *E, const ValueDecl *D) {
    if (inTemplate()) {
      if (std::optional<NodeId> Node = isa<VarDecl, FieldDecl>(D) ? Graph.node(D) : std::nullopt)
        U.Facts.InTemplates.push_back({E->getExprLoc(), *Node});
      return true;
    }
    U.Facts.Explained.insert(E->getExprLoc().getRawEncoding());
    Classifier.enter(functionAround(Function));
    Classifier.reference(E, D);
    return true;
  }

  Unit &U;
  const SourceView &View;
  Flow &Graph;
  ASTContext &Context;
  UseClassifier Classifier;
  ObjectClassifier Objects;
  std::vector<const VarDecl *> Initialised;
  llvm::SmallPtrSet<const VarDecl *, 4> Entries; ///< of arrays of pointers, one after the other
};

} // namespace

void collectUses(Unit &U, const SourceView &View, Flow &Graph, ASTContext &Context) {
  UseVisitor V(U, View, Graph, Context);
  for (Decl *D : U.Scope)
    if (!isFieldCopyCode(D, View))
      V.TraverseDecl(D);
  V.finish();
  for (NodeId Node : U.Facts.DeviceUses)
    for (const FunctionDecl *Kernel : U.Kernels)
      Graph.facts(Node).Kernels.push_back({mangledKernel(Kernel, Context)});
  // What no instantiation shows is not known: a template nobody uses, a branch
  // of `if constexpr` that is never taken.
  for (const auto &[L, Node] : U.Facts.InTemplates)
    if (!U.Facts.Explained.count(L.getRawEncoding()))
      Graph.refuse(Node, L, "this use is in a template, or a part of one, that is not instantiated");
}

} // namespace restride

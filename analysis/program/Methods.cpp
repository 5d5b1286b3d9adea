// Member functions that change an element in place. In another layout there is
// no object they could be called on, so each is written a second time, as a
// function of the pointer and the index:
//
//   void move(float dt) { x += dt * vx; }
//   void PSoA_move(PSoA p, ptrdiff_t i, float dt) { p.x[i] += dt * p.vx[i]; }
//
// The body's accesses to its object are sites like those of a kernel: `this` is
// a pointer to element i. Operators outside of the class, as `operator+=(P &a, P b)`,
// are the same with their first parameter.

#include "analysis/program/MethodNames.h"
#include "analysis/program/Purity.h"
#include "analysis/program/Uses.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/CharInfo.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

/// What generated functions for operators are called.
static constexpr std::pair<OverloadedOperatorKind, llvm::StringRef> OperatorNames[] = {
    {OO_Equal, "assign"},        {OO_PlusEqual, "add"},      {OO_MinusEqual, "subtract"}, {OO_StarEqual, "multiply"},
    {OO_SlashEqual, "divide"},   {OO_PercentEqual, "modulo"}, {OO_PlusPlus, "increment"},  {OO_MinusMinus, "decrement"},
    {OO_Subscript, "subscript"}, {OO_Call, "call"},
};

static std::string methodName(const FunctionDecl *F) {
  if (F->getDeclName().isIdentifier())
    return F->getName().str();
  for (auto [Kind, Name] : OperatorNames)
    if (F->getOverloadedOperator() == Kind)
      return Name.str();
  return "";
}

/// Identifiers of the source text at \p R, comments included.
static std::set<llvm::StringRef> words(llvm::StringRef Text) {
  std::set<llvm::StringRef> Out;
  while (!Text.empty()) {
    size_t Length = Text.take_while([](char C) { return isAsciiIdentifierContinue(C); }).size();
    if (Length)
      Out.insert(Text.take_front(Length));
    Text = Text.drop_front(std::max<size_t>(Length, 1));
  }
  return Out;
}

namespace {

/// Walks over one body.
class MethodReader : public DynamicRecursiveASTVisitor {
public:
  MethodReader(UseClassifier &Classifier, const SourceView &View, Flow &Graph, ASTContext &Context, const FunctionDecl *F, NodeId Node)
      : Classifier(Classifier), View(View), Graph(Graph), Context(Context), F(F), Node(Node), Class(Graph.decl(Graph.facts(Node).Record)) {
    if (!isa<CXXMethodDecl>(F))
      Receiver = F->getParamDecl(0);
  }

  Method run() {
    Out.Name = methodName(F);
    Out.Where = View.where(F->getLocation());
    if (std::string Why = objection(); !Why.empty())
      return refuse(F->getLocation(), Why), std::move(Out);
    head();
    if (Out.Refusals.empty())
      TraverseStmt(F->getBody());
    for (const ParmVarDecl *P : F->parameters()) {
      if (P == Receiver)
        continue;
      if (Graph.node(P))
        refuse(P->getLocation(), "takes a pointer to records");
      TraverseTypeLoc(P->getTypeSourceInfo()->getTypeLoc());
      if (P->hasDefaultArg())
        TraverseStmt(const_cast<ParmVarDecl *>(P)->getDefaultArg());
    }
    takeSites();
    return std::move(Out);
  }

  bool VisitCXXThisExpr(CXXThisExpr *E) override {
    const Stmt *S = consumer(E);
    if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(S); U && U->getOpcode() == UO_Deref)
      return object(E, U);
    if (!isa_and_nonnull<MemberExpr>(S))
      return refuse(E->getExprLoc(), "keeps or passes on 'this'");
    Classifier.object(E, Node, Out.Pointer, Out.Index);
    return true;
  }
  bool VisitReturnStmt(ReturnStmt *R) override {
    return !ReturnsSelf || isObject(R->getRetValue()) ||
           refuse(R->getReturnLoc(), "returns a reference to its class that is not always its object");
  }
  bool VisitLambdaExpr(LambdaExpr *E) override { return refuse(E->getBeginLoc(), "has a lambda in it"); }
  bool VisitVarDecl(VarDecl *V) override {
    if (V->isStaticLocal() || V->hasAttr<CUDASharedAttr>())
      return refuse(V->getLocation(), "has a static variable");
    return !Graph.node(V) || refuse(V->getLocation(), "holds a pointer to records");
  }
  bool VisitMemberExpr(MemberExpr *E) override {
    if (Graph.node(E->getMemberDecl()))
      return refuse(E->getExprLoc(), "uses a pointer to records");
    bool Own = isa<CXXThisExpr>(E->getBase()->IgnoreParenImpCasts()) || isObject(E->getBase());
    if (isa<VarDecl>(E->getMemberDecl()) || (isa<CXXMethodDecl>(E->getMemberDecl()) && cast<CXXMethodDecl>(E->getMemberDecl())->isStatic()))
      return refuse(E->getExprLoc(), "reaches a static member through an object");
    return Own || isReachable(E->getMemberDecl(), E->getExprLoc());
  }
  bool VisitCXXConstructExpr(CXXConstructExpr *E) override { return isReachable(E->getConstructor(), E->getBeginLoc()); }
  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    const ValueDecl *D = E->getDecl();
    if (D == Receiver)
      return object(E, E);
    if (Graph.node(D))
      return refuse(E->getExprLoc(), "uses a pointer to records");
    if (!E->hasQualifier() && isa<FunctionDecl>(D) && D->getDeclContext()->isFileContext())
      Out.Callees.push_back(D->getNameAsString());
    return named(nameUse(E, Context), E->getQualifierLoc());
  }
  bool VisitTypedefTypeLoc(TypedefTypeLoc T) override { return named({T.getDecl(), T.getNameLoc()}, T.getQualifierLoc()); }
  bool VisitTagTypeLoc(TagTypeLoc T) override { return named({T.getDecl(), T.getNameLoc()}, T.getQualifierLoc()); }
  bool VisitUsingTypeLoc(UsingTypeLoc T) override { return named({T.getDecl(), T.getNameLoc()}, T.getQualifierLoc()); }
  bool VisitTemplateSpecializationTypeLoc(TemplateSpecializationTypeLoc T) override {
    const TemplateDecl *D = T.getTypePtr()->getTemplateName().getAsTemplateDecl();
    return !D || named({D, T.getTemplateNameLoc()}, T.getQualifierLoc());
  }

  std::vector<NameUse> Names; ///< at namespace scope, in the body and the parameters

private:
  /// What takes the value of \p E.
  const Stmt *consumer(const Expr *E) const {
    for (;;) {
      auto Parents = Context.getParents(*E);
      const Stmt *S = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
      if (!S || !(isa<ParenExpr>(S) || (isa<ImplicitCastExpr>(S) && cast<CastExpr>(S)->getCastKind() != CK_LValueToRValue)))
        return S;
      E = cast<Expr>(S);
    }
  }

  bool isObject(const Expr *E) const {
    E = E->IgnoreParenImpCasts();
    if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
      return Receiver && R->getDecl() == Receiver;
    const UnaryOperator *U = dyn_cast<UnaryOperator>(E);
    return U && U->getOpcode() == UO_Deref && isa<CXXThisExpr>(U->getSubExpr()->IgnoreParenImpCasts());
  }

  /// \p Object is `*this` or the parameter that stands for it.
  bool object(const Expr *E, const Expr *Object) {
    const Stmt *S = consumer(Object);
    if (const ReturnStmt *R = dyn_cast_or_null<ReturnStmt>(S); R && ReturnsSelf)
      return addReturn(R);
    if (const UnaryOperator *U = dyn_cast_or_null<UnaryOperator>(S); U && U->getOpcode() == UO_AddrOf)
      return refuse(E->getExprLoc(), "keeps or passes on its object's address");
    Classifier.object(E, Node, Out.Pointer, Out.Index);
    return true;
  }

  /// Always false: the walk ends.
  bool refuse(SourceLocation L, std::string Why) {
    Out.Refusals.push_back({"", View.where(L), "'" + F->getNameAsString() + "' works on an element in place, and " + std::move(Why)});
    return false;
  }

  std::string objection() {
    if (Out.Name.empty())
      return "generated code has no name for it";
    const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(F);
    bool Plain = M ? !M->isVirtual() && !M->isVolatile() && !M->isStatic() && !isa<CXXConstructorDecl, CXXDestructorDecl>(M)
                   : Receiver->getType()->isLValueReferenceType() && !Receiver->getType()->getPointeeType().isConstQualified();
    if (!Plain || F->isVariadic())
      return "only plain member functions and operators can be written for another layout";
    if (Class->getName().empty() && !Class->getTypedefNameForAnonDecl())
      return "its class has no name";
    if (F->isTemplateInstantiation() || isa<ClassTemplateSpecializationDecl>(Class))
      return "is a template";
    if (!F->doesThisDeclarationHaveABody() || F->isDefaulted() || F->isDeleted())
      return "its body is not seen";
    std::optional<Range> Body = View.range(F->getBody()->getSourceRange());
    if (!Body)
      return "its body" + std::string(View.whyNoRange(F->getLocation()));
    Out.Body = *Body;
    for (llvm::StringRef Line : llvm::split(View.text(*Body), '\n'))
      if (Line.ltrim().starts_with("#"))
        return "has preprocessor directives in it";
    return "";
  }

  /// Everything in front of the body, and names for the new parameters.
  void head() {
    std::set<llvm::StringRef> Taken = words(View.text(Out.Body));
    for (const ParmVarDecl *P : F->parameters()) {
      if (P == Receiver)
        continue;
      std::optional<Range> R = View.range(P->getSourceRange());
      if (!R || P->isParameterPack() || (F->getFirstDecl() != F && F->getFirstDecl()->getParamDecl(P->getFunctionScopeIndex())->hasDefaultArg()))
        return (void)refuse(P->getLocation(), "its parameters cannot be written a second time");
      Out.Parameters.push_back(*R);
      Taken.merge(words(View.text(*R)));
    }
    auto Free = [&](const char *Name) {
      std::string Out = Name;
      for (unsigned I = 2; Taken.count(Out); ++I)
        Out = Name + std::to_string(I);
      return Out;
    };
    Out.Pointer = Free("p"), Out.Index = Free("i");
    PrintingPolicy Policy(Context.getLangOpts());
    Policy.SuppressUnwrittenScope = true;
    Policy.SuppressTagKeyword = Policy.FullyQualifiedName = Policy.Bool = true;
    QualType Result = F->getReturnType();
    ReturnsSelf = Result->isLValueReferenceType() && Result->getPointeeType()->getAsCXXRecordDecl() == Class;
    Out.Result = ReturnsSelf ? "void" : Result.getAsString(Policy);
    if (Result->isPointerType() && Result->getPointeeType()->isFunctionType())
      return (void)refuse(F->getLocation(), "returns a pointer to a function");
    if (F->hasAttr<CUDAHostAttr>() && F->hasAttr<CUDADeviceAttr>())
      Out.Attributes = "__host__ __device__ ";
    else if (F->hasAttr<CUDADeviceAttr>())
      Out.Attributes = "__device__ ";
    Out.Inline = F->hasAttr<AlwaysInlineAttr>() ? "__forceinline__" : F->hasAttr<NoInlineAttr>() ? "__noinline__" : "inline";
    bool Mutable = llvm::any_of(Class->fields(), [](const FieldDecl *D) { return D->isMutable(); });
    Out.Const = isa<CXXMethodDecl>(F) && cast<CXXMethodDecl>(F)->isConst() && !Mutable;
    Out.Class = qualifiedName(Class);
    for (const ParmVarDecl *P : F->parameters())
      if (P != Receiver)
        Out.Types += P->getType().getCanonicalType().getAsString() + ",";
  }

  bool addReturn(const ReturnStmt *R) {
    std::optional<Range> Text = View.range(R->getSourceRange());
    llvm::StringRef After = Text ? View.buffer().substr(Text->End) : "";
    if (!After.ltrim().starts_with(";"))
      return refuse(R->getReturnLoc(), "its return is written by a macro");
    Text->End += After.find(';') + 1;
    Out.Returns.push_back(*Text);
    return true;
  }

  /// The class that \p D is a member of; an enumerator is one of the class around it.
  static const DeclContext *classOf(const Decl *D) {
    const DeclContext *C = D->getDeclContext();
    while (C && isa<EnumDecl>(C) && !cast<EnumDecl>(C)->isScoped())
      C = C->getParent();
    return C && isa<CXXRecordDecl>(C) ? C : nullptr;
  }

  /// Generated code can use \p D outside of the class, or as a friend of it.
  bool isReachable(const Decl *D, SourceLocation L) {
    if (D->getAccess() == AS_public || D->getAccess() == AS_none)
      return true;
    Out.NeedsFriend = true;
    return classOf(D) == Class || refuse(L, "uses a member that is not public");
  }

  /// The class's own static members and types need its name in front elsewhere.
  bool named(const NameUse &Use, NestedNameSpecifierLoc Qualifier) {
    const NamedDecl *D = Use.D;
    if (const DeclContext *Around = classOf(D)) {
      const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(D);
      if (!isReachable(D, Use.Where) || Qualifier || (M && !M->isStatic()))
        return true;
      std::optional<Range> R = View.range(Use.Where);
      if (!R || Around != Class)
        return refuse(Use.Where, "names a member of its class in a macro");
      Out.Names.push_back({*R, Out.Class + "::"});
      return true;
    }
    const NamedDecl *Namespace = leadingNamespace(Qualifier);
    if (Namespace)
      Names.push_back({Namespace, Qualifier.getBeginLoc(), false, true});
    else if (!Qualifier && D->getDeclContext()->isFileContext())
      Names.push_back(Use);
    return true;
  }

  void takeSites() {
    Candidate &Sites = Graph.facts(Node).Sites;
    bool Other = !Sites.Nulls.empty() || !Sites.Tests.empty() || !Sites.Aliases.empty() || !Sites.Shifts.empty() || !Sites.Places.empty() || !Sites.Arguments.empty() ||
                 !Sites.Calls.empty() || !Graph.facts(Node).Origins.empty();
    if (Other)
      refuse(F->getLocation(), "keeps or passes on its object");
    for (Refusal &R : Sites.Refusals)
      Out.Refusals.push_back({"", R.Where, "'" + F->getNameAsString() + "' works on an element in place: " + R.Reason});
    for (const Access &A : Sites.Accesses)
      if (A.K == Access::PartStore && llvm::any_of(A.Path, [](const Step &S) { return !S.Subscripts.empty(); }))
        Out.Refusals.push_back({"", A.Where, "'" + F->getNameAsString() + "' works on an element in place, and stores an element of a member array of records as a whole"});
    Out.Accesses = std::move(Sites.Accesses);
    Out.Calls = std::move(Sites.MemberCalls);
    Out.Sizes = std::move(Sites.Sizes);
    Sites = {};
    Graph.facts(Node).Origins.clear();
  }

  UseClassifier &Classifier;
  const SourceView &View;
  Flow &Graph;
  ASTContext &Context;
  const FunctionDecl *F;
  NodeId Node;
  const CXXRecordDecl *Class;
  const ParmVarDecl *Receiver = nullptr; ///< the object of a function that is no member
  bool ReturnsSelf = false;
  Method Out;
};

} // namespace

void UseClassifier::object(const Expr *E, NodeId Node, const std::string &PointerName, const std::string &IndexName) {
  Pointer P;
  P.Node = Node;
  P.BaseName = PointerName;
  P.Terms.push_back({nullptr, IndexName, false});
  isa<CXXThisExpr>(E) ? pointer(E, P) : element(E, P);
}

void UseClassifier::readMethods() {
  struct Names {
    const FunctionDecl *F;
    std::vector<NameUse> Uses;
  };
  std::map<NodeId, Names> Read;
  // Reading one finds others that it calls.
  for (size_t I = 0; I < Facts.Methods.size(); ++I) {
    InPlaceCall Call = Facts.Methods[I];
    if (Read.count(Call.Object))
      continue;
    enter(Call.F);
    MethodReader Reader(*this, View, Graph, Context, Call.F, Call.Object);
    Method M = Reader.run();
    Read[Call.Object] = {Call.F, std::move(Reader.Names)};
    if (!Graph.facts(Call.Object).Body) // another unit may have read it
      Graph.facts(Call.Object).Body = std::move(M);
  }
  for (const auto &[Object, N] : Read) {
    for (const CXXRecordDecl *Home : homesOf(Object, Facts.Methods, Graph))
      checkNames(N.F, N.Uses, Home, View, *Graph.facts(Object).Body);
  }
}

} // namespace restride

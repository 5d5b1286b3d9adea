#include "analysis/program/Around.h"
#include "analysis/program/ContainerSize.h"
#include "analysis/program/FieldCopyCode.h"
#include "analysis/program/FunctionVisitor.h"
#include "analysis/program/Launches.h"
#include "analysis/program/Returned.h"
#include "analysis/program/UnitVisitor.h"

#include "clang/AST/ASTLambda.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

namespace {

class DeclarationVisitor : public FunctionVisitor {
public:
  DeclarationVisitor(Unit &U, const SourceView &View, Flow &Graph, DeclarationTable &Table, ASTContext &Context)
      : U(U), View(View), Graph(Graph), Table(Table), Context(Context) {}

  bool VisitDeclaratorDecl(DeclaratorDecl *D) override {
    if (D->getDeclName().isIdentifier())
      U.Facts.Names.insert(D->getName().str());
    if (!isa<VarDecl, FieldDecl>(D) || D->isImplicit() || inTemplate())
      return true;
    if (const VarDecl *V = dyn_cast<VarDecl>(D); V && V->isStaticLocal() && !V->hasAttr<CUDASharedAttr>() && Function)
      Graph.functions()[Graph.owner(Function)].Fixed = "has a static variable";
    std::optional<NodeId> Node = Graph.node(D);
    Table.add(D);
    if (const FieldDecl *F = dyn_cast<FieldDecl>(D))
      member(F);
    if (!Node)
      return true;
    if (isa<ParmVarDecl>(D) && isLambdaCallOperator(D->getDeclContext()))
      Graph.refuse(*Node, D->getLocation(), "'" + D->getName().str() + "' is a parameter of a lambda, whose calls are not followed; make it a function");
    QualType T = D->getType().getNonReferenceType();
    if (T.isVolatileQualified() || (T->isPointerType() && T->getPointeeType().isVolatileQualified()))
      Graph.refuse(*Node, D->getLocation(), "'" + D->getName().str() + "' is volatile");
    if (const FieldDecl *F = dyn_cast<FieldDecl>(D); F && F->getParent()->isUnion())
      Graph.refuse(*Node, D->getLocation(), "'" + D->getName().str() + "' is a member of a union");
    if (const VarDecl *V = dyn_cast<VarDecl>(D))
      variable(V, *Node);
    if (Graph.facts(*Node).Sites.declared())
      checkDeclaredArray(cast<VarDecl>(D), *Node, Graph, Context);
    else if (const VarDecl *V = dyn_cast<VarDecl>(D); V && inDeviceMemory(V))
      Graph.refuse(*Node, D->getLocation(), "'" + D->getName().str() + "' is a pointer in device memory");
    return true;
  }

  bool VisitFunctionDecl(FunctionDecl *F) override {
    if (F->isImplicit() || F->isDependentContext())
      return true;
    std::string Function = Graph.function(F);
    if (std::string Symbol = symbolOf(F); !Symbol.empty() && F->doesThisDeclarationHaveABody() && !F->isTemplateInstantiation())
      Graph.define(Symbol, F->getLocation());
    bool Tracked = false;
    if (std::optional<NodeId> Result = Graph.result(F)) {
      Tracked = true;
      Table.addResult(F, *Result);
      if (std::optional<NodeId> First = Graph.result(F->getFirstDecl()))
        Graph.unite(*Result, *First);
      if (F->isExternallyVisible())
        Graph.link(*Result, Function + "#result");
      if (!isSeen(F))
        Graph.require(*Result, Function, F->getLocation(), "the body of '" + F->getNameAsString() + "' is not seen");
    }
    for (unsigned I = 0; I < F->getNumParams(); ++I)
      if (std::optional<NodeId> Node = Graph.node(F->getParamDecl(I))) {
        Tracked = true;
        parameter(F, I, *Node, Function);
      }
    const std::string Owner = Graph.owner(F);
    if ((Tracked || !Graph.templateRecords(F).empty()) && Owner == Function)
      describe(F, Graph.functions()[Owner]);
    if (!isSeen(F)) {
      unseen(F, F, Function);
      for (const ParmVarDecl *P : F->parameters())
        unseen(F, P, Function);
    }
    if (F->hasAttr<CUDAGlobalAttr>() && F->isThisDeclarationADefinition()) {
      U.Kernels.push_back(F);
      for (unsigned I = 0; I < F->getNumParams(); ++I) {
        const ParmVarDecl *P = F->getParamDecl(I);
        KernelParameter Inside{mangledKernel(F, Context)};
        if (P->getType()->isRecordType())
          Inside.Struct = I;
        std::vector<NodeId> Members = Graph.members(P);
        if (Members.empty())
          memberPointers(P->getType(), Inside, 0);
        else
          objectPointers(P->getType()->getAsCXXRecordDecl(), Members, Inside);
      }
    }
    return true;
  }

  bool VisitClassTemplateSpecializationDecl(ClassTemplateSpecializationDecl *C) override {
    if (llvm::ArrayRef<RecordArgument> Records = Graph.templateRecords(C); !Records.empty() && C->hasDefinition())
      describe(C, Records, Graph.functions()[Graph.owner(C)]);
    return true;
  }

  bool VisitDeclRefExpr(DeclRefExpr *E) override {
    if (inTemplate())
      return true;
    if (const FunctionDecl *F = dyn_cast<FunctionDecl>(E->getDecl()))
      functionUsed(E, F);
    const VarDecl *V = dyn_cast<VarDecl>(E->getDecl());
    if (!V)
      return true;
    // Anything but reading its value may change it.
    const Stmt *Parent = nullptr;
    const Expr *Child = E;
    while (isa_and_nonnull<ParenExpr>(Parent = parentOf(Child, Context)))
      Child = cast<Expr>(Parent);
    const ImplicitCastExpr *Cast = dyn_cast_or_null<ImplicitCastExpr>(Parent);
    bool Reads = (Cast && Cast->getCastKind() == CK_LValueToRValue) || isa_and_nonnull<UnaryExprOrTypeTraitExpr>(Parent) ||
                 isa_and_nonnull<LambdaExpr>(Parent);
    if (Reads)
      return true;
    const BinaryOperator *B = dyn_cast_or_null<BinaryOperator>(Parent);
    bool Assigns = B && B->getOpcode() == BO_Assign && B->getLHS() == Child;
    // "extern int n;" and "int n = 8;" are one variable: E may name either.
    for (const VarDecl *Declared : V->redecls()) {
      unsigned Key = Declared->getLocation().getRawEncoding();
      U.Facts.Modified[Key].push_back(E);
      if (Assigns)
        U.Facts.Assigned[Key].push_back(B->getRHS());
    }
    return true;
  }

  bool VisitCallExpr(CallExpr *Call) override {
    const FunctionDecl *Callee = Call->getDirectCallee();
    if (inTemplate() || !Callee)
      return true;
    const FunctionDecl *Definition = nullptr;
    const bool IsSeen = View.isUserCode(Callee->getLocation()) && Callee->hasBody(Definition);
    if (IsSeen)
      U.Facts.CallsOf[Definition].push_back(Call);
    const llvm::ArrayRef<const Expr *> Arguments(Call->getArgs(), Call->getNumArgs());
    if (const CXXOperatorCallExpr *Operator = dyn_cast<CXXOperatorCallExpr>(Call)) {
      const CXXMethodDecl *Method = dyn_cast<CXXMethodDecl>(Callee);
      if (IsSeen && Operator->getOperator() == OO_Call && Method && Method->getParent()->isLambda())
        give(Definition, Arguments.drop_front(), U.Facts.Constructed);
      return true;
    }
    if (IsSeen)
      give(Definition, Arguments, U.Facts.Arguments);
    if (const CXXMemberCallExpr *Member = dyn_cast<CXXMemberCallExpr>(Call)) {
      if (const ValueDecl *Outer = resizedInsideBy(Member))
        U.Facts.ResizedInside[Outer->getLocation().getRawEncoding()].push_back(Member);
      else if (const ValueDecl *Container = resizedBy(Member))
        U.Facts.Resized[Container->getLocation().getRawEncoding()].push_back(Member);
    }
    if (const CXXConstructorDecl *Made = madeBy(Callee, Arguments.size()))
      give(Made, Arguments, U.Facts.Constructed);
    if (const CUDAKernelCallExpr *Launch = dyn_cast<CUDAKernelCallExpr>(Call))
      U.Facts.Launches.push_back(Launch);
    return true;
  }

  bool VisitCXXConstructExpr(CXXConstructExpr *C) override {
    const FunctionDecl *Definition = nullptr;
    if (!inTemplate() && View.isUserCode(C->getConstructor()->getLocation()) && C->getConstructor()->hasBody(Definition)) {
      U.Facts.ConstructionsBy[Definition].push_back(C);
      give(Definition, llvm::ArrayRef<const Expr *>(C->getArgs(), C->getNumArgs()), U.Facts.Constructed);
    }
    return true;
  }

private:
  /// Its body stands in this unit, if only in a template that nothing here calls.
  static bool isSeen(const FunctionDecl *F) {
    const FunctionDecl *Pattern = F->getTemplateInstantiationPattern();
    return F->isDefined() || (Pattern && Pattern->isDefined());
  }

  static void give(const FunctionDecl *Definition, llvm::ArrayRef<const Expr *> Arguments, llvm::DenseMap<const ParmVarDecl *, std::vector<const Expr *>> &To) {
    for (auto [P, Argument] : llvm::zip(Definition->parameters(), Arguments))
      To[P].push_back(Argument);
  }

  /// Another member can follow the last one of a struct.
  void member(const FieldDecl *F) {
    const CXXRecordDecl *Type = Graph.holder(dyn_cast<CXXRecordDecl>(F->getParent()));
    std::optional<Range> Text = Type && F->getFieldIndex() + 1 == unsigned(std::distance(Type->field_begin(), Type->field_end()))
                                    ? View.range(F->getSourceRange()) : std::nullopt;
    if (Text)
      Graph.holderOf(Type).End = behindSemicolon(View.buffer(), Text->End);
  }

  void variable(const VarDecl *V, NodeId Node) {
    if (std::optional<NodeId> First = Graph.node(V->getCanonicalDecl()))
      Graph.unite(Node, *First);
    std::string Symbol = V->hasGlobalStorage() && !V->isStaticLocal() ? symbolOf(V) : "";
    if (Symbol.empty())
      return;
    Graph.link(Node, Symbol);
    if (V->isThisDeclarationADefinition() == VarDecl::Definition && !V->isInline())
      Graph.define(Symbol, V->getLocation());
    if (V->hasExternalStorage() && !V->hasDefinition())
      Graph.require(Node, Symbol, V->getLocation(), "'" + V->getName().str() + "' is defined in another file");
  }

  void parameter(const FunctionDecl *F, unsigned I, NodeId Node, const std::string &Function) {
    const FunctionDecl *First = F->getFirstDecl();
    if (I < First->getNumParams())
      if (std::optional<NodeId> Other = Graph.node(First->getParamDecl(I)))
        Graph.unite(Node, *Other);
    if (F->isExternallyVisible())
      Graph.link(Node, Function + "#" + std::to_string(I));
    if (F->hasAttr<CUDAGlobalAttr>() && F->isThisDeclarationADefinition())
      Graph.facts(Node).Kernels.push_back({mangledKernel(F, Context), 0, I});
    if (const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(F); M && M->isVirtual())
      Graph.refuse(Node, F->getLocation(), "'" + F->getNameAsString() + "' is virtual");
    if (F->getTemplateSpecializationKind() == TSK_ExplicitInstantiationDefinition ||
        F->getTemplateSpecializationKind() == TSK_ExplicitInstantiationDeclaration)
      Graph.refuse(Node, F->getPointOfInstantiation(), "'" + F->getNameAsString() + "' is instantiated explicitly, with the pointer's type");
    if (!isSeen(F))
      Graph.require(Node, Function, F->getLocation(), "the body of '" + F->getNameAsString() + "' is not seen");
  }

  /// The function of \p Object, an object of which members are tracked, has no body here.
  void unseen(const FunctionDecl *F, const ValueDecl *Object, const std::string &Function) {
    for (NodeId Node : Graph.members(Object))
      Graph.require(Node, Function, F->getLocation(), "the body of '" + F->getNameAsString() + "' is not seen");
  }

  KernelParameter at(KernelParameter Inside, const FieldDecl *F) const {
    Inside.Offset += uint64_t(Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity());
    return Inside;
  }

  /// Pointers that a kernel gets inside of a struct, which \p Inside says how it gets.
  void memberPointers(QualType T, KernelParameter Inside, unsigned Depth) {
    T = T.getNonReferenceType();
    const CXXRecordDecl *D = (T->isPointerType() ? T->getPointeeType() : T)->getAsCXXRecordDecl();
    if (!D || !D->hasDefinition() || D->isDependentType() || D->getDefinition()->isInvalidDecl() || Depth > 4)
      return;
    for (const FieldDecl *F : D->getDefinition()->fields())
      if (std::optional<NodeId> Node = Graph.node(F)) {
        Graph.facts(*Node).Kernels.push_back(at(Inside, F));
        if (Graph.facts(*Node).Several)
          Graph.refuse(*Node, F->getLocation(), "'" + F->getName().str() + "' is an array of pointers that a kernel gets");
      } else if (!F->getType()->isPointerType())
        memberPointers(F->getType(), F->getType()->isRecordType() ? at(Inside, F) : KernelParameter{Inside.Kernel}, Depth + 1);
  }

  /// The same of an object of which \p Members, the pointers in their order, are followed.
  void objectPointers(const CXXRecordDecl *D, llvm::ArrayRef<NodeId> Members, const KernelParameter &Inside) {
    for (const FieldDecl *F : D->getDefinition()->fields())
      if (Graph.node(F)) {
        Graph.facts(Members.front()).Kernels.push_back(at(Inside, F));
        Members = Members.drop_front();
      }
  }

  /// From its template's head or first attribute to its last brace or semicolon.
  /// Macros may stand for what is in front of its name.
  std::optional<Range> textOf(const FunctionDecl *F) {
    const SourceManager &Manager = View.sourceManager();
    const FunctionTemplateDecl *Template = F->getDescribedFunctionTemplate();
    SourceLocation Begin = Manager.getExpansionLoc(Template ? Template->getBeginLoc() : F->getBeginLoc());
    for (const Attr *A : F->attrs())
      if (SourceLocation L = Manager.getExpansionLoc(A->getLocation()); !A->isInherited() && L.isValid() && Manager.isWrittenInSameFile(L, Begin))
        Begin = std::min(Begin, L);
    if (F->getLocation().isMacroID() || F->getEndLoc().isMacroID())
      return std::nullopt;
    std::optional<Range> Text = View.range({Begin, F->getEndLoc()});
    if (Text && !F->doesThisDeclarationHaveABody())
      Text->End = View.buffer().find(';', Text->End) + 1;
    return Text;
  }

  /// What is needed to write the function a second time, for other arrays.
  void describe(const FunctionDecl *F, FunctionFacts &Out) {
    Out.Name = F->getNameAsString();
    const FunctionDecl *Pattern = F->getTemplateInstantiationPattern();
    const FunctionDecl *Written = Pattern ? Pattern : F;
    std::optional<Range> Text = textOf(Written);
    if (Text && !llvm::is_contained(Out.Texts, *Text))
      Out.Texts.push_back(*Text);
    if (llvm::ArrayRef<RecordArgument> Records = Graph.templateRecords(F); Text && !Records.empty() && !Out.ForRecord) {
      Out.ForRecord = recordFunction(F, Records, View);
      for (const FunctionDecl *Other : Written->redecls())
        if (std::optional<Range> Here = textOf(Other); !Here)
          Text = std::nullopt;
        else if (!llvm::is_contained(Out.Texts, *Here))
          Out.Texts.push_back(*Here);
      llvm::sort(Out.Texts);
    }
    // An overload can follow a template in its class, where its records are known there.
    bool Overload = Out.ForRecord && Out.Texts.size() == 1 && !Out.ForRecord->How.Behind && !F->isOverloadedOperator();
    if (!Text)
      Out.Fixed = "is written by a macro or lies outside of the project";
    else if ((isa<CXXMethodDecl>(F) && !Overload) || F->isOverloadedOperator() || F->getFriendObjectKind())
      Out.Fixed = "is a member, an operator or a friend";
    else if (F->isExternC() || F->isMain())
      Out.Fixed = "is extern \"C\", of which there can be only one";
    else if (F->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
      Out.Fixed = "is a specialisation of a template";
  }

  /// What is needed to write the class for its records alone. What no unit calls needs no body.
  void describe(const ClassTemplateSpecializationDecl *C, llvm::ArrayRef<RecordArgument> Records, FunctionFacts &Out) {
    RecordTemplate Here = recordClass(C, Records, View);
    if (Out.Class)
      std::erase_if(Here.Unused, [&](const Range &R) { return !llvm::is_contained(Out.ForRecord->Unused, R); });
    Out.Name = C->getName().str();
    Out.Class = true;
    Out.ForRecord = std::move(Here);
    if (std::optional<Range> Text = restride::textOf(C, View))
      Out.Texts = {*Text};
    else
      Out.Fixed = "is written by a macro or lies outside of the project";
  }

  /// A function that is not called but handed around fixes its parameter types,
  /// except for the runtime's questions about kernels.
  void functionUsed(const DeclRefExpr *E, const FunctionDecl *F) {
    const Stmt *Parent = nullptr;
    const Expr *Child = E;
    for (;;) {
      auto Parents = Context.getParents(*Child);
      Parent = Parents.empty() ? nullptr : Parents[0].get<Stmt>();
      if (!Parent || !(isa<CastExpr, ParenExpr>(Parent) || (isa<UnaryOperator>(Parent) && cast<UnaryOperator>(Parent)->getOpcode() == UO_AddrOf)))
        break;
      Child = cast<Expr>(Parent);
    }
    const CallExpr *Call = dyn_cast_or_null<CallExpr>(Parent);
    if (Call && Call->getCallee() == Child)
      return;
    const FunctionDecl *Asked = Call ? Call->getDirectCallee() : nullptr;
    if (Asked && Asked->getDeclName().isIdentifier() && !View.isUserCode(Asked->getLocation()) &&
        (Asked->getName().starts_with("cudaFunc") || Asked->getName().starts_with("cudaOccupancy")))
      return;
    for (const FunctionDecl *Declared : F->redecls()) // the body has parameters of its own
      for (const ParmVarDecl *P : Declared->parameters())
        U.Facts.CalledUnseen.insert(P->getLocation().getRawEncoding());
    for (const ParmVarDecl *P : F->parameters())
      if (std::optional<NodeId> Node = Graph.node(P))
        Graph.refuse(*Node, E->getExprLoc(), "'" + F->getNameAsString() + "' is used as a function pointer");
    // A static method that says nothing of the array stays in the class that is written for the records alone.
    const bool Tracked = Graph.result(F) || llvm::any_of(F->parameters(), [&](const ParmVarDecl *P) { return Graph.node(P).has_value(); });
    if (Tracked || Graph.owner(F) == Graph.function(F))
      Graph.functions()[Graph.owner(F)].Fixed = "is used as a function pointer";
  }

  Unit &U;
  const SourceView &View;
  Flow &Graph;
  DeclarationTable &Table;
  ASTContext &Context;
};

} // namespace

void collectDeclarations(Unit &U, const SourceView &View, Flow &Graph, DeclarationTable &Table, ASTContext &Context) {
  DeclarationVisitor V(U, View, Graph, Table, Context);
  for (Decl *D : U.Scope)
    if (!isFieldCopyCode(D, View))
      V.TraverseDecl(D);
}

} // namespace restride

#include "analysis/program/Flow.h"

#include "analysis/program/Around.h"
#include "analysis/program/Owners.h"
#include "analysis/program/Purity.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Index/USRGeneration.h"

using namespace clang;

namespace restride {

const CXXRecordDecl *userRecord(QualType T, const SourceView &View) {
  const CXXRecordDecl *D = T->getAsCXXRecordDecl();
  if (!D || !D->hasDefinition() || D->isLambda())
    return nullptr;
  D = D->getDefinition();
  return View.isUserCode(D->getLocation()) ? D : nullptr;
}

const CXXRecordDecl *trackedPointee(QualType T, const SourceView &View) {
  T = T.getNonReferenceType();
  return T->isPointerType() ? userRecord(T->getPointeeType(), View) : nullptr;
}

bool inDeviceMemory(const Decl *D) { return D->hasAttr<CUDADeviceAttr>() || D->hasAttr<CUDAConstantAttr>() || D->hasAttr<CUDASharedAttr>(); }

const CXXRecordDecl *pointersTo(const ValueDecl *D, const SourceView &View) {
  const ArrayType *Array = D->getASTContext().getAsArrayType(D->getType()); // of any extent: `extern T *p[];` is the same variable
  return Array && !inDeviceMemory(D) && Array->getElementType()->isPointerType() ? trackedPointee(Array->getElementType(), View) : nullptr;
}

const CXXRecordDecl *addressedPointee(const ValueDecl *D, const SourceView &View) {
  const ParmVarDecl *P = dyn_cast<ParmVarDecl>(D);
  const FunctionDecl *F = P && P->getType()->isPointerType() ? dyn_cast<FunctionDecl>(P->getDeclContext()) : nullptr;
  const QualType Pointer = F ? P->getType()->getPointeeType() : QualType();
  return F && !runsOnDevice(F) && Pointer->isPointerType() && !Pointer.hasQualifiers() ? trackedPointee(Pointer, View) : nullptr;
}

/// A parameter `T &` of a free function. Where a copy does as well, and costs no more, the callers
/// pass one, and the function stays as it is.
static const CXXRecordDecl *trackedReferent(const ValueDecl *D, const SourceView &View) {
  const ParmVarDecl *P = dyn_cast<ParmVarDecl>(D);
  const FunctionDecl *F = P ? dyn_cast<FunctionDecl>(P->getDeclContext()) : nullptr;
  if (!F || isa<CXXMethodDecl>(F) || F->isOverloadedOperator() || !P->getType()->isLValueReferenceType() ||
      (takesCopies(P) && !searchesMembers(P)))
    return nullptr;
  return userRecord(P->getType().getNonReferenceType(), View);
}

const CXXRecordDecl *declaredArrayOf(const ValueDecl *D, const SourceView &View) {
  if (!isa<VarDecl>(D) || !D->getType()->isArrayType())
    return nullptr;
  if (!inDeviceMemory(D))
    return nullptr;
  return userRecord(QualType(D->getType()->getBaseElementTypeUnsafe(), 0), View);
}

std::string symbolOf(const NamedDecl *D) {
  llvm::SmallString<128> Usr;
  if (!D->isExternallyVisible() || index::generateUSRForDecl(D, Usr))
    return "";
  return Usr.str().str();
}

llvm::ArrayRef<RecordArgument> Flow::templateRecords(const FunctionDecl *F) {
  if (scalars() || !F->getPrimaryTemplate())
    return {};
  auto [At, New] = OfTemplates.try_emplace(F);
  if (New)
    At->second = recordArguments(F, *View);
  return At->second;
}

llvm::ArrayRef<RecordArgument> Flow::templateRecords(const ClassTemplateSpecializationDecl *C) {
  if (scalars())
    return {};
  auto [At, New] = OfTemplates.try_emplace(C);
  if (New)
    At->second = recordArguments(C, *View);
  return At->second;
}

const ClassTemplateSpecializationDecl *Flow::classForRecords(const DeclContext *C) {
  for (; C; C = C->getParent())
    if (const ClassTemplateSpecializationDecl *Class = dyn_cast<ClassTemplateSpecializationDecl>(C); Class && !templateRecords(Class).empty())
      return Class;
  return nullptr;
}

std::string Flow::madeFor(const DeclContext *C) {
  std::string Out;
  auto add = [&](llvm::ArrayRef<RecordArgument> Records) {
    for (const RecordArgument &A : Records)
      Out += "<" + std::to_string(A.Position) + "=" + std::to_string(record(A.Record)) + ">";
  };
  if (const FunctionDecl *F = functionAround(C))
    add(templateRecords(F));
  if (const ClassTemplateSpecializationDecl *Class = classForRecords(C))
    add(templateRecords(Class));
  return Out;
}

std::string Flow::key(const NamedDecl *D) {
  if (std::string Symbol = symbolOf(D); !Symbol.empty())
    return Symbol;
  Place At = View->place(D->getLocation());
  return std::to_string(At.Expansion) + ":" + std::to_string(At.Spelling);
}

std::string Flow::function(const FunctionDecl *F) {
  const FunctionDecl *Pattern = F->getTemplateInstantiationPattern();
  return key((Pattern ? Pattern : F)->getCanonicalDecl()) + madeFor(F);
}

std::string Flow::owner(const DeclContext *C) {
  if (const ClassTemplateSpecializationDecl *Class = classForRecords(C))
    return key(Class->getSpecializedTemplate()->getCanonicalDecl()) + madeFor(Class);
  const FunctionDecl *F = functionAround(C);
  return F ? function(F) : "";
}

unsigned Flow::record(const CXXRecordDecl *D) {
  std::string Name;
  llvm::raw_string_ostream OS(Name);
  D->getNameForDiagnostic(OS, D->getASTContext().getPrintingPolicy(), true);
  auto [At, New] = RecordIds.try_emplace({View->place(D->getLocation()), Name}, Records.size());
  if (New)
    Records.emplace_back();
  Decls[At->second] = D->getCanonicalDecl();
  return At->second;
}

const CXXRecordDecl *Flow::decl(unsigned Id) const {
  auto At = Decls.find(Id);
  return At == Decls.end() ? nullptr : At->second->getDefinition();
}

unsigned Flow::scalar(QualType T) {
  std::string Name = T.getAsString(View->options());
  auto [At, New] = RecordIds.try_emplace({Place{}, Name}, Records.size());
  if (New)
    Records.emplace_back().Facts.Type.Name = Name;
  Scalars[At->second] = T.getTypePtr();
  return At->second;
}

/// The number behind a `float *`, `const float4 *` or `double []`.
std::optional<unsigned> Flow::scalarPointee(QualType T) {
  T = T.getNonReferenceType();
  if (!T->isPointerType())
    return std::nullopt;
  QualType Pointee = T->getPointeeType().getCanonicalType().getUnqualifiedType();
  const CXXRecordDecl *D = Pointee->getAsCXXRecordDecl();
  bool Vector = D && D->hasDefinition() && D->isTrivial() && D->getIdentifier() && !View->isUserCode(D->getLocation()) &&
                llvm::isDigit(D->getName().back()) && D->getDeclContext()->isTranslationUnit();
  if (!Pointee->isArithmeticType() && !Vector)
    return std::nullopt;
  return scalar(Pointee);
}

QualType Flow::type(unsigned Id) const {
  if (auto At = Scalars.find(Id); At != Scalars.end())
    return QualType(At->second, 0);
  const CXXRecordDecl *D = decl(Id);
  return D ? D->getASTContext().getCanonicalTagType(D) : QualType();
}

NodeId Flow::object(const FunctionDecl *F, const CXXRecordDecl *Class) {
  return make(F->getLocation(), Object, record(Class), F->getNameAsString(), F);
}

Holder &Flow::holderOf(const CXXRecordDecl *T) { return Holders[View->place(T->getLocation())]; }

NodeId Flow::make(SourceLocation L, Kind K, unsigned Record, std::string Name, const DeclContext *Around, Place Object) {
  auto [At, New] = Ids.try_emplace({View->place(L), K, Object, madeFor(Around)}, Facts.size());
  if (!New) {
    if (Facts[At->second].Record != Record) // a template over the record
      refuse(At->second, L, "'" + Name + "' is declared for several record types by a template");
    return At->second;
  }
  Parent.push_back(At->second);
  NodeFacts &F = Facts.emplace_back();
  F.Record = Record;
  F.Name = std::move(Name);
  F.Where = View->where(L);
  F.Owner = owner(Around);
  if (const FunctionDecl *Function = functionAround(Around)) {
    F.Function = Function->getNameAsString();
    F.Scope = View->range(Function->getSourceRange());
  }
  return At->second;
}

const FunctionDecl *functionAround(const DeclContext *C) {
  for (; C; C = C->getParent())
    if (const FunctionDecl *F = dyn_cast<FunctionDecl>(C)) {
      const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(F);
      if (!M || !M->getParent()->isLambda())
        return F;
    }
  return nullptr;
}

std::optional<NodeId> Flow::node(const ValueDecl *D) {
  if (!isa<VarDecl, FieldDecl>(D) || !View->isUserCode(D->getLocation()))
    return std::nullopt;
  if (scalars()) {
    std::optional<unsigned> Pointee = scalarPointee(D->getType());
    if (!Pointee)
      return std::nullopt;
    return declared(D, *Pointee);
  }
  bool ToElement = false, Array = false, Several = false, ByAddress = false, Owns = false;
  const CXXRecordDecl *Record = trackedPointee(D->getType(), *View);
  if (const VarDecl *V = dyn_cast<VarDecl>(D); V && !Record)
    Record = Untyped.lookup(V);
  const auto is = [&](bool &Kind, const CXXRecordDecl *(*Find)(const ValueDecl *, const SourceView &)) {
    if (!Record)
      Kind = (Record = Find(D, *View)) != nullptr;
  };
  is(ToElement, trackedReferent);
  is(Array, declaredArrayOf);
  is(Several, pointersTo);
  is(ByAddress, addressedPointee);
  is(Owns, [](const ValueDecl *Owner, const SourceView &View) { return ownedRecord(Owner->getType(), View); });
  if (!Record)
    return std::nullopt;
  NodeId Node = declared(D, record(Record));
  if (Array)
    Facts[Node].Sites.Lives = D->hasAttr<CUDASharedAttr>()     ? Memory::Shared
                              : D->hasAttr<CUDAConstantAttr>() ? Memory::Constant
                                                               : Memory::Global;
  Facts[Node].ToElement = ToElement;
  Facts[Node].Several = Several;
  Facts[Node].ByAddress = ByAddress;
  if (Owns)
    Facts[Node].Owns = ownerType(D->getType(), *View);
  return Node;
}

NodeId Flow::declared(const ValueDecl *D, unsigned Record) {
  NodeId Node = make(D->getLocation(), Declared, Record, D->getNameAsString(), D->getDeclContext());
  const FunctionDecl *Around = functionAround(D->getDeclContext());
  if (const ParmVarDecl *P = dyn_cast<ParmVarDecl>(D); P && Around)
    Facts[Node].Slot = function(Around) + "#" + std::to_string(P->getFunctionScopeIndex());
  Facts[Node].Declared = true;
  if (const FieldDecl *F = dyn_cast<FieldDecl>(D))
    Facts[Node].Class = F->getParent()->getQualifiedNameAsString();
  return Node;
}

std::optional<NodeId> Flow::result(const FunctionDecl *F) {
  if (!View->isUserCode(F->getLocation()))
    return std::nullopt;
  std::optional<unsigned> Id;
  if (scalars())
    Id = scalarPointee(F->getReturnType());
  else if (const CXXRecordDecl *Record = trackedPointee(F->getReturnType(), *View))
    Id = record(Record);
  const CXXRecordDecl *Owned = Id || scalars() ? nullptr : ownedRecord(F->getReturnType(), *View);
  if (!Id && !Owned)
    return std::nullopt;
  NodeId Node = make(F->getLocation(), Result, Owned ? record(Owned) : *Id, F->getNameAsString(), F);
  if (Owned)
    Facts[Node].Owns = ownerType(F->getReturnType(), *View);
  return Node;
}

NodeId Flow::callResult(const CallExpr *Call, NodeId Result, const FunctionDecl *Caller) {
  NodeId Value = make(Call->getBeginLoc(), CallResult, Facts[Result].Record, Facts[Result].Name, Caller);
  bind(Call, Value, Result, Caller, true);
  return Value;
}

NodeId Flow::argument(const Expr *E, NodeId Parameter, const FunctionDecl *Caller) {
  return make(E->getBeginLoc(), Argument, Facts[Parameter].Record, Facts[Parameter].Name, Caller);
}

void Flow::bind(const CallExpr *Call, NodeId Outside, NodeId Inside, const FunctionDecl *Caller, bool Result) {
  Bindings.push_back({Outside, Inside, owner(Caller), Facts[Inside].Owner, View->place(Call->getBeginLoc()), Result});
  if (const FunctionDecl *Callee = Call->getDirectCallee())
    if (llvm::ArrayRef<RecordArgument> Records = templateRecords(Callee); !Records.empty())
      Bindings.back().OfTemplate = recordCall(Call, Records, *View);
}

NodeId Flow::copy(NodeId A) {
  Parent.push_back(Facts.size());
  Facts.push_back(NodeFacts(Facts[A]));
  return Facts.size() - 1;
}

NodeId Flow::root(NodeId A) const {
  while (Parent[A] != A)
    A = Parent[A] = Parent[Parent[A]];
  return A;
}

void Flow::unite(NodeId A, NodeId B) {
  Unions.push_back({A, B});
  A = root(A), B = root(B);
  if (A == B)
    return;
  if (Facts[A].Record != Facts[B].Record)
    Facts[A].Sites.Refusals.push_back({"", Facts[B].Where, "'" + Facts[B].Name + "'" + OfAnotherType.str()});
  Parent[std::max(A, B)] = std::min(A, B);
}

void Flow::require(NodeId A, std::string Symbol, SourceLocation L, std::string Reason) {
  Facts[A].Needs.push_back({std::move(Symbol), {"", View->where(L), std::move(Reason)}});
}

void Flow::link(NodeId A, const std::string &Name) {
  auto [At, New] = Links.try_emplace(Name, A);
  if (!New)
    unite(A, At->second);
}

std::optional<std::string> Flow::conflict() const {
  for (const auto &[Symbol, Places] : Definitions)
    if (Places.size() > 1)
      return Symbol;
  return std::nullopt;
}

void Flow::refuse(NodeId A, SourceLocation L, std::string Reason, std::string Layout) {
  Facts[A].Sites.Refusals.push_back({std::move(Layout), View->where(L), std::move(Reason)});
}

} // namespace restride

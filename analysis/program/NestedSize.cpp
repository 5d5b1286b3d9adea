// `for (const Edge &e : edges[v])`: trips of loops over ranges, and the elements of containers in containers.

#include "analysis/program/ContainerSize.h"
#include "analysis/program/Evaluate.h"

#include "analysis/program/HostPlaces.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/StmtCXX.h"

#include <cmath>

using namespace clang;

namespace restride {

std::optional<uint64_t> extentOf(QualType T, const ASTContext &Context) {
  T = T.getNonReferenceType();
  if (const ConstantArrayType *Array = Context.getAsConstantArrayType(T))
    return Array->getZExtSize();
  const ClassTemplateSpecializationDecl *Class = dyn_cast_or_null<ClassTemplateSpecializationDecl>(T->getAsCXXRecordDecl());
  if (identifierOf(Class) != "array" || !Class->isInStdNamespace() || Class->getTemplateArgs().size() != 2)
    return std::nullopt;
  return Class->getTemplateArgs()[1].getAsIntegral().getZExtValue();
}

/// The first variable that \p S names.
static const VarDecl *namedIn(const Stmt *S) {
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(S))
    return dyn_cast<VarDecl>(R->getDecl());
  for (const Stmt *Child : S->children())
    if (const VarDecl *V = Child ? namedIn(Child) : nullptr)
      return V;
  return nullptr;
}

/// `for (auto &list : lists)`: lists, by way of what the compiler calls __begin and __range.
static const ValueDecl *rangeOf(const VarDecl *Element) {
  const VarDecl *Begin = namedIn(Element->getInit()), *Range = Begin && Begin->isImplicit() && Begin->getInit() ? namedIn(Begin->getInit()) : nullptr;
  return Range && Range->isImplicit() && Range->getInit() ? containerOf(Range->getInit()) : nullptr;
}

const ValueDecl *outerContainerOf(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E)) { // std::vector<int> &list = lists[i];
    const VarDecl *V = dyn_cast<VarDecl>(R->getDecl());
    if (!V || !V->isLocalVarDecl() || !V->getType()->isReferenceType() || !V->getInit() || !isContainer(V->getType()))
      return nullptr;
    if (V->isCXXForRangeDecl())
      return rangeOf(V);
    return isa<DeclRefExpr>(V->getInit()->IgnoreParenImpCasts()) ? nullptr : outerContainerOf(V->getInit());
  }
  if (!isContainer(E->getType()))
    return nullptr;
  if (const CXXOperatorCallExpr *O = dyn_cast<CXXOperatorCallExpr>(E))
    return O->getOperator() == OO_Subscript ? containerOf(O->getArg(0)) : nullptr;
  const CXXMemberCallExpr *M = dyn_cast<CXXMemberCallExpr>(E);
  const llvm::StringRef Name = M ? identifierOf(M->getMethodDecl()) : "";
  return Name == "at" || Name == "back" || Name == "front" ? containerOf(M->getImplicitObjectArgument()) : nullptr;
}

std::optional<double> Evaluator::meanSize(const ValueDecl *Outer) const {
  const auto Grows = Facts.ResizedInside.find(Outer->getLocation().getRawEncoding());
  const std::optional<Estimate> Containers = Grows != Facts.ResizedInside.end() ? elements(Outer) : std::nullopt;
  if (!Containers || Containers->Value < 1 || !Measured.insert(Outer).second)
    return std::nullopt;
  double Appended = 0;
  bool Counted = true;
  for (const CXXMemberCallExpr *C : Grows->second)
    if (appends(C))
      Appended += timesInLife(C, Outer, Counted);
  Measured.erase(Outer);
  constexpr double Largest = 1e15;
  return Counted && Appended > 0 && Appended < Largest ? std::optional(Appended / double(Containers->Value)) : std::nullopt;
}

std::optional<double> Evaluator::tripsOver(const Expr *Range) const {
  if (const std::optional<uint64_t> Extent = extentOf(Range->getType(), Context))
    return double(*Extent);
  if (const ValueDecl *Outer = outerContainerOf(Range))
    return meanSize(Outer);
  const std::optional<Estimate> Elements = initialSize(Range, Frame());
  return Elements ? std::optional(double(Elements->Value)) : std::nullopt;
}

} // namespace restride

#include "analysis/program/SpatialOrder.h"

#include "analysis/program/IndexOrigin.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace restride {

/// Places that loops go through one after the other: not `el[number[cell]]`, with numbers that were shuffled.
static std::vector<const Expr *> indicesOf(llvm::ArrayRef<const HostWrite *> Writes) {
  std::vector<const Expr *> Out;
  for (const HostWrite *W : Writes)
    for (auto [Index, Bytes] : W->Place.Indices)
      Out.push_back(Index);
  return Out;
}

static std::vector<const Expr *> valuesOf(llvm::ArrayRef<const HostWrite *> Writes) {
  std::vector<const Expr *> Out;
  for (const HostWrite *W : Writes)
    Out.push_back(W->Value);
  return Out;
}

/// All members that the number at byte \p Offset of a \p T is in are of those that kernels make cells of.
static bool isPlacing(QualType T, int64_t Offset, const HostWrites &Host, ASTContext &Context) {
  if (const ConstantArrayType *A = Context.getAsConstantArrayType(T)) {
    const int64_t Bytes = Context.getTypeSizeInChars(A->getElementType()).getQuantity();
    return Bytes > 0 && isPlacing(A->getElementType(), Offset % Bytes, Host, Context);
  }
  const RecordDecl *Record = T->getAsRecordDecl();
  if (!Record)
    return true;
  Record = Record->getDefinition();
  if (!Record || Record->isUnion())
    return false;
  for (const FieldDecl *F : Record->fields()) {
    const int64_t Begin = F->isBitField() ? -1 : Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity();
    if (Begin >= 0 && Offset >= Begin && Offset < Begin + Context.getTypeSizeInChars(F->getType()).getQuantity())
      return Host.Placing.count(F) && isPlacing(F->getType(), Offset - Begin, Host, Context);
  }
  return false;
}

SpatialOrder spatialOrder(const ValueDecl *Array, QualType Element, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts,
                          ASTContext &Context) {
  if (Host.Shuffled.count(Array) || Element->isDependentType() || !Element->isRecordType())
    return SpatialOrder::Unknown;
  unsigned Counted = 0, Drawn = 0, Other = 0;
  for (const auto &[Offset, Writes] : writesByOffset(Array, Host, &HostWrites::Reals)) {
    if (!isPlacing(Element, Offset, Host, Context))
      continue;
    const IndexOrigin Value = indexOrigin(valuesOf(Writes), Host, Values, Facts, Context);
    const bool InOrder = indexOrigin(indicesOf(Writes), Host, Values, Facts, Context) <= IndexOrigin::Counted;
    Counted += Value == IndexOrigin::Counted && InOrder;
    Drawn += Value == IndexOrigin::Drawn;
    Other += Value == IndexOrigin::Unclear || (Value == IndexOrigin::Counted && !InOrder);
  }
  if (Counted >= 2)
    return SpatialOrder::Lattice;
  return Drawn > 0 && !Counted && !Other ? SpatialOrder::Random : SpatialOrder::Unknown;
}

} // namespace restride

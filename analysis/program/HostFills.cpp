#include "analysis/program/HostFills.h"

#include "analysis/program/ArrayFills.h"
#include "analysis/program/OriginFills.h"
#include "analysis/program/SpatialOrder.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace restride {

/// The fills of an array that is copied into the member \p Member of records of \p RecordBytes.
static std::vector<Fill> intoMember(std::vector<Fill> Fills, const FieldDecl *Member, int64_t RecordBytes, const ASTContext &Context) {
  const uint64_t Size = Context.getTypeSizeInChars(Member->getType()).getQuantity();
  for (Fill &F : Fills) {
    F.Begin = F.Begin / Size * RecordBytes + Context.toCharUnitsFromBits(Context.getFieldOffset(Member)).getQuantity();
    for (FillLoop &L : F.Loops)
      L.Stride = L.Stride / int64_t(Size) * RecordBytes;
  }
  return Fills;
}

namespace {

/// A pointer that a kernel is given: a parameter, or a member of one that is a struct.
struct GivenPointer {
  const ValueDecl *Pointer = nullptr;
  const ValueDecl *Array = nullptr; ///< the host's name for what lies behind it; null: not plain to see
  unsigned Word = 0;                ///< Fill::Word
};

} // namespace

/// The array that the member \p F points to in all objects; null: there are several, or it is not plain to see.
static const ValueDecl *arrayOfMember(const FieldDecl *F, const HostWrites &Host, const UnitFacts &Facts, ASTContext &Context) {
  if (Host.Copied.count(F) || Host.Writes.count(F))
    return F;
  const ValueDecl *Out = nullptr;
  for (const Expr *E : givenTo(F, Facts)) {
    const ValueDecl *Array = arrayOf(E, Facts);
    if (Array == F || E->isNullPointerConstant(Context, Expr::NPC_ValueDependentIsNull))
      continue;
    if (!Array || (Out && Array != Out))
      return nullptr;
    Out = Array;
  }
  return Out;
}

/// Those in the struct \p T at byte \p Offset of the parameter.
static void findPointers(QualType T, uint64_t Offset, const HostWrites &Host, const UnitFacts &Facts, ASTContext &Context, std::vector<GivenPointer> &Out) {
  const RecordDecl *Record = T->getAsRecordDecl();
  if (!Record || Record->isUnion() || !Record->getDefinition() || Record->isDependentType())
    return;
  for (const FieldDecl *F : Record->getDefinition()->fields()) {
    if (F->isBitField())
      continue;
    const uint64_t At = Offset + Context.toCharUnitsFromBits(Context.getFieldOffset(F)).getQuantity();
    if (F->getType()->isPointerType())
      Out.push_back({F, arrayOfMember(F, Host, Facts, Context), unsigned(At / 8) + 1});
    else
      findPointers(F->getType(), At, Host, Facts, Context, Out);
  }
}

static std::vector<GivenPointer> givenPointers(const ParmVarDecl *P, const Expr *Argument, const HostWrites &Host, const UnitFacts &Facts, ASTContext &Context) {
  if (P->getType()->isPointerType())
    return {{P, arrayOf(Argument, Facts)}};
  std::vector<GivenPointer> Out;
  findPointers(P->getType(), 0, Host, Facts, Context, Out);
  return Out;
}

/// What a kernel finds behind \p Given.
static std::vector<Fill> fillsBehind(const GivenPointer &Given, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts, ASTContext &Context) {
  const auto &[P, Array, Word] = Given;
  const QualType Element = P->getType()->getPointeeType();
  if (Element->isDependentType() || Element->isIncompleteType())
    return {};
  const RecordDecl *Record = Element->getAsRecordDecl();
  if (!Array || (Record ? Host.DeviceRecords.count(Record->getDefinition()) != 0
                        : !Element->isIntegralOrEnumerationType() || Host.DeviceWrites.count(P)))
    return {};
  auto Copies = Host.Copied.find(Array);
  if (Copies == Host.Copied.end()) // managed memory
    return fillsOf(Array, Element, Host, Values, Facts, Context);
  std::map<const FieldDecl *, const ValueDecl *> From;
  for (const HostCopy &C : Copies->second)
    if (auto [At, New] = From.try_emplace(C.Member, C.From); !New)
      At->second = nullptr; // several
  std::vector<Fill> Out;
  for (auto [Member, Source] : From) {
    if (!Source || (Member && Host.DeviceWrites.count(Member)))
      continue;
    std::vector<Fill> Here = fillsOf(Source, Member ? Member->getType() : Element, Host, Values, Facts, Context);
    if (Member)
      Here = intoMember(std::move(Here), Member, Context.getTypeSizeInChars(Element).getQuantity(), Context);
    llvm::append_range(Out, Here);
  }
  return Out;
}

/// The host's array that \p Array is a copy of, as a whole; null: several are.
static const ValueDecl *sourceOf(const ValueDecl *Array, const HostWrites &Host) {
  const auto Copies = Array ? Host.Copied.find(Array) : Host.Copied.end();
  if (Copies == Host.Copied.end()) // managed memory
    return Array;
  return Copies->second.size() == 1 && !Copies->second.begin()->Member ? Copies->second.begin()->From : nullptr;
}

void addFills(LaunchSite &Site, const CUDAKernelCallExpr *Call, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts,
              ASTContext &Context) {
  const FunctionDecl *Callee = Call->getDirectCallee(), *Definition = nullptr;
  if (!Callee || !Callee->hasBody(Definition))
    return;
  std::string Names, Guessed, Drawn, Below, Ranged, Mean, First, InSpace, Anywhere;
  auto addTo = [](std::string &List, const std::string &More) { List += (List.empty() || More.empty() ? "" : ", ") + More; };
  for (unsigned I = 0; I < std::min(Call->getNumArgs(), Definition->getNumParams()); ++I)
    for (const GivenPointer &Given : givenPointers(Definition->getParamDecl(I), Call->getArg(I), Host, Facts, Context)) {
      const ValueDecl *P = Given.Pointer;
      const std::string Name = "'" + P->getName().str() + "'";
      std::vector<Fill> Fills = fillsBehind(Given, Host, Values, Facts, Context);
      if (!Fills.empty())
        addTo(Names, Name);
      const ValueDecl *Source = sourceOf(Given.Array, Host);
      switch (Source ? spatialOrder(Source, P->getType()->getPointeeType(), Host, Values, Facts, Context) : SpatialOrder::Unknown) {
      case SpatialOrder::Lattice: addTo(InSpace, Name); break;
      case SpatialOrder::Random: addTo(Anywhere, Name); break;
      case SpatialOrder::Unknown: break;
      }
      addTo(Guessed, addFillsByOrigin(P, IndexOrigin::Counted, Fills, Host, Values, Facts, Context));
      if (std::optional<Fill> One = Source && Fills.empty() ? fillOfPlainArray(P, Source, Host, Values, Facts, Context) : std::nullopt) {
        Fills.push_back(std::move(*One));
        addTo(Guessed, Name);
      }
      addTo(Below, addFillsByExtent(P, Fills, Facts, Context));
      addTo(Drawn, addFillsByOrigin(P, IndexOrigin::Drawn, Fills, Host, Values, Facts, Context));
      if (Source)
        addTo(First, addFillsByFirst(P, Source, Fills, Host, Values, Facts, Context));
      addTo(Mean, addFillsByCount(P, Fills, Host, Values, Facts, Context));
      addTo(Ranged, addFillsByRange(P, Fills, Values, Facts, Context));
      if (Fills.empty())
        continue;
      for (Fill &F : Fills)
        F.Word = Given.Word;
      Site.L.Fills.resize(I + 1);
      llvm::append_range(Site.L.Fills[I], Fills);
    }
  if (!Names.empty())
    Site.L.Notes.push_back("integers of " + Names + " are as the host writes them");
  if (!InSpace.empty())
    Site.L.Notes.push_back("records of " + InSpace + " lie in the order of their places in space, as the host's loops lay them out");
  if (!Anywhere.empty())
    Site.L.Notes.push_back("records of " + Anywhere + " lie in no order in space, as the host draws their places");
  if (InSpace.empty() != Anywhere.empty()) // which of both the indices are made of is not known
    Site.L.Places = Anywhere.empty() ? SpatialOrder::Lattice : SpatialOrder::Random;
  if (!Guessed.empty())
    Site.L.Notes.push_back("integers in " + Guessed + " lie as near each other as the loops that make them say");
  if (!Drawn.empty())
    Site.L.Notes.push_back("integers in " + Drawn + " follow from random numbers or are copied one by one: they are in no order");
  if (!Below.empty())
    Site.L.Notes.push_back("integers in " + Below + " are any subscripts of the arrays that they are subscripts of");
  if (!Mean.empty())
    Site.L.Notes.push_back("integers in " + Mean + " are as many as the host counts in the mean");
  if (!First.empty())
    Site.L.Notes.push_back("integers in " + First + " are as the host begins with them in most records, or in half of them where that is negative, though kernels change some");
  if (!Ranged.empty())
    Site.L.Notes.push_back("integers in " + Ranged + " are as likely to be any that the program gives them");
}

} // namespace restride

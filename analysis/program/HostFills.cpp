#include "analysis/program/HostFills.h"

#include "analysis/program/ArrayFills.h"
#include "analysis/program/OriginFills.h"

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

/// What a kernel finds behind its pointer parameter \p P, which is given \p Argument.
static std::vector<Fill> fillsBehind(const ParmVarDecl *P, const Expr *Argument, const HostWrites &Host, const Evaluator &Values,
                                     const UnitFacts &Facts, ASTContext &Context) {
  const QualType Element = P->getType()->isPointerType() ? P->getType()->getPointeeType() : QualType();
  if (Element.isNull() || Element->isDependentType() || Element->isIncompleteType())
    return {};
  const RecordDecl *Record = Element->getAsRecordDecl();
  const ValueDecl *Array = arrayOf(Argument, Facts);
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

/// The host's array that the kernel's argument \p Argument is a copy of, as a whole; null: several are.
static const ValueDecl *sourceOf(const Expr *Argument, const HostWrites &Host, const UnitFacts &Facts) {
  const ValueDecl *Array = arrayOf(Argument, Facts);
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
  std::string Names, Guessed, Drawn, Below;
  for (unsigned I = 0; I < std::min(Call->getNumArgs(), Definition->getNumParams()); ++I) {
    const ParmVarDecl *P = Definition->getParamDecl(I);
    std::vector<Fill> Fills = fillsBehind(P, Call->getArg(I), Host, Values, Facts, Context);
    if (!Fills.empty())
      Names += (Names.empty() ? "'" : ", '") + P->getName().str() + "'";
    if (const std::string More = addFillsByOrigin(P, IndexOrigin::Counted, Fills, Host, Values, Facts, Context); !More.empty())
      Guessed += (Guessed.empty() ? "" : ", ") + More;
    const ValueDecl *Source = Fills.empty() ? sourceOf(Call->getArg(I), Host, Facts) : nullptr;
    if (std::optional<Fill> One = Source ? fillOfPlainArray(P, Source, Host, Values, Facts, Context) : std::nullopt) {
      Fills.push_back(std::move(*One));
      Guessed += (Guessed.empty() ? "'" : ", '") + P->getName().str() + "'";
    }
    if (const std::string More = addFillsByExtent(P, Fills, Facts, Context); !More.empty())
      Below += (Below.empty() ? "" : ", ") + More;
    if (const std::string More = addFillsByOrigin(P, IndexOrigin::Drawn, Fills, Host, Values, Facts, Context); !More.empty())
      Drawn += (Drawn.empty() ? "" : ", ") + More;
    if (Fills.empty())
      continue;
    Site.L.Fills.resize(I + 1);
    Site.L.Fills[I] = std::move(Fills);
  }
  if (!Names.empty())
    Site.L.Notes.push_back("integers of " + Names + " are as the host writes them");
  if (!Guessed.empty())
    Site.L.Notes.push_back("integers in " + Guessed + " lie as near each other as the loops that make them say");
  if (!Drawn.empty())
    Site.L.Notes.push_back("integers in " + Drawn + " follow from random numbers or are copied one by one: they are in no order");
  if (!Below.empty())
    Site.L.Notes.push_back("integers in " + Below + " are any subscripts of the arrays that they are subscripts of");
}

} // namespace restride

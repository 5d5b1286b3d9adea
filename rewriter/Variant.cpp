#include "rewriter/Variant.h"
#include "rewriter/Format.h"
#include "rewriter/Friends.h"
#include "rewriter/SiteEdits.h"

#include <map>
#include <memory>

namespace restride {

static unsigned uses(llvm::StringRef Pattern, llvm::StringRef What) { return Pattern.count(What); }

std::optional<Refusal> refusalOf(const Candidate &C, const Layout &L) {
  for (const Refusal &R : C.Refusals)
    if (R.Layout.empty() || R.Layout == L.name() || (R.Layout == "soa" && L.handleIsStruct()))
      return R;
  if (std::optional<std::string> Why = L.objection(C.Type))
    return Refusal{L.name().str(), C.Where, *Why};
  if (isHelperWord(C.Type.Name))
    return Refusal{L.name().str(), C.Where, "'" + C.Type.Name + "' is a name that generated code uses itself"};
  auto Refuse = [&](const Location &At, std::string Why) { return Refusal{L.name().str(), At, std::move(Why)}; };
  if (!L.canShift() && !C.Shifts.empty())
    return Refuse(C.Shifts.front().Where, "a tile has no pointer to an element inside it, and one is passed on here");
  if (!L.elementIsRecord())
    for (const Access &A : C.Accesses) {
      bool Twice = uses(L.accessPattern(), "$i") > 1;
      bool Spelled = A.K == Access::Leaf || isLeaf(C.Type, A);
      if (Spelled && Twice && A.What.At.Impure)
        return Refuse(*A.What.At.Impure, "the index has side effects and would be evaluated twice");
      if (A.K == Access::PartStore && !isLeaf(C.Type, A))
        for (const Step &S : A.Path)
          if (!S.Subscripts.empty())
            return Refuse(A.Where, "an element of a member array of records is stored as a whole");
    }
  return std::nullopt;
}

bool alignsInPlace(const Program &P, const Plan &Layouts, size_t I) {
  const Candidate &C = P.Candidates[I];
  if (!Layouts[I]->inPlaceAlignment() || !C.AttributeAt || C.SizeObserved)
    return false;
  for (size_t J = 0; J < P.Candidates.size(); ++J)
    if (P.Candidates[J].Where == C.Where && Layouts[J] != Layouts[I])
      return false;
  return true;
}

llvm::Expected<Rewritten> writeVariant(const Program &P, const Plan &Layouts, llvm::StringRef Source) {
  std::vector<Edit> Edits;
  std::vector<std::unique_ptr<Move>> Moves(P.Candidates.size());
  std::vector<const Move *> ByCandidate(P.Candidates.size());
  struct Helpers {
    const Move *M;
    HelperNeeds Needs;
  };
  std::map<std::pair<unsigned, std::string>, Helpers> Code; // by place and handle

  for (size_t I = 0; I < P.Candidates.size(); ++I) {
    const Candidate &C = P.Candidates[I];
    const Layout &L = *Layouts[I];
    if (&L == catalogue().front())
      continue;
    if (std::optional<Refusal> R = refusalOf(C, L))
      return llvm::createStringError("'" + C.Name + "' cannot take " + L.name() + ": " + R->Reason);
    if (alignsInPlace(P, Layouts, I)) {
      Edits.push_back({{*C.AttributeAt, *C.AttributeAt}, {" __align__(" + std::to_string(L.inPlaceAlignment()) + ")"}});
      continue;
    }
    Moves[I] = std::make_unique<Move>(Move{C, L, handleName(C.Type, L, P.Identifiers)});
    ByCandidate[I] = Moves[I].get();
    Helpers &H = Code[{C.HelperAt, Moves[I]->Handle}];
    H.M = Moves[I].get();
    addCallNeeds(*Moves[I], H.Needs);
  }
  // Two arrays may share their helpers, so the edits wait until all needs are known.
  for (const std::unique_ptr<Move> &M : Moves)
    if (M)
      for (Edit &E : siteEdits(*M, Code[{M->C.HelperAt, M->Handle}].Needs))
        Edits.push_back(std::move(E));
  for (Edit &E : declarationEdits(P.Declarations, ByCandidate, Source))
    Edits.push_back(std::move(E));
  for (const std::unique_ptr<Move> &M : Moves)
    if (std::optional<Edit> E = M ? friendEdit(*M, Source) : std::nullopt)
      Edits.push_back(std::move(*E));
  std::map<unsigned, std::string> Insertions;
  for (const auto &[Key, H] : Code)
    Insertions[Key.first] += formatFor(P.File, helperCode(H.M->C.Type, H.M->L, H.M->Handle, H.Needs));
  for (const auto &[At, Text] : Insertions) {
    bool NewLine = At > 0 && Source[At - 1] == '\n';
    Edits.push_back({{At, At}, {(NewLine ? "" : "\n") + Text}});
  }
  return applyEdits(Source, std::move(Edits));
}

} // namespace restride

#include "rewriter/write/Variant.h"
#include "analysis/program/Assemble.h"
#include "rewriter/write/Format.h"
#include "rewriter/write/Friends.h"
#include "rewriter/write/MethodCode.h"
#include "rewriter/write/SiteEdits.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <memory>

namespace restride {

static unsigned uses(llvm::StringRef Pattern, llvm::StringRef What) { return Pattern.count(What); }

/// \p Name is a nested record whose parts \p L puts into different arrays.
static bool takesApart(const Layout &L, const Record &R, const std::string &Name) {
  auto F = llvm::find_if(R.Fields, [&](const Field &One) { return One.Name == Name; });
  bool Nested = F != R.Fields.end() && !F->Members.empty();
  return Nested && !L.elementIsRecord() &&
         !(L.handleIsStruct() && llvm::any_of(L.arrays(R, ""), [&](const HandleArray &A) { return llvm::is_contained(A.Fields, Name); }));
}

std::optional<Refusal> refusalOf(const Candidate &C, const Layout &L) {
  for (const Refusal &R : C.Refusals)
    if (R.Layout.empty() || R.Layout == L.name() || (R.Layout == "soa" && L.handleIsStruct()))
      return R;
  if (std::optional<std::string> Why = L.objection(C.Type))
    return Refusal{L.name().str(), C.Where, *Why};
  if (isHelperWord(C.Type.Name))
    return Refusal{L.name().str(), C.Where, "'" + C.Type.Name + "' is a name that generated code uses itself"};
  auto Refuse = [&](const Location &At, std::string Why) { return Refusal{L.name().str(), At, std::move(Why)}; };
  if (C.FieldCopyCode && C.SharesRecord)
    return Refuse(C.Where, "another array of '" + C.Type.Name + "' uses the functions that copy its fields");
  if (C.FieldCopyCode && L.elementIsRecord() && C.SizeObserved)
    return Refuse(C.SizeObserved->Where, "the functions that copy its fields need the record as it is, and " + C.SizeObserved->Reason);
  for (const HostCall &H : C.Calls)
    if (!H.Field.empty() && takesApart(L, C.Type, H.Field))
      return Refuse(H.Where, "'" + H.Field + "' is copied by itself, and this layout takes it apart");
  if (C.declared() && L.elementIsRecord()) {
    uint64_t Bytes = L.allocationBytes(C.Type, uint64_t(C.Elements.Count)), Limit = C.Lives == Memory::Shared ? 48 << 10 : 64 << 10;
    if (C.Lives != Memory::Global && Bytes > Limit)
      return Refuse(C.ArrayWhere, "'" + C.Array + "' would have " + std::to_string(Bytes) + " bytes, more than " +
                                      (C.Lives == Memory::Shared ? "shared" : "constant") + " memory holds");
  }
  if (C.declared() && !L.elementIsRecord()) {
    if (!declaredForm(L).handleIsArray())
      return Refuse(C.ArrayWhere, "'" + C.Array + "' is declared with its extent, which soa alone can split");
    if (C.Type.Private)
      return Refuse(C.ArrayWhere, "'" + C.Array + "' is declared with its extent, and '" + C.Type.Name + "' has private fields");
    if (!C.MemberCalls.empty())
      return Refuse(C.MemberCalls.front().Where, "'" + C.Array + "' is declared with its extent, and a member function changes an element of it");
  }
  if (!L.canShift()) {
    const char *Why = "a tile has no pointer to an element inside it, and one is passed on here";
    for (const Shift &S : C.Shifts)
      if (!S.What.At.Terms.empty())
        return Refuse(S.Where, Why);
    for (const Argument &A : C.Arguments)
      if (!A.What.At.Terms.empty() && !A.Indexed)
        return Refuse(A.Where, Why);
  }
  if (!L.elementIsRecord())
    if (std::optional<Refusal> R = memberCallObjection(C, L))
      return Refuse(R->Where, R->Reason);
  if (!L.elementIsRecord())
    for (const Access &A : C.Accesses) {
      bool Twice = uses(L.accessPattern(""), "$i") > 1;
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

/// A function's texts, its edits made as for \p Instance.
static llvm::Expected<std::vector<std::string>> textsOf(const FunctionInstances &F, unsigned Instance, const Sources &Text,
                                                        llvm::ArrayRef<Edit> Edits) {
  std::vector<Edit> Mine;
  for (const Edit &E : Edits)
    if (E.Instance == 0 || E.Instance == Instance)
      Mine.push_back(E);
  std::vector<std::string> Out;
  for (const Range &R : F.Texts) {
    llvm::Expected<std::string> One = applyEdits(Text, R, Mine);
    if (!One)
      return One.takeError();
    Out.push_back(std::move(*One));
  }
  return Out;
}

/// One instance of each function takes the place of its text, the original if
/// one stays as it was; those that read otherwise follow as overloads.
static llvm::Error placeInstances(const Program &P, std::vector<Edit> &Edits, std::map<unsigned, std::string> &BehindHelpers) {
  std::vector<Edit> Overloads; // no part of the texts that they follow, of which others may be made
  for (const FunctionInstances &F : P.Functions) {
    std::vector<std::string> Original;
    for (const Range &R : F.Texts)
      Original.push_back(P.Text.text(R).str());
    std::vector<std::pair<unsigned, std::vector<std::string>>> Written;
    for (unsigned Id : F.Instances) {
      llvm::Expected<std::vector<std::string>> Texts = textsOf(F, Id, P.Text, Edits);
      if (!Texts)
        return Texts.takeError();
      bool New = llvm::none_of(Written, [&](const auto &W) { return W.second == *Texts; });
      if (New)
        Written.insert(*Texts == Original ? Written.begin() : Written.end(), {Id, std::move(*Texts)});
    }
    unsigned InPlace = Written.front().first;
    std::erase_if(Edits, [&](const Edit &E) { return E.Instance != InPlace && llvm::is_contained(F.Instances, E.Instance); });
    unsigned Record = 0; // where a function can name its handle at the earliest
    for (const Candidate &C : P.Candidates)
      if (F.Made && respelledIn(C, F))
        Record = std::max(Record, C.HelperAt);
    for (const auto &[Id, Texts] : llvm::ArrayRef(Written).drop_front())
      for (size_t I = 0; I < Texts.size(); ++I) {
        if (F.Made && F.Made->Behind) {
          const std::string &Around = F.Made->Namespace;
          BehindHelpers[Record] += Around.empty() ? "\n" + Texts[I] + "\n" : "\nnamespace " + Around + " {\n" + Texts[I] + "\n} // namespace " + Around + "\n";
          continue;
        }
        bool Body = llvm::StringRef(Texts[I]).ends_with("}");
        Overloads.push_back({{F.Texts[I].End, F.Texts[I].End}, {(Body ? "\n\n" : "\n") + Texts[I]}});
      }
  }
  llvm::append_range(Edits, Overloads);
  return llvm::Error::success();
}

llvm::Expected<Rewritten> writeVariant(const Program &P, const Plan &Layouts) {
  llvm::StringRef Source = P.Text.text();
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
    const Layout &L = C.declared() ? declaredForm(*Layouts[I]) : *Layouts[I];
    if (&L == catalogue().front())
      continue;
    if (std::optional<Refusal> R = refusalOf(C, L))
      return llvm::createStringError("'" + C.Name + "' cannot take " + L.name() + ": " + R->Reason);
    if (alignsInPlace(P, Layouts, I)) {
      Edits.push_back({{*C.AttributeAt, *C.AttributeAt}, {(P.HostUnits ? " alignas(" : " __align__(") + std::to_string(L.inPlaceAlignment()) + ")"}});
      continue;
    }
    Moves[I] = std::make_unique<Move>(Move{C, L, handleName(C.Type, L, P.Identifiers)});
    ByCandidate[I] = Moves[I].get();
    Helpers &H = Code[{C.HelperAt, Moves[I]->Handle}];
    H.M = Moves[I].get();
    H.Needs.ForHost = C.InHeader && P.HostUnits;
    addCallNeeds(*Moves[I], H.Needs);
  }
  // Two arrays may share their helpers, so the edits wait until all needs are known.
  for (const std::unique_ptr<Move> &M : Moves)
    if (M)
      for (Edit &E : siteEdits(*M, Code[{M->C.HelperAt, M->Handle}].Needs))
        Edits.push_back(std::move(E));
  for (Edit &E : declarationEdits(placeMembers(P, ByCandidate), ByCandidate, Source))
    Edits.push_back(std::move(E));
  for (Edit &E : memberEdits(P, ByCandidate))
    Edits.push_back(std::move(E));
  // The record's own copies of single fields have no callers left.
  std::set<Range> Dead;
  for (const std::unique_ptr<Move> &M : Moves)
    if (M && M->C.FieldCopyCode && Dead.insert(*M->C.FieldCopyCode).second)
      Edits.push_back({*M->C.FieldCopyCode, {}});
  for (const std::unique_ptr<Move> &M : Moves)
    if (std::optional<Edit> E = M ? friendEdit(*M, Source) : std::nullopt)
      Edits.push_back(std::move(*E));
  std::map<unsigned, std::string> BehindHelpers;
  if (llvm::Error E = placeInstances(P, Edits, BehindHelpers))
    return E;
  for (auto &[Key, H] : Code) {
    llvm::Expected<std::vector<std::string>> Methods = methodCode(*H.M, P.Text, H.Needs);
    if (!Methods)
      return Methods.takeError();
    H.Needs.MethodCode = std::move(*Methods);
  }
  std::map<unsigned, std::string> Insertions;
  for (const auto &[Key, H] : Code)
    Insertions[Key.first] += formatFor(P.Text.at(Key.first).Path, helperCode(H.M->C.Type, H.M->L, H.M->Handle, H.Needs));
  for (const auto &[At, Text] : Insertions) {
    bool NewLine = At > 0 && Source[At - 1] == '\n';
    Edits.push_back({{At, At}, {(NewLine ? "" : "\n") + Text}});
  }
  for (const auto &[At, Text] : BehindHelpers)
    Edits.push_back({{At, At}, {Text + (Source.substr(At).starts_with("\n") ? "" : "\n")}});
  return applyEdits(P.Text, std::move(Edits));
}

} // namespace restride

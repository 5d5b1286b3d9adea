#include "rewriter/fold/FoldAssignments.h"

#include "analysis/program/PointerAssignment.h"
#include "rewriter/fold/FoldText.h"

#include <map>

namespace restride {

namespace {

struct Assigned {
  PointerAssignment At;
  Range Value; ///< the name at the end of what is assigned
  const ArrayVariable *From, *To;
  size_t Field;
  Location Where;
};

} // namespace

/// The member of the group's array \p Array that is called \p Name.
static const ArrayVariable *memberOf(const ArrayProgram &A, size_t Array, llvm::StringRef Name) {
  for (const ArrayVariable &V : A.Variables)
    if (V.Array == Array && V.Declared && !V.InFunction && V.Slot.empty() && Name == V.Name)
      return &V;
  return nullptr;
}

/// "n = count" behind "f.": what is put into another member, whatever it is, has no part in the arrays.
static bool isMemberAssignment(llvm::StringRef Text) {
  auto [Member, Value] = Text.split('=');
  return !Member.trim().empty() && !Value.trim().empty() && isIdentifier(Member.trim()) && isIdentifier(Value.trim());
}

/// Nothing stands between \p Statements but the like for other members of their \p Object.
static bool followEachOther(std::vector<Range> Statements, llvm::StringRef Object, llvm::StringRef Source) {
  for (size_t I = 1, Count = Statements.size(); I < Count; ++I)
    for (unsigned At = Statements[I - 1].End, End = Statements[I].Begin; At < End;) {
      llvm::StringRef Piece = Source.slice(At, End).take_until([](char C) { return C == ';'; });
      size_t Begin = Piece.find(Object);
      if (Begin != llvm::StringRef::npos && isMemberAssignment(Piece.drop_front(Begin + Object.size())))
        Statements.push_back({unsigned(At + Begin), unsigned(At + Piece.size())});
      At += Piece.size() + 1;
    }
  return areNeighbours(std::move(Statements), Source);
}

static std::optional<Refusal> assignTogether(std::vector<Assigned> All, const ParallelGroup &G, const FoldNames &Names, llvm::StringRef Source,
                                             std::vector<Edit> &Edits) {
  llvm::sort(All, [](const Assigned &L, const Assigned &R) { return L.At.Statement < R.At.Statement; });
  std::set<size_t> Fields;
  std::vector<Range> Statements;
  auto Text = [&](Range R) { return Source.slice(R.Begin, R.End); };
  auto Prefix = [&](const Assigned &One) { return Source.slice(One.At.Statement.Begin, One.Value.Begin).rsplit('=').second.trim(); };
  const Assigned &First = All.front();
  for (const Assigned &One : All) {
    Fields.insert(One.Field);
    Statements.push_back(One.At.Statement);
    if (Text(One.At.Object) != Text(First.At.Object) || Prefix(One) != Prefix(First) || One.From->Scope != First.From->Scope ||
        One.To->Scope != First.To->Scope)
      return Refusal{"", One.Where, "the arrays are put into different objects"};
  }
  if (Fields.size() != All.size() || All.size() != G.Arrays.size() || !followEachOther(std::move(Statements), Text(First.At.Object), Source))
    return Refusal{"", First.Where, "the arrays are not assigned to members together, in statements that follow each other"};
  auto Handle = [&](const ArrayVariable &V) { return Names.Handles.find(V.Scope)->second; };
  Edits.push_back({First.At.Member, {Handle(*First.To)}});
  Edits.push_back({First.Value, {Handle(*First.From)}});
  for (const Assigned &One : llvm::ArrayRef(All).drop_front())
    Edits.push_back({wholeLine(One.At.Statement, Source), {}});
  return std::nullopt;
}

std::optional<Refusal> foldAssignments(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, std::vector<Edit> &Edits) {
  llvm::StringRef Source = A.P.Text.text();
  std::vector<Assigned> All;
  for (size_t F = 0; F < G.Arrays.size(); ++F)
    for (const ArrayVariable &V : A.Variables)
      for (const Shift &S : V.Sites.Shifts) {
        if (V.Array != G.Arrays[F])
          continue;
        std::optional<PointerAssignment> At = assignmentToMember(S.Whole, Source);
        std::optional<Range> Value = nameAtEnd(S.Whole, V.Name, Source);
        const ArrayVariable *To = At ? memberOf(A, V.Array, A.P.Text.text(At->Member)) : nullptr;
        if (!To || !Value || !Names.Handles.count(To->Scope) || !Names.Handles.count(V.Scope))
          return Refusal{"", S.Where, "the pointer is kept in another variable"};
        All.push_back({*At, *Value, &V, To, F, S.Where});
      }
  llvm::sort(All, [](const Assigned &L, const Assigned &R) { return L.At.Statement < R.At.Statement; });
  // As many statements after each other as there are arrays.
  for (size_t I = 0; I < All.size(); I += G.Arrays.size()) {
    size_t End = std::min(All.size(), I + G.Arrays.size());
    if (std::optional<Refusal> Why = assignTogether({All.begin() + I, All.begin() + End}, G, Names, Source, Edits))
      return Why;
  }
  return std::nullopt;
}

} // namespace restride

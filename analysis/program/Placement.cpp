#include "analysis/program/Placement.h"
#include "analysis/program/Comments.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

/// All places of the candidate that a layout may change.
static std::vector<unsigned> places(const Program &P, size_t Index) {
  const Candidate &C = P.Candidates[Index];
  std::vector<unsigned> Out;
  auto Add = [&](const auto &Sites, auto Member) {
    for (const auto &S : Sites)
      if ((S.*Member).End)
        Out.push_back((S.*Member).Begin);
  };
  Add(C.Accesses, &Access::Whole), Add(C.Aliases, &Alias::Declaration), Add(C.Shifts, &Shift::Whole), Add(C.Places, &ElementPlace::Whole);
  Add(C.Arguments, &Argument::Whole), Add(C.MemberCalls, &MemberCall::Whole), Add(C.Calls, &HostCall::Callee), Add(C.Nulls, &NullValue::Whole);
  for (const MemberName &M : C.MemberNames)
    if (M.Member >= 0 && M.Name)
      Out.push_back(M.Name->Begin);
  for (const Declaration &D : P.Declarations)
    for (const Declarator &One : D.Declarators)
      if (One.Candidate == int(Index) || (One.Member >= 0 && llvm::is_contained(P.Members[One.Member].Candidates, int(Index))))
        Out.push_back(D.Specifiers.Begin);
  return Out;
}

void placeGeneratedCode(Program &P, llvm::ArrayRef<size_t> Candidates, const ProgramFacts &Facts, const RecordFacts &Record) {
  std::vector<unsigned> Places;
  bool Private = false;
  for (size_t I : Candidates)
    if (!P.Candidates[I].refused()) {
      llvm::append_range(Places, places(P, I));
      Private |= P.Candidates[I].Type.Private;
    }
  if (Places.empty())
    return;
  auto FileOf = [&](unsigned At) { return P.Text.at(At).Text.Begin; };
  std::set<unsigned> Files;
  for (unsigned At : Places)
    Files.insert(FileOf(At));
  bool Elsewhere = !Private && Files.size() == 1 && !(Record.HelperAt && Files.count(FileOf(*Record.HelperAt)));
  bool Behind = !Elsewhere && Record.HelperAt;
  if (Behind)
    Files.insert(FileOf(*Record.HelperAt));
  unsigned First = *llvm::min_element(Places);
  for (const Range &D : Facts.TopLevel)
    if (D.Begin <= First && First < D.End)
      First = D.Begin;
  for (size_t I : Candidates) {
    Candidate &C = P.Candidates[I];
    if (Record.AttributeAt && Files.count(FileOf(*Record.AttributeAt)))
      C.AttributeAt = Record.AttributeAt;
    if (!C.AttributeAt && !C.SizeObserved)
      C.SizeObserved = Refusal{"", C.Where, "the record is defined elsewhere"};
    for (unsigned Begin : Files)
      if (!Facts.MainFiles.count(Begin))
        C.Headers.push_back(Begin);
    C.HelperAt = Behind ? *Record.HelperAt : commentAbove(P.Text.text(), First);
    C.InHeader = Behind && !Record.InMainFile;
    if (Behind)
      continue;
    C.Type.Name = Record.Qualified;
    if (!Elsewhere)
      C.Refusals.push_back({"", C.Where, "several files use it, and the record's own cannot be changed"});
  }
}

} // namespace restride

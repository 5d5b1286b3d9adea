#include "analysis/program/Indexed.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

static std::string indexName(const std::string &Parameter) { return Parameter.empty() ? "" : Parameter + "_index"; }

/// Slots of parameters that need an index.
static std::set<std::string> indexedSlots(const Flow &Graph) {
  std::set<std::string> Fixed, Out;
  for (NodeId N = 0; N < Graph.size(); ++N) {
    const NodeFacts &F = Graph.facts(N);
    if (F.Slot.empty())
      continue;
    if (F.ToElement)
      Out.insert(F.Slot);
    else if (F.Modified)
      Fixed.insert(F.Slot);
  }
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (NodeId N = 0; N < Graph.size(); ++N) {
      const NodeFacts &F = Graph.facts(N);
      for (const Argument &A : F.Sites.Arguments)
        if ((!A.What.At.Terms.empty() || Out.count(F.Slot)) && !Fixed.count(A.Parameter))
          Changed |= Out.insert(A.Parameter).second;
    }
  }
  return Out;
}

void indexParameters(Flow &Graph, std::vector<Declaration> &Declarations, const Sources &Text) {
  std::set<std::string> Slots = indexedSlots(Graph);
  for (NodeId N = 0; N < Graph.size(); ++N) {
    NodeFacts &F = Graph.facts(N);
    for (Argument &A : F.Sites.Arguments)
      if (Slots.count(A.Parameter)) {
        A.Indexed = true;
        if (A.Whole.End == 0)
          F.Sites.Refusals.push_back({"soa", A.Where, "a macro's body passes the pointer on"});
      }
    if (!Slots.count(F.Slot))
      continue;
    auto Add = [&](Element &E, const Location &Where) {
      if (!E.BaseName.empty())
        return; // an index of its own, which has it already
      if (Text.text(E.Base).trim("() \t\n") != F.Name)
        F.Sites.Refusals.push_back({"", Where, "'" + F.Name + "' becomes a pointer and an index, and this use of it needs one pointer"});
      E.At.Terms.insert(E.At.Terms.begin(), {{}, indexName(F.Name), false, true, true});
    };
    if (llvm::any_of(F.Sites.Tests, [](const PointerTest &T) { return T.Compared; }))
      F.Sites.Refusals.push_back({"", F.Where, "'" + F.Name + "' becomes a pointer and an index, and a comparison needs one pointer"});
    for (Access &A : F.Sites.Accesses)
      Add(A.What, A.Where);
    for (MemberCall &C : F.Sites.MemberCalls)
      Add(C.What, C.Where);
    for (Alias &A : F.Sites.Aliases)
      Add(A.What, F.Where);
    for (Shift &S : F.Sites.Shifts)
      Add(S.What, S.Where);
    for (ElementPlace &S : F.Sites.Places)
      Add(S.What, S.Where);
    for (Argument &A : F.Sites.Arguments)
      if (A.Whole.End)
        Add(A.What, A.Where);
    for (HostCall &H : F.Sites.Calls)
      for (HostCall::Pointer &P : H.Pointers)
        if (!P.Plain)
          Add(P.What, H.Where);
  }
  for (Declaration &D : Declarations)
    for (Declarator &One : D.Declarators)
      if (One.Candidate >= 0 && Slots.count(Graph.facts(One.Candidate).Slot)) {
        std::string Name = Graph.facts(One.Candidate).Name;
        One.Index = Name.empty() ? " " : indexName(Name);
      }
}

} // namespace restride

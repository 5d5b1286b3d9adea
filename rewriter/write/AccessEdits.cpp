#include "rewriter/write/AccessEdits.h"

#include "rewriter/write/ElementCode.h"
#include "rewriter/write/MethodCode.h"

namespace restride {

std::optional<size_t> leafDepth(const Record &R, llvm::ArrayRef<Step> Path, bool &WithSubscripts) {
  const std::vector<Field> *Fields = &R.Fields;
  for (size_t I = 0; I < Path.size(); ++I) {
    const Field *Found = nullptr;
    for (const Field &F : *Fields)
      if (F.Name == Path[I].Member)
        Found = &F;
    if (!Found)
      return std::nullopt;
    WithSubscripts = !Found->Extents.empty() && !Found->KeepWhole;
    if (Found->Members.empty())
      return I + 1;
    Fields = &Found->Members;
  }
  return std::nullopt;
}

bool isLeaf(const Record &R, const Access &A) {
  bool WithSubscripts = false;
  return leafDepth(R, A.Path, WithSubscripts).has_value();
}

Pieces base(const Element &E) { return E.BaseName.empty() ? Pieces{E.Base} : Pieces{E.BaseName}; }

Index indexFor(const Move &M, const Element &E) {
  Index Out = E.At;
  if (M.L.elementIsRecord())
    std::erase_if(Out.Terms, [](const IndexTerm &T) { return T.Parameter; });
  return Out;
}

Pieces index(const Index &I, bool AsOperand) {
  if (I.Terms.empty())
    return {"0"};
  auto Term = [](const IndexTerm &T, bool Operand) -> Pieces {
    if (!T.Name.empty())
      return {T.Name};
    return Operand && !T.Primary ? Pieces{"(", T.Source, ")"} : Pieces{T.Source};
  };
  const IndexTerm &First = I.Terms.front();
  if (I.Terms.size() == 1 && !First.Negative)
    return Term(First, AsOperand);
  Pieces Out;
  if (AsOperand)
    Out.push_back("(");
  if (First.Negative)
    Out.push_back("-");
  if (First.Name.empty())
    Out.push_back("(ptrdiff_t)");
  add(Out, Term(First, true));
  for (const IndexTerm &T : llvm::ArrayRef(I.Terms).drop_front()) {
    Out.push_back(T.Negative ? " - " : " + ");
    add(Out, Term(T, true));
  }
  if (AsOperand)
    Out.push_back(")");
  return Out;
}

static void addSteps(Pieces &To, llvm::ArrayRef<Step> Path, size_t Begin, size_t End, bool Member, bool Subscripts) {
  for (size_t I = Begin; I < End; ++I) {
    if (Member || I > Begin)
      To.push_back("." + Path[I].Member);
    if (Subscripts || I + 1 < End)
      for (const Range &R : Path[I].Subscripts)
        add(To, {"[", R, "]"});
  }
}

/// p[i].a.b[k].c in the layout's words.
static Pieces leafAccess(const Move &M, const Element &What, llvm::ArrayRef<Step> Path) {
  bool WithSubscripts = false;
  size_t Depth = leafDepth(M.C.Type, Path, WithSubscripts).value_or(Path.size());
  Pieces Out;
  std::string Spelled = M.L.accessPattern(Path.empty() ? "" : "." + Path.front().Member);
  llvm::StringRef Pattern = Spelled;
  for (size_t I = 0; I < Pattern.size(); ++I) {
    if (Pattern[I] != '$') {
      Out.push_back(std::string(1, Pattern[I]));
      continue;
    }
    char Kind = Pattern[++I];
    bool Alone = Pattern.substr(I + 1).starts_with("]");
    if (Kind == 'b')
      add(Out, base(What));
    else if (Kind == 'i') {
      Index At = indexFor(M, What);
      add(Out, index(At, !Alone));
      if (At.Terms.empty()) // "0", not "0 >> 5"
        I = Pattern.find(']', I) - 1;
    } else {
      addSteps(Out, Path, 0, Depth, true, WithSubscripts);
    }
  }
  if (!WithSubscripts && Depth > 0)
    for (const Range &R : Path[Depth - 1].Subscripts)
      add(Out, {"[", R, "]"});
  addSteps(Out, Path, Depth, Path.size(), true, true);
  return Out;
}

/// A function of the helper code that is found from anywhere: a free one by its
/// arguments, a member by its namespace.
static std::string function(const Move &M, llvm::StringRef What) {
  std::string Name = elementFunction(M.C.Type, M.Handle, What);
  llvm::StringRef Record = llvm::StringRef(M.C.Spelling).rsplit(' ').second;
  if (Record.empty())
    Record = M.C.Spelling;
  // Code for a record from a header stands in the global namespace.
  bool Global = !M.C.Type.Private || llvm::StringRef(M.C.Type.Name).contains("::") || !Record.contains("::");
  return Global ? Name : Record.take_front(Record.rfind("::") + 2).str() + Name;
}

Pieces call(const std::string &Function, std::initializer_list<Pieces> Arguments) {
  Pieces Out{Function + "("};
  bool First = true;
  for (const Pieces &A : Arguments) {
    if (!First)
      Out.push_back(", ");
    First = false;
    add(Out, A);
  }
  Out.push_back(")");
  return Out;
}

Pieces element(const Move &M, const Element &E) {
  Pieces Out = base(E);
  Index At = indexFor(M, E);
  if (E.ToElement && At.Terms.empty())
    return Out;
  Out.push_back("[");
  add(Out, index(At, false));
  Out.push_back("]");
  return Out;
}

std::optional<Edit> accessEdit(const Move &M, const Access &A, HelperNeeds &Needs) {
  bool ByName = A.What.Elsewhere;
  Pieces Base = base(A.What), At = index(indexFor(M, A.What), false);
  if (M.L.elementIsRecord()) {
    // The element still is a record; only what an alias named must be spelled out.
    Pieces Out = element(M, A.What);
    addSteps(Out, A.Path, 0, A.Path.size(), true, true);
    if (A.K == Access::Store) {
      Pieces Store{"static_cast<" + M.C.Spelling + " &>("};
      add(Store, Out);
      add(Store, {") = ", *A.Value});
      return Edit{A.Whole, Store};
    }
    if (A.K == Access::Load && A.Deduced) {
      Pieces Load{"static_cast<const " + M.C.Spelling + " &>("};
      add(Load, Out);
      Load.push_back(")");
      return Edit{A.Whole, Load};
    }
    if (!ByName)
      return std::nullopt;
    if (A.K == Access::PartStore)
      add(Out, {" = ", *A.Value});
    return Edit{A.Whole, Out};
  }
  switch (A.K) {
  case Access::Address: // of numbers alone
    return std::nullopt;
  case Access::Leaf:
    return Edit{A.Whole, leafAccess(M, A.What, A.Path)};
  case Access::Load:
  case Access::PartLoad: {
    if (isLeaf(M.C.Type, A))
      return Edit{A.Whole, leafAccess(M, A.What, A.Path)};
    Needs.Load = true;
    Pieces Out = call(function(M, "load"), {Base, At});
    addSteps(Out, A.Path, 0, A.Path.size(), true, true);
    return Edit{A.Whole, Out};
  }
  case Access::Store:
    Needs.Store = true;
    return Edit{A.Whole, call(function(M, "store"), {Base, At, {*A.Value}})};
  case Access::PartStore: {
    if (isLeaf(M.C.Type, A)) {
      Pieces Out = leafAccess(M, A.What, A.Path);
      add(Out, {" = ", *A.Value});
      return Edit{A.Whole, Out};
    }
    std::vector<std::string> Path;
    for (const Step &S : A.Path)
      Path.push_back(S.Member);
    Needs.PartStores.insert(Path);
    return Edit{A.Whole, call(function(M, storeName(Path)), {Base, At, {*A.Value}})};
  }
  }
  return std::nullopt;
}

/// The element is a record, or the nested record stays whole: the call stays
/// and its object is spelled anew.
static Edit objectEdit(const MemberCall &C, Pieces Object) {
  if (!C.Operator)
    Object.push_back(".");
  return {C.Object, Object, C.Instance};
}

std::optional<Edit> memberCallEdit(const Move &M, const MemberCall &C, HelperNeeds &Needs) {
  bool WithSubscripts = false;
  if (M.L.elementIsRecord()) {
    if (!C.What.Elsewhere && !C.Deduced)
      return std::nullopt;
    Pieces Out = element(M, C.What);
    addSteps(Out, C.Path, 0, C.Path.size(), true, true);
    if (C.Deduced) {
      Out.insert(Out.begin(), "static_cast<" + M.C.Spelling + " &>(");
      Out.push_back(")");
    }
    return objectEdit(C, Out);
  }
  if (leafDepth(M.C.Type, C.Path, WithSubscripts))
    return objectEdit(C, leafAccess(M, C.What, C.Path));
  MethodUse Use{{}, C.Method};
  for (const Step &S : C.Path)
    Use.Path.push_back(S.Member);
  Needs.Methods.insert(Use);
  Pieces Out{function(M, methodFunction(M.C, Use)) + "("};
  add(Out, base(C.What));
  Out.push_back(", ");
  add(Out, index(indexFor(M, C.What), false));
  for (const Range &A : C.Arguments)
    add(Out, {", ", A});
  Out.push_back(")");
  return Edit{C.Whole, Out, C.Instance};
}

} // namespace restride

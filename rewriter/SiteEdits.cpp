#include "rewriter/SiteEdits.h"

#include "rewriter/ElementCode.h"

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

static Pieces base(const Element &E) { return E.BaseName.empty() ? Pieces{E.Base} : Pieces{E.BaseName}; }

/// The index without what stands for a parameter's place where that is a
/// pointer or reference to the element still.
static Index indexFor(const Move &M, const Element &E) {
  Index Out = E.At;
  if (M.L.elementIsRecord())
    std::erase_if(Out.Terms, [](const IndexTerm &T) { return T.Parameter; });
  return Out;
}

/// The index as an expression. A sum is formed in 64 bits, as pointer
/// arithmetic would: "(ptrdiff_t)i + k".
static Pieces index(const Index &I, bool AsOperand) {
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
static Pieces leafAccess(const Move &M, const Access &A) {
  bool WithSubscripts = false;
  size_t Depth = leafDepth(M.C.Type, A.Path, WithSubscripts).value_or(A.Path.size());
  Pieces Out;
  llvm::StringRef Pattern = M.L.accessPattern();
  for (size_t I = 0; I < Pattern.size(); ++I) {
    if (Pattern[I] != '$') {
      Out.push_back(std::string(1, Pattern[I]));
      continue;
    }
    char What = Pattern[++I];
    bool Alone = Pattern.substr(I + 1).starts_with("]");
    if (What == 'b')
      add(Out, base(A.What));
    else if (What == 'i')
      add(Out, index(indexFor(M, A.What), !Alone));
    else
      addSteps(Out, A.Path, 0, Depth, true, WithSubscripts);
  }
  if (!WithSubscripts && Depth > 0)
    for (const Range &R : A.Path[Depth - 1].Subscripts)
      add(Out, {"[", R, "]"});
  addSteps(Out, A.Path, Depth, A.Path.size(), true, true);
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

static Pieces call(const std::string &Function, std::initializer_list<Pieces> Arguments) {
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

/// The element where it is a record still.
static Pieces element(const Move &M, const Element &E) {
  Pieces Out = base(E);
  Index At = indexFor(M, E);
  if (E.ToElement && At.Terms.empty())
    return Out;
  Out.push_back("[");
  add(Out, index(At, false));
  Out.push_back("]");
  return Out;
}

static std::optional<Edit> accessEdit(const Move &M, const Access &A, HelperNeeds &Needs) {
  bool ByName = !A.What.BaseName.empty();
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
  case Access::Leaf:
    return Edit{A.Whole, leafAccess(M, A)};
  case Access::Load:
  case Access::PartLoad: {
    if (isLeaf(M.C.Type, A))
      return Edit{A.Whole, leafAccess(M, A)};
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
      Pieces Out = leafAccess(M, A);
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

static void callEdits(const Move &M, const HostCall &H, const HelperNeeds &Needs, std::vector<Edit> &Out) {
  bool Frees = H.What == HostCall::Free || H.What == HostCall::FreeAsync;
  if (Frees && !M.L.handleIsStruct())
    return;
  Out.push_back({H.Callee, {helperName(M.Handle, H.What)}});
  if (H.symbol())
    return;
  if (H.What <= HostCall::MallocAsync) {
    const HostCall::Pointer &P = H.Pointers[0];
    if (P.Plain && *P.Plain != P.Whole)
      Out.push_back({P.Whole, {*P.Plain}});
    return;
  }
  bool Fill = H.What == HostCall::Memset || H.What == HostCall::MemsetAsync;
  bool Within = H.Pointers.size() == 2, In = !Within && H.Pointers[0].Argument == 0;
  bool At = Frees ? false : Fill ? Needs.FillAt : Within ? Needs.WithinAt : In ? Needs.InAt : Needs.OutAt;
  for (const HostCall::Pointer &P : H.Pointers) {
    Pieces With = base(P.What);
    if (At) {
      With.push_back(", ");
      add(With, index(indexFor(M, P.What), false));
    }
    if (With != Pieces{P.Whole})
      Out.push_back({P.Whole, With});
  }
}

static void callNeeds(const HostCall &H, const Move &M, HelperNeeds &Needs) {
  bool Offset = false;
  for (const HostCall::Pointer &P : H.Pointers)
    Offset |= !P.What.At.Terms.empty();
  if (H.symbol()) {
    Needs.Symbol.insert(H.What);
    return;
  }
  switch (H.What) {
  case HostCall::Malloc:
  case HostCall::MallocManaged:
  case HostCall::MallocAsync:
    Needs.Allocate.insert(H.What);
    break;
  case HostCall::Free:
  case HostCall::FreeAsync:
    if (M.L.handleIsStruct())
      Needs.Release.insert(H.What);
    break;
  case HostCall::Memset:
  case HostCall::MemsetAsync:
    Needs.Fill.insert(H.What);
    Needs.FillAt |= Offset;
    break;
  case HostCall::Memcpy:
  case HostCall::MemcpyAsync:
    if (H.Pointers.size() == 2)
      Needs.Within.insert(H.What), Needs.WithinAt |= Offset;
    else if (H.Pointers[0].Argument == 0)
      Needs.In.insert(H.What), Needs.InAt |= Offset;
    else
      Needs.Out.insert(H.What), Needs.OutAt |= Offset;
    break;
  default:
    break;
  }
}

void addCallNeeds(const Move &M, HelperNeeds &Needs) {
  for (const HostCall &H : M.C.Calls)
    callNeeds(H, M, Needs);
}

/// The pointer, moved by its index where there is one.
static std::optional<Pieces> shifted(const Move &M, const Element &What, HelperNeeds &Needs) {
  Index At = indexFor(M, What);
  if (At.Terms.empty())
    return std::nullopt;
  if (M.L.handleIsStruct()) {
    Needs.Shift = true;
    return call(M.Handle + "_at", {base(What), index(At, false)});
  }
  if (What.BaseName.empty() && At.Terms.size() == What.At.Terms.size())
    return std::nullopt; // as it is written
  Pieces With = base(What);
  With.push_back(" + ");
  add(With, index(At, true));
  return With;
}

static std::optional<Pieces> argument(const Move &M, const Argument &A, HelperNeeds &Needs) {
  if (A.Indexed && !M.L.elementIsRecord()) {
    Pieces With = base(A.What);
    With.push_back(", ");
    add(With, index(indexFor(M, A.What), false));
    return With;
  }
  if (!A.ByReference)
    return shifted(M, A.What, Needs);
  if (A.What.BaseName.empty())
    return std::nullopt;
  return element(M, A.What);
}

std::vector<Edit> siteEdits(const Move &M, HelperNeeds &Needs) {
  std::vector<Edit> Out;
  auto Label = [&](size_t From, unsigned Instance) {
    for (size_t I = From; I < Out.size(); ++I)
      Out[I].Instance = Instance;
  };
  auto Replace = [&](Range Where, Pieces With, unsigned Instance) { Out.push_back({Where, std::move(With), Instance}); };
  for (const Access &A : M.C.Accesses)
    if (std::optional<Edit> E = accessEdit(M, A, Needs))
      Replace(E->Where, E->With, A.Instance);
  for (const Alias &A : M.C.Aliases) {
    Pieces With{"const ptrdiff_t " + A.Name + " = "};
    add(With, index(indexFor(M, A.What), false));
    Replace(A.Declaration, With, A.Instance);
  }
  for (const Shift &S : M.C.Shifts)
    if (std::optional<Pieces> With = shifted(M, S.What, Needs))
      Replace(S.Whole, *With, S.Instance);
  for (const Argument &A : M.C.Arguments)
    if (A.Whole.End)
      if (std::optional<Pieces> With = argument(M, A, Needs))
        Replace(A.Whole, *With, A.Instance);
  for (const SizeOf &S : M.C.Sizes) {
    Needs.ArrayBytes |= S.Array.has_value();
    Replace(S.Operand, S.Array ? Pieces{M.Handle + "_bytes(", *S.Array, ")"} : Pieces{"(" + M.C.Spelling + ")"}, S.Instance);
  }
  if (M.L.handleIsStruct()) {
    std::string First = leaves(M.C.Type)[0].Path;
    for (const NullValue &N : M.C.Nulls)
      Replace(N.Whole, {"{}"}, N.Instance);
    for (const PointerTest &T : M.C.Tests)
      Replace(T.Pointer, {T.Pointer, First}, T.Instance);
  }
  for (const HostCall &H : M.C.Calls) {
    size_t From = Out.size();
    callEdits(M, H, Needs, Out);
    Label(From, H.Instance);
  }
  return Out;
}

} // namespace restride

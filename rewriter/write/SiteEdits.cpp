#include "rewriter/write/SiteEdits.h"

#include "rewriter/write/AccessEdits.h"
#include "rewriter/write/OwnerCode.h"

namespace restride {

static llvm::StringRef runtimeName(HostCall::Api What) {
  switch (What) {
  case HostCall::MemcpyAsync:
    return "cudaMemcpyAsync";
  case HostCall::Memset:
    return "cudaMemset";
  case HostCall::MemsetAsync:
    return "cudaMemsetAsync";
  default:
    return "cudaMemcpy";
  }
}

/// The array that has the field, in a handle that is a struct.
static HandleArray arrayOf(const Move &M, llvm::StringRef Field) {
  for (HandleArray &A : M.L.arrays(M.C.Type, M.Handle))
    if (A.Path == ("." + Field).str() || llvm::is_contained(A.Fields, Field))
      return std::move(A);
  return {};
}

/// A copy of one field: where that is an array of its own the runtime's copy does.
static void fieldCopyEdits(const Move &M, const HostCall &H, HelperNeeds &Needs, std::vector<Edit> &Out) {
  const HostCall::Pointer &P = H.Pointers[0];
  Pieces With = base(P.What);
  Index At = indexFor(M, P.What);
  std::string Element = M.Handle;
  bool Own = false;
  if (M.L.handleIsStruct()) {
    HandleArray Array = arrayOf(M, H.Field);
    With.push_back(Array.Path);
    Element = Array.Type;
    Own = Array.Fields.empty();
    if (!At.Terms.empty()) {
      With.push_back(" + ");
      add(With, index(At, true));
    }
  } else if (Needs.Fields[Element].At) {
    With.push_back(", ");
    add(With, index(At, false));
  }
  Out.push_back({H.Callee, {Own ? runtimeName(H.What).str() : fieldCopyName(Element, H.What)}});
  if (!Own)
    With.push_back(", &" + Element + "::" + H.Field);
  Out.push_back({P.Whole, With});
}

static void callEdits(const Move &M, const HostCall &H, HelperNeeds &Needs, std::vector<Edit> &Out) {
  if (!H.Field.empty())
    return fieldCopyEdits(M, H, Needs, Out);
  if (H.What == HostCall::From) {
    Out.push_back({H.Callee, {helperName(M.Handle, H.What) + "(", H.Callee, ", ", *H.Count, ")"}});
    return;
  }
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
  bool Fill = H.What == HostCall::Memset || H.What == HostCall::MemsetAsync || H.What == HostCall::HostMemset;
  bool Within = H.Pointers.size() == 2, In = !Within && H.Pointers[0].Argument == 0;
  bool Hint = H.What == HostCall::Prefetch || H.What == HostCall::Advise;
  bool At = Frees ? false : Hint ? Needs.HintAt : Fill ? Needs.FillAt : Within ? Needs.WithinAt : In ? Needs.InAt : Needs.OutAt;
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
  if (!H.Field.empty()) {
    HandleArray Array = M.L.handleIsStruct() ? arrayOf(M, H.Field) : HandleArray{"", M.Handle, "", 0, {H.Field}};
    if (Array.Fields.empty())
      return;
    FieldCopyNeeds &Copies = Needs.Fields[Array.Type];
    Copies.add(H.What, H.Pointers[0].Argument);
    Copies.At |= Offset;
    return;
  }
  if (H.symbol()) {
    Needs.Symbol.insert(H.What);
    return;
  }
  switch (H.What) {
  case HostCall::From:
    Needs.From = true;
    Needs.Allocate.insert(HostCall::Malloc);
    break;
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
  case HostCall::HostMemset:
    Needs.HostFill = true;
    Needs.FillAt |= Offset;
    break;
  case HostCall::Prefetch:
  case HostCall::Advise:
    Needs.Hints.insert(H.What);
    Needs.HintAt |= Offset;
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
  if (Needs.Owner.empty())
    Needs.Owner = M.C.Owner;
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
  if (!What.Elsewhere && At.Terms.size() == What.At.Terms.size())
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
  if (!A.What.Elsewhere)
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
  for (const MemberCall &C : M.C.MemberCalls)
    if (std::optional<Edit> E = memberCallEdit(M, C, Needs))
      Out.push_back(std::move(*E));
  for (const Alias &A : M.C.Aliases) {
    if (A.Statement) {
      Replace(*A.Statement, {}, A.Instance);
      continue;
    }
    Pieces With{(!A.First ? "" : A.Walks ? "ptrdiff_t " : "const ptrdiff_t ") + A.Name + " = "};
    add(With, index(indexFor(M, A.What), false));
    Replace(A.Declaration, With, A.Instance);
  }
  for (const Shift &S : M.C.Shifts)
    if (std::optional<Pieces> With = shifted(M, S.What, Needs))
      Replace(S.Whole, *With, S.Instance);
  for (const ElementPlace &S : M.C.Places) {
    const Index At = indexFor(M, S.What);
    Pieces With{S.Unsigned ? "(ptrdiff_t)" : ""};
    add(With, index(At, S.Unsigned || S.Subtracted || At.Terms.size() == 1));
    Replace(S.Whole, With, S.Instance);
  }
  for (const Argument &A : M.C.Arguments)
    if (A.Whole.End)
      if (std::optional<Pieces> With = argument(M, A, Needs))
        Replace(A.Whole, *With, A.Instance);
  for (const SizeOf &S : M.C.Sizes) {
    Needs.ArrayBytes |= S.Array.has_value();
    Replace(S.Operand, S.Array ? Pieces{M.Handle + "_bytes(", *S.Array, ")"} : Pieces{"(" + M.C.Spelling + ")"}, S.Instance);
  }
  if (M.L.handleIsStruct()) {
    std::string First = M.L.arrays(M.C.Type, M.Handle)[0].pointer();
    for (const NullValue &N : M.C.Nulls)
      Replace(N.Whole, {"{}"}, N.Instance);
    for (const PointerTest &T : M.C.Tests)
      Replace(T.Pointer, T.Primary ? Pieces{T.Pointer, First} : Pieces{"(", T.Pointer, ")", First}, T.Instance);
  }
  for (const OwnerName &N : M.C.OwnerNames)
    Replace(N.Whole, {(llvm::StringRef(M.C.Type.Name).contains("::") ? "" : N.Scope) + ownerName(M.Handle)}, N.Instance);
  for (const Respelling &R : M.C.Respellings)
    Out.push_back({R.Where, {R.With}, R.Instance, true});
  for (const HostCall &H : M.C.Calls) {
    size_t From = Out.size();
    callEdits(M, H, Needs, Out);
    Label(From, H.Instance);
  }
  return Out;
}

} // namespace restride

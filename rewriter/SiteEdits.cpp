#include "rewriter/SiteEdits.h"

#include "llvm/ADT/StringExtras.h"

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

static void add(Pieces &To, const Pieces &From) { To.insert(To.end(), From.begin(), From.end()); }

static Pieces base(const Element &E) { return E.BaseName.empty() ? Pieces{E.Base} : Pieces{E.BaseName}; }

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
      add(Out, index(A.What.At, !Alone));
    else
      addSteps(Out, A.Path, 0, Depth, true, WithSubscripts);
  }
  if (!WithSubscripts && Depth > 0)
    for (const Range &R : A.Path[Depth - 1].Subscripts)
      add(Out, {"[", R, "]"});
  addSteps(Out, A.Path, Depth, A.Path.size(), true, true);
  return Out;
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

static std::optional<Edit> accessEdit(const Move &M, const Access &A, HelperNeeds &Needs) {
  bool ByName = !A.What.BaseName.empty();
  Pieces Base = base(A.What), At = index(A.What.At, false);
  if (M.L.elementIsRecord()) {
    // The element still is a record; only what an alias named must be spelled out.
    Pieces Out = Base;
    add(Out, {"["});
    add(Out, At);
    add(Out, {"]"});
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
    Pieces Out = call(M.Handle + "_load", {Base, At});
    addSteps(Out, A.Path, 0, A.Path.size(), true, true);
    return Edit{A.Whole, Out};
  }
  case Access::Store:
    Needs.Store = true;
    return Edit{A.Whole, call(M.Handle + "_store", {Base, At, {*A.Value}})};
  case Access::PartStore: {
    if (isLeaf(M.C.Type, A)) {
      Pieces Out = leafAccess(M, A);
      add(Out, {" = ", *A.Value});
      return Edit{A.Whole, Out};
    }
    std::vector<std::string> Path;
    std::string Name = M.Handle + "_store";
    for (const Step &S : A.Path) {
      Path.push_back(S.Member);
      Name += "_" + S.Member;
    }
    Needs.PartStores.insert(Path);
    return Edit{A.Whole, call(Name, {Base, At, {*A.Value}})};
  }
  }
  return std::nullopt;
}

static void callEdits(const Move &M, const HostCall &H, const HelperNeeds &Needs, std::vector<Edit> &Out) {
  bool Frees = H.What == HostCall::Free || H.What == HostCall::FreeAsync;
  if (Frees && !M.L.handleIsStruct())
    return;
  Out.push_back({H.Callee, {helperName(M.Handle, H.What)}});
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
      add(With, index(P.What.At, false));
    }
    if (With != Pieces{P.Whole})
      Out.push_back({P.Whole, With});
  }
}

static void callNeeds(const HostCall &H, const Move &M, HelperNeeds &Needs) {
  bool Offset = false;
  for (const HostCall::Pointer &P : H.Pointers)
    Offset |= !P.What.At.Terms.empty();
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
  }
}

void addCallNeeds(const Move &M, HelperNeeds &Needs) {
  for (const HostCall &H : M.C.Calls)
    callNeeds(H, M, Needs);
}

std::vector<Edit> siteEdits(const Move &M, llvm::StringRef Source, HelperNeeds &Needs) {
  std::vector<Edit> Out;
  for (const Access &A : M.C.Accesses)
    if (std::optional<Edit> E = accessEdit(M, A, Needs))
      Out.push_back(*E);
  for (const Alias &A : M.C.Aliases) {
    Pieces With{"const ptrdiff_t " + A.Name + " = "};
    add(With, index(A.What.At, false));
    Out.push_back({A.Declaration, With});
  }
  for (const Shift &S : M.C.Shifts) {
    if (M.L.handleIsStruct()) {
      Needs.Shift = true;
      Out.push_back({S.Whole, call(M.Handle + "_at", {base(S.What), index(S.What.At, false)})});
    } else if (!S.What.BaseName.empty()) {
      Pieces With = base(S.What);
      With.push_back(" + ");
      add(With, index(S.What.At, true));
      Out.push_back({S.Whole, With});
    }
  }
  for (const SizeOf &S : M.C.Sizes)
    Out.push_back({S.Operand, {"(" + M.C.Spelling + ")"}});
  if (M.L.handleIsStruct()) {
    std::string First = leaves(M.C.Type)[0].Path;
    for (const NullValue &N : M.C.Nulls)
      Out.push_back({N.Whole, {"{}"}});
    for (const PointerTest &T : M.C.Tests)
      Out.push_back({T.Pointer, {T.Pointer, First}});
  }
  for (const HostCall &H : M.C.Calls)
    callEdits(M, H, Needs, Out);
  return Out;
}

/// The specifiers with the record's name replaced. A struct handle is no
/// pointer to const: "static const P " becomes "static PSoA ".
static std::string specifiers(const Declaration &D, const Move &M, llvm::StringRef Source) {
  llvm::StringRef Before = Source.slice(D.Specifiers.Begin, D.RecordName.Begin);
  llvm::StringRef Name = Source.slice(D.RecordName.Begin, D.RecordName.End);
  llvm::StringRef After = Source.slice(D.RecordName.End, D.Specifiers.End);
  // "struct geo::P" keeps "geo::". Code for a record from a header stands in the
  // global namespace.
  bool Elsewhere = llvm::StringRef(M.C.Type.Name).contains("::");
  size_t Colon = Elsewhere ? llvm::StringRef::npos : Name.rfind("::");
  std::string Qualifier;
  if (Colon != llvm::StringRef::npos)
    Qualifier = Name.take_front(Colon + 2).rsplit(' ').second.empty() ? Name.take_front(Colon + 2).str()
                                                                      : Name.take_front(Colon + 2).rsplit(' ').second.str();
  std::string Out = Before.str() + Qualifier + M.Handle + After.str();
  if (!M.L.handleIsStruct())
    return Out;
  std::string Kept;
  for (llvm::StringRef W : llvm::split(Out, ' '))
    if (!W.empty() && W != "const" && W != "volatile")
      Kept += W.str() + " ";
  return Kept;
}

static bool sameMove(const Move *A, const Move *B) { return A == B || (A && B && A->Handle == B->Handle); }

/// Declarator without its star for a struct handle.
static Pieces declarator(const Declarator &D, const Move *M) {
  if (!M || !M->L.handleIsStruct())
    return {D.Text};
  Pieces Out;
  if (!D.Reference.empty())
    Out.push_back(D.Reference);
  unsigned End = D.Suffix ? D.Suffix->Begin : D.Text.End;
  if (D.Name.Begin < End)
    Out.push_back(Range{D.Name.Begin, End});
  return Out;
}

/// The comma before declarator \p I, with blanks and comments around it.
static llvm::StringRef separator(const Declaration &D, size_t I, llvm::StringRef Source) {
  return Source.slice(D.Declarators[I - 1].Text.End, D.Declarators[I].Text.Begin);
}

std::vector<Edit> declarationEdits(llvm::ArrayRef<Declaration> Declarations, llvm::ArrayRef<const Move *> Moves, llvm::StringRef Source) {
  std::vector<Edit> Out;
  for (const Declaration &D : Declarations) {
    auto MoveOf = [&](const Declarator &One) { return One.Candidate < 0 ? nullptr : Moves[One.Candidate]; };
    const Move *First = MoveOf(D.Declarators.front());
    bool Same = true, Any = false;
    for (const Declarator &One : D.Declarators) {
      Same &= sameMove(MoveOf(One), First);
      Any |= MoveOf(One) != nullptr;
    }
    if (!Any)
      continue;
    if (D.Auto) {
      // "auto *q = p": the star goes, the type follows the initialiser.
      for (const Declarator &One : D.Declarators)
        if (const Move *M = MoveOf(One); M && M->L.handleIsStruct() && One.Name.Begin > One.Text.Begin)
          Out.push_back({{One.Text.Begin, One.Name.Begin}, {One.Reference}});
      continue;
    }
    if (Same && !First->L.handleIsStruct()) {
      llvm::StringRef Old = Source.slice(D.RecordName.Begin, D.RecordName.End);
      std::string New = specifiers(D, *First, Source);
      New = New.substr(D.RecordName.Begin - D.Specifiers.Begin, New.size() - (D.RecordName.Begin - D.Specifiers.Begin) - (D.Specifiers.End - D.RecordName.End));
      if (Old != New)
        Out.push_back({D.RecordName, {New}});
      continue;
    }
    if (Same) {
      // An unnamed parameter has nothing behind its type; a function's result has the function's name.
      bool Unnamed = llvm::StringRef(",)").contains(Source.substr(D.Declarators.back().Text.End).take_front(1)) &&
                     declarator(D.Declarators.front(), First).empty();
      std::string Type = specifiers(D, *First, Source);
      Pieces With{Unnamed ? llvm::StringRef(Type).rtrim().str() : Type};
      for (size_t I = 0; I < D.Declarators.size(); ++I) {
        if (I > 0)
          With.push_back(separator(D, I, Source).str());
        add(With, declarator(D.Declarators[I], First));
      }
      Out.push_back({{D.Specifiers.Begin, D.Declarators.back().Text.End}, With});
      continue;
    }
    // Neighbours part: one declaration for each run of the same type, in order.
    size_t Line = Source.rfind('\n', D.Specifiers.Begin);
    size_t LineBegin = Line == llvm::StringRef::npos ? 0 : Line + 1;
    llvm::StringRef Indent = Source.slice(LineBegin, D.Specifiers.Begin);
    std::string Break = Indent.trim().empty() ? ";\n" + Indent.str() : "; ";
    Pieces With;
    const Move *Before = nullptr;
    for (size_t I = 0; I < D.Declarators.size(); ++I) {
      const Move *M = MoveOf(D.Declarators[I]);
      if (I > 0 && sameMove(M, Before)) {
        With.push_back(separator(D, I, Source).str());
      } else {
        if (I > 0) {
          // A comment behind the comma goes behind the semicolon.
          llvm::StringRef Comment = separator(D, I, Source).ltrim().drop_front().trim();
          With.push_back(Comment.empty() ? Break : "; " + Comment.str() + "\n" + (Indent.trim().empty() ? Indent.str() : ""));
        }
        With.push_back(M ? specifiers(D, *M, Source) : Source.slice(D.Specifiers.Begin, D.Specifiers.End).str());
      }
      add(With, declarator(D.Declarators[I], M));
      Before = M;
    }
    Out.push_back({{D.Specifiers.Begin, D.Declarators.back().Text.End}, With});
  }
  return Out;
}

} // namespace restride

// Respells declarations whose type is a candidate's pointer.

#include "rewriter/write/SiteEdits.h"

#include "rewriter/write/OwnerCode.h"

#include "llvm/ADT/StringExtras.h"

namespace restride {

/// The specifiers with the record's name replaced. A struct handle is no
/// pointer to const: "static const P " becomes "static PSoA ".
static std::string specifiers(const Declaration &D, const Move &M, llvm::StringRef Source) {
  llvm::StringRef Before = Source.slice(D.Specifiers.Begin, D.RecordName.Begin);
  llvm::StringRef Name = Source.slice(D.RecordName.Begin, D.RecordName.End);
  llvm::StringRef After = Source.slice(D.RecordName.End, D.Specifiers.End);
  // "struct geo::P" keeps "geo::". Code for a record from a header stands in the
  // global namespace.
  bool Elsewhere = llvm::StringRef(M.C.Type.Name).contains("::");
  size_t Colon = Elsewhere || D.Owner ? llvm::StringRef::npos : Name.rfind("::");
  std::string Qualifier;
  if (Colon != llvm::StringRef::npos)
    Qualifier = Name.take_front(Colon + 2).rsplit(' ').second.empty() ? Name.take_front(Colon + 2).str()
                                                                      : Name.take_front(Colon + 2).rsplit(' ').second.str();
  if (D.Scope && !Elsewhere)
    Qualifier = *D.Scope;
  std::string Handle = D.Owner ? ownerName(M.Handle) : M.Handle;
  if (M.L.handleIsArray()) { // "[2 * N]" becomes "<(2 * N)>"
    Range Suffix = *D.Declarators.front().Suffix;
    llvm::StringRef Extent = Source.slice(Suffix.Begin, Suffix.End).trim().drop_front().drop_back().trim();
    bool Word = llvm::all_of(Extent, [](char C) { return llvm::isAlnum(C) || C == '_' || C == ':'; });
    Handle += Word ? "<" + Extent.str() + ">" : "<(" + Extent.str() + ")>";
  }
  std::string Out = Before.str() + Qualifier + Handle + After.str();
  if (!M.L.handleIsStruct() || D.Owner)
    return Out;
  std::string Kept;
  for (llvm::StringRef W : llvm::split(Out, ' '))
    if (!W.empty() && W != "const" && W != "volatile")
      Kept += W.str() + " ";
  return Kept;
}

static bool sameMove(const Move *A, const Move *B) { return A == B || (A && B && A->Handle == B->Handle); }

/// Declarator without its star for a struct handle, and with the index that
/// stands beside it.
static Pieces declarator(const Declaration &Of, const Declarator &D, const Move *M) {
  if (!M || Of.Owner || M->L.elementIsRecord())
    return {D.Text};
  Pieces Out;
  if (M->L.handleIsStruct()) {
    if (!D.Reference.empty())
      Out.push_back(D.Reference);
    unsigned End = D.Suffix ? D.Suffix->Begin : D.Text.End;
    if (D.Name.Begin < End)
      Out.push_back(Range{D.Name.Begin, End});
  } else if (D.ToElement) {
    Out.push_back("*");
    if (D.Name.Begin < D.Text.End)
      Out.push_back(Range{D.Name.Begin, D.Text.End});
  } else {
    Out.push_back(D.Text);
  }
  if (!D.Index.empty()) {
    Out.push_back(", ptrdiff_t" + (D.Index == " " ? "" : " " + D.Index));
    if (D.HasDefault)
      Out.push_back(" = 0");
  }
  return Out;
}

std::string besideDeclarator(const Declaration &D, const Declarator &One, const Move &M, const std::string &Name, llvm::StringRef Source) {
  std::string Type = specifiers(D, M, Source);
  if (M.L.handleIsStruct())
    return Type + Name + ";";
  return Type + Source.slice(One.Text.Begin, One.Name.Begin).str() + Name + Source.slice(One.Name.End, One.Text.End).str() + ";";
}

/// Nothing but the record's name changes.
static bool keepsDeclarators(const Declaration &D, const Move &M) {
  return D.Owner || M.L.elementIsRecord() ||
         (!M.L.handleIsStruct() && llvm::all_of(D.Declarators, [](const Declarator &One) { return One.Index.empty() && !One.ToElement; }));
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
        if (const Move *M = MoveOf(One); M && !D.Owner && M->L.handleIsStruct() && One.Name.Begin > One.Text.Begin)
          Out.push_back({{One.Text.Begin, One.Name.Begin}, {One.Reference}, D.Instance});
      continue;
    }
    if (Same && keepsDeclarators(D, *First)) {
      llvm::StringRef Old = Source.slice(D.RecordName.Begin, D.RecordName.End);
      std::string New = specifiers(D, *First, Source);
      New = New.substr(D.RecordName.Begin - D.Specifiers.Begin, New.size() - (D.RecordName.Begin - D.Specifiers.Begin) - (D.Specifiers.End - D.RecordName.End));
      if (Old != New)
        Out.push_back({D.RecordName, {New}, D.Instance});
      continue;
    }
    if (Same) {
      // An unnamed parameter has nothing behind its type, and `operator P *` its parentheses; a function's result has the function's name.
      bool Unnamed = llvm::StringRef(",()").contains(Source.substr(D.Declarators.back().Text.End).take_front(1)) &&
                     D.Declarators.front().Name.Begin == D.Declarators.front().Name.End && First->L.handleIsStruct();
      std::string Type = specifiers(D, *First, Source);
      Pieces With{Unnamed ? llvm::StringRef(Type).rtrim().str() : Type};
      for (size_t I = 0; I < D.Declarators.size(); ++I) {
        if (I > 0)
          With.push_back(separator(D, I, Source).str());
        add(With, declarator(D, D.Declarators[I], First));
      }
      Out.push_back({{D.Specifiers.Begin, D.Declarators.back().Text.End}, With, D.Instance});
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
      add(With, declarator(D, D.Declarators[I], M));
      Before = M;
    }
    Out.push_back({{D.Specifiers.Begin, D.Declarators.back().Text.End}, With, D.Instance});
  }
  return Out;
}

} // namespace restride

#include "rewriter/restore/Restore.h"

#include "rewriter/restore/RestoreUses.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

Sources sourcesOf(const Sources &From, const Rewritten &Text) {
  Sources Out;
  for (size_t I = 0; I < From.files().size(); ++I)
    Out.add(From.files()[I].Path, Text.file(I));
  return Out;
}

/// Edits in text that another one drops are not made.
static void dropInner(std::vector<Edit> &Edits) {
  llvm::stable_sort(Edits, [](const Edit &A, const Edit &B) {
    return std::pair(A.Where.Begin, B.Where.End) < std::pair(B.Where.Begin, A.Where.End);
  });
  Edits.erase(std::unique(Edits.begin(), Edits.end()), Edits.end());
  std::vector<bool> Dropped(Edits.size());
  for (size_t I = 0; I < Edits.size(); ++I)
    for (size_t K = I + 1; K < Edits.size() && Edits[K].Where.Begin < Edits[I].Where.End; ++K) {
      const Range &Inner = Edits[K].Where;
      if (!Edits[I].Where.contains(Inner))
        continue;
      bool Kept = llvm::any_of(Edits[I].With, [&](const Piece &P) { return P.Source && P.Source->contains(Inner) && Edits[I].Where != Inner; });
      Dropped[K] = Dropped[K] || !Kept;
    }
  size_t I = 0;
  std::erase_if(Edits, [&](const Edit &) { return Dropped[I++]; });
}

/// What makes no difference between an array and what it was made from.
static bool isQualifier(const TextToken &T) { return T == "const" || T == "__restrict__" || T == "__restrict" || T == "volatile"; }

/// A declaration at namespace or class scope that follows one with the same
/// tokens was its overload for another array.
static std::vector<Edit> repeatedDeclarations(llvm::StringRef Text) {
  std::vector<TextToken> Tokens = tokensOf(Text);
  std::vector<Edit> Out;
  std::vector<std::string> Before;
  std::vector<bool> Scopes; ///< of the braces around: they hold declarations
  for (size_t I = 0; I < Tokens.size();) {
    if (Tokens[I] == "}") {
      if (!Scopes.empty())
        Scopes.pop_back();
      Before.clear();
      ++I;
      continue;
    }
    // One declaration: up to a semicolon, a body, or the brace of a scope.
    size_t Begin = I;
    bool Scope = false, Function = false, Directive = Tokens[I] == "#";
    unsigned Line = Directive ? unsigned(Text.find('\n', Tokens[I].Where.Begin)) : 0;
    while (Directive && I < Tokens.size() && Tokens[I].Where.Begin < Line)
      ++I;
    if (Directive)
      continue;
    for (; I < Tokens.size() && !(Tokens[I] == ";") && !(Tokens[I] == "}"); ++I) {
      if (Tokens[I] == "namespace" || Tokens[I] == "struct" || Tokens[I] == "class" || Tokens[I] == "extern")
        Scope = !Function;
      if (Tokens[I] == "(" || Tokens[I] == "[") {
        Function |= Tokens[I] == "(";
        I = closing(Tokens, I);
      } else if (Tokens[I] == "{") {
        if (Scope && !Function)
          break;
        I = closing(Tokens, I);
        if (Function)
          break;
      }
    }
    if (I >= Tokens.size())
      break;
    if (Tokens[I] == "{") {
      Scopes.push_back(true);
      Before.clear();
      ++I;
      continue;
    }
    if (Tokens[I] == "}" && !Function)
      continue;
    std::vector<std::string> Now;
    for (size_t K = Begin; K <= I; ++K)
      if (!isQualifier(Tokens[K]))
        Now.push_back(Tokens[K].Text.str());
    if (Function && Now == Before)
      Out.push_back({{Tokens[Begin - 1].Where.End, Tokens[I].Where.End}, {}});
    Before = std::move(Now);
    ++I;
  }
  return Out;
}

/// Classes that were specialised because a handle took the record's pointer: the template says what they were.
static std::vector<Edit> specialisations(const HandleUses &U) {
  std::vector<Edit> Out;
  auto Handle = [&](const TextToken &T) {
    return llvm::any_of(U.Blocks, [&](const GeneratedBlock &B) { return B.Handle != B.Record && T == B.Handle; });
  };
  for (size_t I = 0; I < U.Tokens.size(); ++I) {
    if (!U.isCode(I) || !U.is(I, "template") || !U.is(I + 1, "<") || !U.is(I + 2, ">") || !(U.is(I + 3, "class") || U.is(I + 3, "struct")))
      continue;
    size_t Open = I + 4;
    while (Open < U.Tokens.size() && !U.is(Open, "{") && !U.is(Open, ";"))
      ++Open;
    const size_t Close = U.is(Open, "{") ? U.match(Open) : U.Tokens.size();
    if (!U.is(Close + 1, ";") || llvm::none_of(U.Tokens.slice(Open, Close - Open), Handle))
      continue;
    llvm::StringRef Before = U.Text.take_front(U.Tokens[I].Where.Begin).rtrim(" \t");
    Before.consume_back("\n");
    Before.consume_back("\r");
    Out.push_back({{unsigned(Before.size()), U.Tokens[Close + 1].Where.End}, {}});
    I = Close;
  }
  return Out;
}

Rewritten compose(const Rewritten &First, const Sources &Between, Rewritten Second) {
  std::vector<Rewritten::Copy> Copies;
  for (const Rewritten::Copy &C : Second.Copies) {
    size_t File = &Between.at(C.Old) - Between.files().begin();
    // Between has a line break behind each file.
    unsigned Old = C.Old - Between.files()[File].Text.Begin + First.Files[File].Begin;
    for (const Rewritten::Copy &D : First.Copies) {
      unsigned Begin = std::max(Old, D.New), End = std::min(Old + C.Length, D.New + D.Length);
      if (Begin < End)
        Copies.push_back({C.New + Begin - Old, D.Old + Begin - D.New, End - Begin});
    }
  }
  Second.Copies = std::move(Copies);
  return Second;
}

llvm::Expected<Rewritten> restore(const Sources &Text, llvm::ArrayRef<GeneratedBlock> Blocks) {
  std::vector<TextToken> Tokens = tokensOf(Text.text());
  HandleUses Uses(Text.text(), Tokens, Blocks);
  std::vector<Edit> Edits = Uses.Edits;
  llvm::append_range(Edits, accessesBefore(Uses));
  llvm::append_range(Edits, callsBefore(Uses));
  llvm::append_range(Edits, specialisations(Uses));
  dropInner(Edits);
  llvm::Expected<Rewritten> Out = applyEdits(Text, std::move(Edits));
  if (!Out)
    return Out.takeError();
  Sources Now = sourcesOf(Text, *Out);
  std::vector<Edit> Repeated = repeatedDeclarations(Now.text());
  if (Repeated.empty())
    return Out;
  llvm::Expected<Rewritten> Once = applyEdits(Now, std::move(Repeated));
  if (!Once)
    return Once.takeError();
  return compose(*Out, Now, std::move(*Once));
}

} // namespace restride

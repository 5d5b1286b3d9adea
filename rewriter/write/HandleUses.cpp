#include "rewriter/write/HandleUses.h"

#include "rewriter/write/OwnerCode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace restride {

HandleUses::HandleUses(llvm::StringRef Text, llvm::ArrayRef<TextToken> Tokens, llvm::ArrayRef<GeneratedBlock> Blocks)
    : Text(Text), Tokens(Tokens), Blocks(Blocks), Inside(Tokens.size()), Match(Tokens.size(), Tokens.size()) {
  for (const GeneratedBlock &B : Blocks) {
    Edits.push_back({B.Text, {}});
    for (size_t I = 0; I < Tokens.size(); ++I)
      if (B.Text.contains(Tokens[I].Where))
        Inside[I] = true;
  }
  matchBrackets();
  std::vector<size_t> Open;
  for (size_t I = 0; I < Tokens.size(); ++I) {
    if (is(I, "(") || is(I, "{") || is(I, "["))
      Open.push_back(I);
    else if ((is(I, ")") || is(I, "}") || is(I, "]")) && !Open.empty())
      Open.pop_back();
    if (!isCode(I) || !Tokens[I].Word)
      continue;
    for (size_t B = 0; B < Blocks.size(); ++B)
      if (Tokens[I].Text == Blocks[B].Handle)
        declaration(I, B, Open);
      else if (!Blocks[B].Owner.empty() && Tokens[I].Text == ownerName(Blocks[B].Handle))
        Edits.push_back({Tokens[I].Where, {Blocks[B].Owner}});
  }
  deduced();
  for (size_t I = 0; I < Tokens.size(); ++I)
    if (auto At = Renamed.find(Tokens[I].Text); At != Renamed.end() && isCode(I))
      Edits.push_back({Tokens[I].Where, {At->second}});
}

void HandleUses::matchBrackets() {
  std::vector<size_t> Open;
  for (size_t I = 0; I < Tokens.size(); ++I) {
    if (is(I, "(") || is(I, "{") || is(I, "["))
      Open.push_back(I);
    else if ((is(I, ")") || is(I, "}") || is(I, "]")) && !Open.empty()) {
      Match[I] = Open.back();
      Match[Open.back()] = I;
      Open.pop_back();
    }
  }
}

/// The brace of a class or a namespace.
bool HandleUses::holdsDeclarations(size_t Brace) const {
  bool Keyword = false;
  for (size_t I = Brace; I-- > 0 && !is(I, ";") && !is(I, "{") && !is(I, "}");)
    Keyword |= is(I, "struct") || is(I, "class") || is(I, "union") || is(I, "namespace") || is(I, "extern");
  return Keyword && !is(Brace - 1, ")") && !is(Brace - 1, "const");
}

/// The name at token \p Name holds the handle, as far as it is seen.
void HandleUses::name(size_t Name, size_t Block, llvm::ArrayRef<size_t> Open) {
  Scope S{Block, 0, Tokens.size()};
  if (!Open.empty() && is(Open.back(), "(")) { // a parameter: to the end of the body
    S.Begin = Name;
    size_t Body = std::min(Match[Open.back()], Tokens.size() - 1);
    while (Body < Tokens.size() && !is(Body, "{") && !is(Body, ";"))
      ++Body;
    S.End = is(Body, "{") ? Match[Body] : Body;
  } else if (!Open.empty() && is(Open.back(), "{") && !holdsDeclarations(Open.back())) {
    S = {Block, Name, Match[Open.back()]};
  }
  Names[Tokens[Name].Text].push_back(S);
}

/// The record as it is called where its handle stands.
std::string HandleUses::recordAt(size_t I, size_t Block) const {
  llvm::StringRef R = Blocks[Block].Record;
  return I > 0 && is(I - 1, "::") ? R.substr(R.rfind("::") == llvm::StringRef::npos ? 0 : R.rfind("::") + 2).str() : R.str();
}

/// "H p, ptrdiff_t p_index": returns the token of the comma behind it all; 0
/// where no index is there.
size_t HandleUses::indexBeside(size_t I, size_t Name, llvm::ArrayRef<size_t> Open) {
  size_t Comma = I; // behind the declarator; a default argument may follow
  while (Comma < Tokens.size() && !is(Comma, ",") && !is(Comma, ")")) {
    if (Match[Comma] < Tokens.size() && Match[Comma] > Comma)
      Comma = Match[Comma];
    ++Comma;
  }
  if (!is(Comma, ",") || !is(Comma + 1, "ptrdiff_t"))
    return 0;
  size_t End = Comma + 2;
  if (Name < Tokens.size()) {
    llvm::StringRef Rest = Tokens[End].Text;
    if (!Rest.consume_front(Tokens[Name].Text) || !Rest.consume_front("_index") || !llvm::all_of(Rest, llvm::isDigit))
      return 0;
    ++End;
  } else if (!is(End, ",") && !is(End, ")")) {
    return 0;
  }
  while (End < Tokens.size() && !is(End, ",") && !is(End, ")"))
    ++End;
  Edits.push_back({{Tokens[Comma].Where.Begin, Tokens[End - 1].Where.End}, {}});
  size_t Function = Open.back();
  if (Function > 0 && Tokens[Function - 1].Word) {
    unsigned Position = 1;
    for (size_t K = Function + 1; K < I; ++K) {
      if (Match[K] < Tokens.size() && Match[K] > K)
        K = Match[K];
      Position += is(K, ",");
    }
    Indexed[Tokens[Function - 1].Text].insert(Position);
  }
  return End;
}

/// A member beside the one that it was: "P *p; PSoA p_soa;".
void HandleUses::besides(size_t I, size_t Name, size_t Block) {
  llvm::StringRef Old = Tokens[Name].Text;
  size_t Bar = Old.rfind('_');
  if (Bar == llvm::StringRef::npos || I < 2 || !is(I - 1, ";") || !is(Name + 1, ";"))
    return;
  static constexpr llvm::StringRef Suffixes[] = {"soa", "groups", "tile", "align"};
  llvm::StringRef Stem = Old.take_front(Bar), Suffix = Old.drop_front(Bar + 1).rtrim("0123456789");
  if (!llvm::is_contained(Suffixes, Suffix) || Tokens[I - 2].Text != Stem)
    return;
  Edits.push_back({{Tokens[I - 1].Where.End, Tokens[Name + 1].Where.End}, {}});
  Renamed[Old] = Stem.str();
}

/// Further declarators behind the one at \p Name: "H a, b;".
void HandleUses::declarators(size_t Name, size_t Block, llvm::ArrayRef<size_t> Open) {
  bool Struct = Blocks[Block].handleIsStruct() && !Blocks[Block].Declared;
  for (size_t I = Name + 1; I < Tokens.size() && !is(I, ";") && !is(I, ")"); ++I) {
    if (is(I, "{") && !is(I - 1, "=") && I != Name + 1)
      return;
    if (Match[I] < Tokens.size() && Match[I] > I) {
      I = Match[I];
      continue;
    }
    if (!is(I, ","))
      continue;
    size_t Next = I + 1;
    unsigned At = Tokens[Next].Where.Begin;
    while (is(Next, "*") || is(Next, "&") || is(Next, "const") || is(Next, "__restrict__"))
      ++Next;
    if (Next >= Tokens.size() || !Tokens[Next].Word)
      return;
    if (Struct)
      Edits.push_back({{At, At}, {"*"}});
    name(Next, Block, Open);
    I = Next;
  }
}

void HandleUses::declaration(size_t I, size_t Block, llvm::ArrayRef<size_t> Open) {
  const GeneratedBlock &B = Blocks[Block];
  if (is(I + 1, "::")) // a function in it
    return;
  if (I > 1 && is(I - 1, "struct") && is(I - 2, "friend")) {
    llvm::StringRef Before = Text.take_front(Tokens[I - 2].Where.Begin).rtrim();
    Edits.push_back({{unsigned(Before.size()), Tokens[I + 1].Where.End}, {}});
    return;
  }
  bool Parameter = !Open.empty() && is(Open.back(), "(");
  size_t Next = I + 1;
  std::string Record = recordAt(I, Block);
  if (B.Declared) { // "H<N> p" was "P p[N]"
    if (!is(Next, "<"))
      return;
    size_t Begin = Next + 1;
    while (Next < Tokens.size() && !is(Next, ">"))
      Next = Match[Next] < Tokens.size() && Match[Next] > Next ? Match[Next] + 1 : Next + 1;
    if (Next + 1 >= Tokens.size())
      return;
    size_t Name = Next + 1, Last = Next;
    if (is(Begin, "(") && Match[Begin] + 1 == Next)
      ++Begin, --Last;
    Edits.push_back({{Tokens[I].Where.Begin, Tokens[Next].Where.End}, {Record}});
    Edits.push_back({Tokens[Name].Where, {Tokens[Name].Where, "[", range(Begin, Last), "]"}});
    name(Name, Block, Open);
    return;
  }
  size_t Stars = Next;
  while (is(Next, "*") || is(Next, "&") || is(Next, "&&") || is(Next, "const") || is(Next, "__restrict__") || is(Next, "__restrict") ||
         is(Next, "volatile"))
    ++Next;
  while (Next + 2 < Tokens.size() && Tokens[Next].Word && is(Next + 1, "::"))
    Next += 2;
  bool Named = Next < Tokens.size() && Tokens[Next].Word;
  if (Named && !Parameter && !B.Declared)
    besides(I, Next, Block);
  // Where the earlier run left the member's own declaration, this one goes.
  if (!Named || !Renamed.count(Tokens[Next].Text)) {
    if (!B.handleIsStruct()) {
      Edits.push_back({Tokens[I].Where, {Record}});
    } else if (Stars < Tokens.size() && (Tokens[Stars].Word || is(Stars, "*") || is(Stars, "&") || is(Stars, "&&"))) {
      Edits.push_back({{Tokens[I].Where.Begin, Tokens[Stars].Where.Begin}, {Record + " *"}});
    } else {
      Edits.push_back({Tokens[I].Where, {Record + " *"}});
    }
  }
  if (Named)
    name(Next, Block, Open);
  if (Parameter)
    indexBeside(Named ? Next + 1 : Next, Named ? Next : Tokens.size(), Open);
  else if (Named)
    declarators(Next, Block, Open);
}

/// "auto q = p;", "auto &q = p;"
void HandleUses::deduced() {
  for (size_t I = 0; I + 3 < Tokens.size(); ++I) {
    if (!is(I, "auto"))
      continue;
    size_t Name = I + 1;
    while (is(Name, "*") || is(Name, "&") || is(Name, "const") || is(Name, "&&"))
      ++Name;
    if (Name + 1 >= Tokens.size() || !Tokens[Name].Word || !is(Name + 1, "="))
      continue;
    size_t End = Name + 2;
    while (End < Tokens.size() && !is(End, ";") && !is(End, ","))
      End = Match[End] < Tokens.size() && Match[End] > End ? Match[End] + 1 : End + 1;
    for (size_t B : blocksOf(End - 1))
      Names[Tokens[Name].Text].push_back({B, I, Tokens.size()});
  }
}

std::set<size_t> HandleUses::blocksOf(size_t Last) const {
  const TextToken &T = Tokens[Last];
  std::set<size_t> Out;
  if (T.Word) {
    if (auto At = Names.find(T.Text); At != Names.end())
      for (const Scope &S : At->second)
        if (S.Begin <= Last && Last <= S.End)
          Out.insert(S.Block);
    for (size_t B = 0; B < Blocks.size(); ++B)
      if (T.Text == Blocks[B].Handle + "_at")
        Out.insert(B);
    return Out;
  }
  if ((!(T == ")") && !(T == "]")) || Match[Last] == 0 || Match[Last] >= Tokens.size())
    return Out;
  size_t Open = Match[Last];
  if (T == "]" || Tokens[Open - 1].Word || is(Open - 1, "]"))
    return blocksOf(Open - 1);
  for (size_t I = Open + 1; I < Last; ++I) // "(*p)", "(c ? p : q)"
    if (Tokens[I].Word)
      for (size_t B : blocksOf(I))
        Out.insert(B);
  return Out;
}

std::vector<std::pair<size_t, size_t>> HandleUses::arguments(size_t Open) const {
  std::vector<std::pair<size_t, size_t>> Out;
  size_t Close = Match[Open];
  if (Close >= Tokens.size() || Close == Open + 1)
    return Out;
  Out.push_back({Open + 1, Open + 1});
  for (size_t I = Open + 1; I < Close; ++I) {
    if (is(I, ",")) {
      Out.push_back({I + 1, I + 1});
      continue;
    }
    if (Match[I] < Tokens.size() && Match[I] > I)
      I = Match[I];
    Out.back().second = I + 1;
  }
  return llvm::any_of(Out, [](const auto &A) { return A.first >= A.second; }) ? std::vector<std::pair<size_t, size_t>>() : Out;
}

const std::set<unsigned> *HandleUses::indices(llvm::StringRef Function) const {
  auto At = Indexed.find(Function);
  return At == Indexed.end() ? nullptr : &At->second;
}

std::optional<Pieces> HandleUses::index(size_t Base, size_t Begin, size_t End) const {
  // "(i + 1) >> 5" leaves "(i + 1)".
  if (is(Begin, "(") && Match[Begin] + 1 == End)
    ++Begin, --End;
  bool Own = false;
  if (Tokens[Base].Word && Tokens[Begin].Word) {
    llvm::StringRef Rest = Tokens[Begin].Text;
    Own = Rest.consume_front(Tokens[Base].Text) && Rest.consume_front("_index") && llvm::all_of(Rest, llvm::isDigit);
  }
  if (Own && Begin + 1 == End)
    return std::nullopt;
  if (Own && is(Begin + 1, "-"))
    return Pieces{range(Begin + 1, End)};
  if (Own && is(Begin + 1, "+"))
    Begin += 2;
  if (Begin + 1 == End && is(Begin, "0"))
    return std::nullopt;
  return Pieces{range(Begin, End)};
}

std::optional<Pieces> HandleUses::bareIndex(size_t Base, size_t Begin, size_t End) const {
  std::optional<Pieces> Out = index(Base, Begin, End);
  if (!Out)
    return Out;
  // "q_index + (i + 1)" was "q[i + 1]"
  if (is(Begin, "(") && Match[Begin] + 1 == End)
    ++Begin, --End;
  if (is(Begin + 1, "+") && is(Begin + 2, "(") && Match[Begin + 2] + 1 == End && Out->front().Source &&
      Out->front().Source->Begin == Tokens[Begin + 2].Where.Begin)
    return Pieces{range(Begin + 3, End - 1)};
  return Out;
}

} // namespace restride

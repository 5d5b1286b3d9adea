#include "rewriter/fold/FoldText.h"

namespace restride {

std::optional<Range> nameAtEnd(Range Base, llvm::StringRef Name, llvm::StringRef Source) {
  llvm::StringRef Text = Source.slice(Base.Begin, Base.End);
  if (Name.empty() || !Text.ends_with(Name) || (Text.size() > Name.size() && isWord(Text[Text.size() - Name.size() - 1])))
    return std::nullopt;
  return Range{Base.End - unsigned(Name.size()), Base.End};
}

std::optional<Range> withComma(Range Item, llvm::StringRef Source) {
  llvm::StringRef Before = Source.take_front(Item.Begin).rtrim();
  if (!Before.ends_with(","))
    return std::nullopt;
  return Range{unsigned(Before.size()) - 1, Item.End};
}

Range wholeLine(Range Statement, llvm::StringRef Source) {
  unsigned End = Statement.End;
  llvm::StringRef After = Source.substr(End);
  if (size_t Blanks = After.find_first_not_of(" \t"); Blanks != llvm::StringRef::npos && After[Blanks] == ';')
    End += Blanks + 1;
  size_t LineBegin = Source.rfind('\n', Statement.Begin), LineEnd = Source.find('\n', End);
  LineBegin = LineBegin == llvm::StringRef::npos ? 0 : LineBegin + 1;
  LineEnd = LineEnd == llvm::StringRef::npos ? Source.size() : LineEnd + 1;
  llvm::StringRef Rest = Source.slice(End, LineEnd).trim();
  if (Source.slice(LineBegin, Statement.Begin).trim().empty() && (Rest.empty() || Rest.starts_with("//")))
    return {unsigned(LineBegin), unsigned(LineEnd)};
  return {Statement.Begin, End};
}

/// Nothing but blanks, comments and semicolons.
static bool isEmpty(llvm::StringRef Text) {
  for (;;) {
    Text = Text.ltrim(" \t\r\n;");
    if (!Text.starts_with("//") && !Text.starts_with("/*"))
      return Text.empty();
    size_t End = Text.starts_with("//") ? Text.find('\n') : Text.find("*/");
    Text = End == llvm::StringRef::npos ? "" : Text.substr(End + (Text.starts_with("//") ? 1 : 2));
  }
}

bool areNeighbours(std::vector<Range> Statements, llvm::StringRef Source) {
  llvm::sort(Statements);
  for (size_t I = 1; I < Statements.size(); ++I)
    if (!isEmpty(Source.slice(Statements[I - 1].End, Statements[I].Begin)))
      return false;
  return true;
}

/// The members' names that follow at the front of \p Text: ".f->x" has two.
static llvm::StringRef memberChain(llvm::StringRef Text) {
  size_t End = 0;
  for (llvm::StringRef Rest = Text.ltrim(); Rest.consume_front(".") || Rest.consume_front("->"); Rest = Rest.ltrim()) {
    Rest = Rest.ltrim().drop_while(isWord);
    End = Text.size() - Rest.size();
  }
  return Text.take_front(End);
}

static std::string withoutBlanks(llvm::StringRef Text) {
  std::string Out;
  llvm::copy_if(Text, std::back_inserter(Out), [](char C) { return !isspace((unsigned char)C); });
  return Out;
}

bool isOneObject(llvm::StringRef Prefix, unsigned Begin, unsigned End, llvm::StringRef Source) {
  llvm::StringRef Object = Prefix;
  if (!Object.consume_back("->") && !Object.consume_back("."))
    return Prefix.empty() || Prefix.ends_with("::");
  // "w.f" is another object once it, or the w that it is a part of, is.
  llvm::StringRef Root = Object.take_while(isWord), Members = Object.substr(Root.size());
  if (Root.empty() || memberChain(Members) != Members)
    return false;
  llvm::StringRef Between = Source.slice(Begin, End);
  for (size_t At = Between.find(Root); At != llvm::StringRef::npos; At = Between.find(Root, At + 1)) {
    llvm::StringRef After = Between.substr(At + Root.size());
    bool Word = (At == 0 || !isWord(Between[At - 1])) && (After.empty() || !isWord(After.front()));
    std::string Named = withoutBlanks(memberChain(After));
    if (Word && llvm::StringRef(withoutBlanks(Members)).starts_with(Named))
      return false;
  }
  return true;
}

} // namespace restride

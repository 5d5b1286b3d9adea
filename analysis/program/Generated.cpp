#include "analysis/program/Generated.h"

#include "layouts/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <optional>

namespace restride {

namespace {

/// Reads one block, from its mark on.
class BlockReader {
public:
  BlockReader(llvm::StringRef Text, llvm::ArrayRef<TextToken> Tokens) : Text(Text), Tokens(Tokens) {}
  std::optional<GeneratedBlock> read(unsigned Mark);

private:
  std::string comment(unsigned At);
  bool describe(llvm::StringRef Words);
  size_t tokenAt(unsigned Offset) const;
  bool is(size_t I, llvm::StringRef What) const { return I < Tokens.size() && Tokens[I].Text == What; }
  size_t structBegin(size_t I);
  std::vector<HandleMember> members(size_t Begin, size_t End) const;
  std::optional<size_t> helper(size_t I);
  void notes(unsigned At);

  llvm::StringRef Text;
  llvm::ArrayRef<TextToken> Tokens;
  GeneratedBlock Out;
  std::map<std::string, std::vector<std::string>> Groups; ///< fields, by the group's type
  unsigned End = 0; ///< of the comment that was read last
};

} // namespace

/// The words of the comment at \p At, which may go over several lines.
std::string BlockReader::comment(unsigned At) {
  std::string Words;
  llvm::StringRef Rest = Text.substr(At);
  for (bool First = true;; First = false) {
    llvm::StringRef Line = Rest.split('\n').first, Trimmed = Line.trim();
    if (!Trimmed.consume_front("//") || (!First && Trimmed.starts_with(" restride:")))
      break;
    Words += (First ? "" : " ") + Trimmed.trim().str();
    Rest = Rest.drop_front(std::min(Rest.size(), Line.size() + 1));
  }
  End = Text.size() - Rest.size();
  return Words;
}

/// Record and layout, from the sentence that layouts write.
bool BlockReader::describe(llvm::StringRef Words) {
  Words.consume_front("restride:");
  Words = Words.trim();
  auto Until = [&](llvm::StringRef Phrase, llvm::StringRef Layout) {
    size_t At = Words.find(Phrase);
    if (At == llvm::StringRef::npos)
      return false;
    Out.Record = Words.take_front(At).trim().str();
    Out.Layout = Layout.str();
    return true;
  };
  if (llvm::StringRef Declared = Words; Declared.consume_front("an array of "))
    Words = Declared, Out.Declared = true;
  if (Until(" as a structure of arrays", "soa") || Until(" in groups of fields", "grouped") || Until(" on the device, aligned", "aos-align"))
    return true;
  if (!Until(" in tiles:", "asta"))
    return false;
  llvm::StringRef Size = Words.substr(Words.find("% ") + 2).take_while([](char C) { return llvm::isDigit(C); });
  Out.Layout += Size;
  return !Size.getAsInteger(10, Out.Tile);
}

size_t BlockReader::tokenAt(unsigned Offset) const {
  return llvm::partition_point(Tokens, [&](const TextToken &T) { return T.Where.Begin < Offset; }) - Tokens.begin();
}

/// The brace of the struct that begins at \p I; its name is the handle's.
size_t BlockReader::structBegin(size_t I) {
  if (is(I, "template"))
    while (I < Tokens.size() && !is(I, "struct"))
      ++I;
  if (!is(I, "struct"))
    return Tokens.size();
  ++I;
  if (is(I, "__align__") || is(I, "alignas")) {
    if (Out.Layout == "aos-align" && I + 2 < Tokens.size())
      Out.Layout += Tokens[I + 2].Text;
    I = closing(Tokens, I + 1) + 1;
  }
  if (I >= Tokens.size())
    return I;
  Out.Handle = Tokens[I].Text.str();
  while (I < Tokens.size() && !is(I, "{"))
    ++I;
  return I;
}

std::vector<HandleMember> BlockReader::members(size_t I, size_t Last) const {
  std::vector<HandleMember> Found;
  while (I < Last) {
    if (is(I, "static")) { // a function
      while (I < Last && !is(I, "{"))
        ++I;
      I = closing(Tokens, I) + 1;
      continue;
    }
    std::vector<HandleMember> Nested;
    std::vector<std::string> Group;
    unsigned Subscripts = 0; // operators that find a member array's
    if (is(I, "struct") && is(I + 1, "{")) {
      size_t Close = closing(Tokens, I + 1);
      Subscripts = unsigned(std::count_if(Tokens.begin() + I, Tokens.begin() + Close, [](const TextToken &T) { return T == "operator"; }));
      if (!Subscripts)
        Nested = members(I + 2, Close);
      I = Close + 1;
    } else if (auto At = Groups.find(Tokens[I].Text.str()); At != Groups.end()) {
      Group = At->second;
    }
    // The name is the last word of a declarator.
    HandleMember M;
    M.Extents = Subscripts;
    unsigned Angles = 0;
    bool Whole = false;
    for (; I < Last; ++I) {
      const TextToken &T = Tokens[I];
      if (T == "<")
        ++Angles;
      else if (T == ">")
        --Angles;
      if (Angles)
        continue;
      if (T == "," || T == ";") {
        M.Members = Nested, M.Group = Group;
        Found.push_back(M);
        M = {};
        Whole = false;
        if (T == ";")
          break;
      } else if (T == "[") {
        M.Extents += !Whole;
        I = closing(Tokens, I);
      } else if (T == "(") {
        Whole = true;
      } else if (T.Word) {
        M.Name = T.Text.str();
      }
    }
    ++I;
  }
  return Found;
}

/// The token behind the helper at \p I, if it is one.
std::optional<size_t> BlockReader::helper(size_t I) {
  if (is(I, "static_assert")) {
    size_t Close = closing(Tokens, I + 1);
    for (size_t K = I; K < Close && K < Tokens.size(); ++K)
      if (Tokens[K].Text.contains("\"" + Out.Handle + " has the fields"))
        return Close + 2;
    return std::nullopt;
  }
  if (is(I, "struct") && I > 0 && I + 2 < Tokens.size() && Tokens[I + 1].Text == Out.Handle + "_delete") {
    const size_t Mark = Text.find(OwnerMark, Tokens[I - 1].Where.End);
    if (Mark < Tokens[I].Where.Begin)
      Out.Owner = comment(Mark).substr(OwnerMark.size() - 3);
    return closing(Tokens, I + 2) + 2;
  }
  if (is(I, "using") && I + 1 < Tokens.size() && Tokens[I + 1].Text == Out.Handle + "_ptr") {
    while (I < Tokens.size() && !is(I, ";"))
      ++I;
    return I + 1;
  }
  if (!is(I, "static") && !is(I, "template") && !is(I, "__global__"))
    return std::nullopt;
  size_t Name = I;
  for (; Name + 1 < Tokens.size() && !is(Name, "{") && !is(Name, ";"); ++Name)
    if (Tokens[Name].Word && is(Name + 1, "("))
      break;
  llvm::StringRef What = Name < Tokens.size() ? Tokens[Name].Text : "";
  if (!What.consume_front(Out.Handle + "_"))
    return std::nullopt;
  HelperFunction F{What.str(), {}, {}};
  size_t Close = closing(Tokens, Name + 1);
  bool Handle = false, Index = false;
  for (size_t K = Name + 2; K <= Close && K < Tokens.size(); ++K) {
    if (is(K, "(") && K != Close)
      K = closing(Tokens, K);
    if (is(K, ",") || K == Close) {
      if (Index)
        F.Indices.push_back(F.Handles.size());
      F.Handles.push_back(Handle);
      Handle = Index = false;
    } else {
      Handle |= Tokens[K].Text == Out.Handle;
      Index |= is(K, "ptrdiff_t");
    }
  }
  Out.Helpers.push_back(std::move(F));
  size_t Body = Close;
  while (Body < Tokens.size() && !is(Body, "{"))
    ++Body;
  return closing(Tokens, Body) + 1;
}

/// Notes stand behind the block.
void BlockReader::notes(unsigned At) {
  llvm::StringRef Rest = Text.substr(At);
  while (!Rest.empty()) {
    llvm::StringRef Line = Rest.split('\n').first, Words = Line.rtrim("\r");
    if (Words.consume_front(NoteMark))
      Out.Before.push_back(Words.str());
    else if (!Out.Before.empty() && Words.consume_front(NoteGoesOn))
      Out.Before.back() += "\n" + Words.str();
    else if (!Words.empty() || !Out.Before.empty())
      break;
    Rest = Rest.drop_front(std::min(Rest.size(), Line.size() + 1));
    if (!Out.Before.empty())
      Out.Text.End = Text.size() - Rest.size();
  }
}

std::optional<GeneratedBlock> BlockReader::read(unsigned Mark) {
  unsigned Begin = Mark;
  size_t I = 0;
  for (;;) {
    std::string Words = comment(Mark);
    I = tokenAt(End);
    if (!llvm::StringRef(Words).contains("that lie together"))
      if (!describe(Words))
        return std::nullopt;
    size_t Open = structBegin(I);
    if (Open >= Tokens.size())
      return std::nullopt;
    size_t Close = closing(Tokens, Open);
    std::vector<HandleMember> Members = members(Open + 1, Close);
    I = Close + 2; // behind the semicolon
    if (!Out.Layout.empty()) {
      Out.Members = std::move(Members);
      Out.Mark = {Mark, End};
      break;
    }
    for (const HandleMember &M : Members)
      Groups[Out.Handle].push_back(M.Name);
    size_t Next = Text.find(GeneratedMark, Tokens[Close].Where.End);
    if (Next == llvm::StringRef::npos)
      return std::nullopt;
    Mark = Next;
  }
  // What follows for CUDA alone, in a header.
  bool Guarded = false;
  for (;;) {
    size_t Behind = Guarded ? I : is(I, "#") && is(I + 1, "ifdef") && is(I + 2, "__CUDACC__") ? I + 3 : I;
    std::optional<size_t> Next = helper(Behind);
    if (!Next)
      break;
    Guarded |= Behind != I;
    I = *Next;
  }
  if (Guarded && is(I, "#") && is(I + 1, "endif"))
    I += 2;
  unsigned Last = Tokens[std::min(I, Tokens.size()) - 1].Where.End;
  size_t Line = Text.find('\n', Last);
  Out.Text = {Begin, unsigned(Line == llvm::StringRef::npos ? Text.size() : Line + 1)};
  notes(Out.Text.End);
  // The empty line before it.
  llvm::StringRef Before = Text.take_front(Begin);
  if (Before.ends_with("\n\n"))
    Out.Text.Begin = Begin - 1;
  else if (Before.ends_with("\n\r\n"))
    Out.Text.Begin = Begin - 2;
  return std::move(Out);
}

/// The record has the comment that folding writes above it.
static bool isFolded(const GeneratedBlock &B, llvm::StringRef Text) {
  size_t At = Text.find("struct " + B.Record + " {");
  return At != llvm::StringRef::npos && Text.take_front(At).rtrim().rsplit('\n').second.starts_with(FoldedMark);
}

std::vector<GeneratedBlock> generatedBlocks(llvm::StringRef Text, llvm::ArrayRef<TextToken> Tokens) {
  std::vector<GeneratedBlock> Out;
  for (size_t At = Text.find(GeneratedMark); At != llvm::StringRef::npos; At = Text.find(GeneratedMark, At)) {
    if (At == 0 || Text[At - 1] == '\n')
      if (std::optional<GeneratedBlock> B = BlockReader(Text, Tokens).read(At)) {
        At = std::max<size_t>(B->Text.End, At + 1);
        B->Folded = isFolded(*B, Text);
        Out.push_back(std::move(*B));
        continue;
      }
    ++At;
  }
  return Out;
}

} // namespace restride

#include "ptx/parse/Locations.h"

#include "ptx/parse/ParseError.h"

#include "llvm/ADT/SmallVector.h"

using namespace restride::ptx;
using llvm::StringRef;

static llvm::Error readNumber(Lexer &L, unsigned &Value) {
  Token T = L.next();
  if (T.K != Token::Word || T.Text.getAsInteger(10, Value))
    return errorAt(T.Line, "number expected, found '" + T.Text + "'");
  return llvm::Error::success();
}

static llvm::Error readPosition(Lexer &L, SourceLocation &Loc) {
  if (llvm::Error E = readNumber(L, Loc.File))
    return E;
  if (llvm::Error E = readNumber(L, Loc.Line))
    return E;
  return readNumber(L, Loc.Column);
}

/// Quotes and backslashes have a backslash in front, and what is not ASCII is in
/// octal, byte by byte.
static std::string unescape(StringRef Text) {
  std::string Out;
  while (!Text.empty()) {
    char C = Text.front();
    Text = Text.drop_front();
    if (C == '\\' && !Text.empty()) {
      StringRef Octal = Text.take_while([](char D) { return '0' <= D && D <= '7'; }).take_front(3);
      unsigned Byte = 0;
      if (Octal.size() == 3 && !Octal.getAsInteger(8, Byte) && Byte < 256) {
        C = char(Byte);
        Text = Text.drop_front(3);
      } else {
        C = Text.front();
        Text = Text.drop_front();
      }
    }
    Out += C;
  }
  return Out;
}

llvm::Error Locations::readFile(Lexer &L, Module &M) {
  unsigned Index = 0;
  if (llvm::Error E = readNumber(L, Index))
    return E;
  Token Name = L.next();
  constexpr unsigned MaxFiles = 1u << 20;
  if (Name.K != Token::String || Index > MaxFiles)
    return errorAt(Name.Line, "file name expected, found '" + Name.Text + "'");
  if (M.Files.size() <= Index)
    M.Files.resize(Index + 1);
  M.Files[Index] = unescape(Name.Text);
  while (L.take(',')) // time stamp, size
    L.next();
  return llvm::Error::success();
}

llvm::Error Locations::readLoc(Lexer &L) {
  Current = {};
  Chain.clear();
  if (llvm::Error E = readPosition(L, Current))
    return E;
  StringRef Comment = L.lineComment();
  while (L.take(',')) {
    Token Key = L.next();
    if (Key.is("inlined_at")) {
      SourceLocation Site;
      if (llvm::Error E = readPosition(L, Site))
        return E;
      Chain = ChainOf.lookup({Site.File, Site.Line, Site.Column});
      Chain.insert(Chain.begin(), Site);
    } else {
      L.next(); // function_name LABEL [+ offset]
      if (L.take('+'))
        L.next();
    }
  }
  if (Chain.empty())
    readComment(Comment);
  const Position Here = {Current.File, Current.Line, Current.Column};
  if (Chain.empty()) // most, and as good as missing
    ChainOf.erase(Here);
  else
    ChainOf[Here] = Chain;
  return llvm::Error::success();
}

/// "file:line:column @[ file:line:column @[ ... ] ]"
void Locations::readComment(StringRef Comment) {
  llvm::SmallVector<StringRef, 4> Sites;
  Comment.split(Sites, " @[ ");
  for (StringRef Site : llvm::drop_begin(Sites)) {
    auto [FileAndLine, Column] = Site.rtrim(" ]").rsplit(':');
    auto [File, Line] = FileAndLine.rsplit(':');
    SourceLocation Loc;
    if (File.empty() || Line.getAsInteger(10, Loc.Line) || Column.getAsInteger(10, Loc.Column))
      return;
    auto [At, Inserted] = NameIndex.try_emplace(File, Names.size());
    if (Inserted)
      Names.push_back(File.str());
    Loc.File = FirstName + At->second;
    Chain.push_back(Loc);
  }
}

void Locations::startFunction() {
  Current = {};
  Chain.clear();
  ChainOf.clear();
}

void Locations::stamp(Instruction &I) const {
  I.Loc = Current;
  I.InlinedAt = Chain;
}

/// Clang prints the name as it was given to it, .file has the full path.
static bool isSameFile(StringRef Path, StringRef Name) {
  while (Name.consume_front("./") || Name.consume_front("../"))
    ;
  return Path == Name || (Path.ends_with(Name) && Path.drop_back(Name.size()).ends_with("/"));
}

void Locations::resolveNames(Module &M) const {
  std::vector<unsigned> FileOf;
  for (const std::string &Name : Names) {
    unsigned File = 1;
    while (File < M.Files.size() && !isSameFile(M.Files[File], Name))
      ++File;
    if (File >= M.Files.size()) {
      M.Files.resize(File + 1);
      M.Files[File] = Name;
    }
    FileOf.push_back(File);
  }
  for (Function &F : M.Functions)
    for (Instruction &I : F.Body)
      for (SourceLocation &Site : I.InlinedAt)
        if (Site.File >= FirstName && Site.File - FirstName < FileOf.size())
          Site.File = FileOf[Site.File - FirstName];
}

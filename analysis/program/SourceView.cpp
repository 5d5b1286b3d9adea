#include "analysis/program/SourceView.h"

#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "clang/Serialization/ASTReader.h"

using namespace clang;

namespace restride {

/// Where the unit's own AST comes from a file, and not only that of its
/// precompiled headers: that file.
static const serialization::ModuleFile *loadedUnit(const ASTContext &Context) {
  auto *Reader = dynamic_cast<ASTReader *>(Context.getExternalSource());
  if (!Reader || !Context.getSourceManager().isLoadedFileID(Context.getSourceManager().getMainFileID()))
    return nullptr;
  return &Reader->getModuleManager().getPrimaryModule();
}

/// Where the unit's files begin, without those of its precompiled headers.
static std::vector<SourceLocation> fileBegins(const ASTContext &Context) {
  const SourceManager &Manager = Context.getSourceManager();
  std::vector<SourceLocation> Out;
  auto Add = [&](const SrcMgr::SLocEntry &Entry) {
    if (Entry.isFile())
      Out.push_back(SourceLocation::getFromRawEncoding(Entry.getOffset()));
  };
  const serialization::ModuleFile *Loaded = loadedUnit(Context);
  for (unsigned I = 0; Loaded && I < Loaded->LocalNumSLocEntries; ++I)
    Add(Manager.getLoadedSLocEntry(unsigned(-(Loaded->SLocEntryBaseID + int(I)) - 2)));
  for (unsigned I = 0; !Loaded && I < Manager.local_sloc_entry_size(); ++I)
    Add(Manager.getLocalSLocEntry(I));
  return Out;
}

SourceView::SourceView(const ASTContext &Context, Sources &Files)
    : Manager(Context.getSourceManager()), Options(Context.getLangOpts()), Files(Files) {
  // All of them now: ranges and text stay where they are from here on.
  for (SourceLocation Begin : fileBegins(Context)) {
    if (!isUserCode(Begin))
      continue;
    FileID Id = Manager.getFileID(Begin);
    OptionalFileEntryRef File = Manager.getFileEntryRefForID(Id);
    std::optional<llvm::StringRef> Text = Manager.getBufferDataOrNone(Id);
    if (!File || !Text)
      continue;
    llvm::StringRef Path = File->getFileEntry().tryGetRealPathName();
    Known[Id] = &Files.add(Path.empty() ? File->getName() : Path, *Text) - Files.files().data();
  }
}

const SourceFile *SourceView::file(FileID F) const {
  auto At = Known.find(F);
  return At == Known.end() ? nullptr : &Files.files()[At->second];
}

std::vector<size_t> SourceView::files() const {
  std::vector<size_t> Out{Known.lookup(Manager.getMainFileID())};
  for (const auto &[Id, Index] : Known)
    if (!llvm::is_contained(Out, Index))
      Out.push_back(Index);
  return Out;
}

std::optional<Range> SourceView::range(SourceRange R) const {
  if (R.isInvalid())
    return std::nullopt;
  CharSourceRange Text = Lexer::makeFileCharRange(CharSourceRange::getTokenRange(R), Manager, Options);
  if (Text.isInvalid())
    return std::nullopt;
  auto [BeginFile, Begin] = Manager.getDecomposedLoc(Text.getBegin());
  auto [EndFile, End] = Manager.getDecomposedLoc(Text.getEnd());
  if (EndFile != BeginFile || End <= Begin || !isUserCode(Text.getBegin()))
    return std::nullopt;
  const SourceFile *File = file(BeginFile);
  if (!File || !File->Editable)
    return std::nullopt;
  return Range{File->Text.Begin + Begin, File->Text.Begin + End};
}

Place SourceView::place(SourceLocation L) const {
  auto Offset = [&](SourceLocation At) {
    auto [F, InFile] = Manager.getDecomposedLoc(At);
    const SourceFile *File = file(F);
    // Pasted tokens stand in no file.
    return File ? File->Text.Begin + InFile : 0x80000000u | At.getRawEncoding();
  };
  return {Offset(Manager.getExpansionLoc(L)), Offset(Manager.getSpellingLoc(L))};
}

Location SourceView::where(SourceLocation L) const {
  if (L.isInvalid())
    return {};
  // What a macro argument says stands where it is spelled; a body, where it is used.
  SourceLocation File = Manager.isMacroArgExpansion(L) ? Manager.getSpellingLoc(L) : Manager.getExpansionLoc(L);
  const SourceFile *Known = isUserCode(File) ? file(Manager.getFileID(File)) : nullptr;
  return {Known ? Known->Path : Manager.getFilename(File).str(), Manager.getSpellingLineNumber(File), Manager.getSpellingColumnNumber(File)};
}

bool SourceView::inMainFile(SourceLocation L) const {
  return L.isValid() && Manager.getFileID(Manager.getExpansionLoc(L)) == Manager.getMainFileID();
}

bool SourceView::isEditable(SourceLocation L) const {
  if (!isUserCode(L))
    return false;
  const SourceFile *File = file(Manager.getFileID(Manager.getExpansionLoc(L)));
  return File && File->Editable;
}

bool SourceView::isUserCode(SourceLocation L) const {
  if (L.isInvalid())
    return false;
  SourceLocation File = Manager.getExpansionLoc(L);
  return !Manager.isInSystemHeader(File) && !Manager.isWrittenInBuiltinFile(File) && !Manager.isWrittenInCommandLineFile(File);
}

} // namespace restride

#include "analysis/program/SourceView.h"

#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace restride {

SourceView::SourceView(const ASTContext &Context)
    : Sources(Context.getSourceManager()), Options(Context.getLangOpts()),
      Buffer(Sources.getBufferData(Sources.getMainFileID())) {}

std::optional<Range> SourceView::range(SourceRange R) const {
  if (R.isInvalid())
    return std::nullopt;
  CharSourceRange File = Lexer::makeFileCharRange(CharSourceRange::getTokenRange(R), Sources, Options);
  if (File.isInvalid())
    return std::nullopt;
  auto [BeginFile, Begin] = Sources.getDecomposedLoc(File.getBegin());
  auto [EndFile, End] = Sources.getDecomposedLoc(File.getEnd());
  if (BeginFile != Sources.getMainFileID() || EndFile != BeginFile || End <= Begin)
    return std::nullopt;
  return Range{Begin, End};
}

Location SourceView::where(SourceLocation L) const {
  if (L.isInvalid())
    return {};
  // What a macro argument says stands where it is spelled; a body, where it is used.
  SourceLocation File = Sources.isMacroArgExpansion(L) ? Sources.getSpellingLoc(L) : Sources.getExpansionLoc(L);
  return {Sources.getFilename(File).str(), Sources.getSpellingLineNumber(File), Sources.getSpellingColumnNumber(File)};
}

bool SourceView::inMainFile(SourceLocation L) const {
  return L.isValid() && Sources.getFileID(Sources.getExpansionLoc(L)) == Sources.getMainFileID();
}

bool SourceView::isUserCode(SourceLocation L) const {
  if (L.isInvalid())
    return false;
  SourceLocation File = Sources.getExpansionLoc(L);
  return !Sources.isInSystemHeader(File) && !Sources.isWrittenInBuiltinFile(File) &&
         !Sources.isWrittenInCommandLineFile(File);
}

} // namespace restride

#include "rewriter/fold/FoldPlace.h"

#include "analysis/program/Comments.h"
#include "rewriter/command/IncludeLine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <set>

namespace restride {
using namespace llvm;

/// What a directive of this line says behind its '#': "if ...".
static StringRef directive(StringRef Line) {
  Line = Line.ltrim();
  return Line.consume_front("#") ? Line.ltrim() : "";
}

/// The file of the program that \p Name means in a file in \p Folder.
static const SourceFile *included(const Sources &Text, StringRef Name, StringRef Folder) {
  SmallString<256> Beside(Folder);
  sys::path::append(Beside, Name);
  sys::path::remove_dots(Beside, /*remove_dot_dot=*/true);
  while (Name.consume_front("../") || Name.consume_front("./"))
    ;
  const SourceFile *Out = nullptr;
  for (const SourceFile &F : Text.files()) {
    if (F.Path == Beside)
      return &F;
    if (StringRef(F.Path).ends_with(("/" + Name).str()))
      Out = &F;
  }
  return Out;
}

namespace {

/// The text in the order in which one unit reads it, each file once.
class ReadingOrder {
public:
  ReadingOrder(const Sources &Text, const SourceFile &Main) : Text(Text) { read(Main); }

  /// Something that grows in this order; nothing for what the unit does not read.
  std::optional<std::pair<size_t, unsigned>> position(unsigned Offset) const {
    for (size_t I = 0; I < Pieces.size(); ++I)
      if (Pieces[I].Begin <= Offset && Offset <= Pieces[I].End)
        return std::pair(I, Offset);
    return std::nullopt;
  }

private:
  void read(const SourceFile &File) {
    if (!Seen.insert(File.Text.Begin).second)
      return;
    unsigned Begin = File.Text.Begin, At = Begin;
    for (StringRef Line : split(Text.text(File.Text), '\n')) {
      std::optional<IncludeLine> Include = includeLine(Line);
      if (const SourceFile *F = Include ? included(Text, Include->Name, sys::path::parent_path(File.Path)) : nullptr) {
        Pieces.push_back({Begin, At});
        read(*F);
        Begin = At + 1;
      }
      At += Line.size() + 1;
    }
    Pieces.push_back({Begin, File.Text.End});
  }

  const Sources &Text;
  std::set<unsigned> Seen; ///< begins of files
  std::vector<Range> Pieces;
};

/// Before the #if that \p At stands behind, if some use in its file lies outside of it.
unsigned outside(unsigned At, const Sources &Text, ArrayRef<Range> Uses) {
  Range File = Text.at(At).Text;
  unsigned Last = 0;
  for (const Range &R : Uses)
    if (File.contains(R))
      Last = std::max(Last, R.End);
  std::vector<unsigned> Open; // directives around a place
  unsigned Line = File.Begin;
  for (StringRef One : split(Text.text(File), '\n')) {
    if (Line >= Last)
      break;
    StringRef What = directive(One);
    if (What.starts_with("if"))
      Open.push_back(Line);
    else if (What.starts_with("endif") && !Open.empty()) {
      if (Open.back() < At && At < Line)
        At = commentAbove(Text.text(), Open.back());
      Open.pop_back();
    }
    Line += One.size() + 1;
  }
  return At;
}

} // namespace

/// Above the first use in \p File.
static unsigned placeIn(const SourceFile &File, const ArrayProgram &A, ArrayRef<Range> Uses) {
  unsigned First = ~0u;
  for (const Range &R : Uses)
    if (File.Text.contains(R))
      First = std::min(First, R.Begin);
  for (const Range &D : A.TopLevel)
    if (D.Begin <= First && First < D.End)
      First = D.Begin;
  return outside(commentAbove(A.P.Text.text(), First), A.P.Text, Uses);
}

static bool isReadBefore(unsigned Place, ArrayRef<Range> Uses, const ReadingOrder &Order) {
  auto At = Order.position(Place);
  return all_of(Uses, [&](const Range &R) {
    auto Use = Order.position(R.Begin);
    return !Use || (At && *At <= *Use);
  });
}

std::optional<unsigned> recordPlace(const ArrayProgram &A, ArrayRef<Range> Uses) {
  std::vector<ReadingOrder> Units;
  std::vector<const SourceFile *> Used;
  for (const SourceFile &F : A.P.Text.files()) {
    if (A.MainFiles.count(F.Text.Begin))
      Units.emplace_back(A.P.Text, F);
    if (any_of(Uses, [&](const Range &R) { return F.Text.contains(R); }))
      Used.push_back(&F);
  }
  stable_sort(Used, [&](auto *L, auto *R) { return A.MainFiles.count(L->Text.Begin) < A.MainFiles.count(R->Text.Begin); });
  for (const SourceFile *F : Used) {
    unsigned Place = placeIn(*F, A, Uses);
    if (all_of(Units, [&](const ReadingOrder &U) { return isReadBefore(Place, Uses, U); }))
      return Place;
  }
  return std::nullopt;
}

} // namespace restride

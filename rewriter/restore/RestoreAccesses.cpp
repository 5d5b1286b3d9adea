#include "rewriter/restore/RestoreUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace restride {

/// "[i]" in front of a member, or the arrow where the element is the first.
static Pieces element(const std::optional<Pieces> &Index) {
  if (!Index)
    return {"->"};
  Pieces Out{"["};
  add(Out, *Index);
  add(Out, {"]."});
  return Out;
}

/// \p Dot begins a path from a handle that is a struct, or one of arrays.
static bool structAccess(const HandleUses &U, const GeneratedBlock &B, size_t Dot, std::vector<Edit> &Out) {
  const std::vector<HandleMember> *Members = &B.Members;
  size_t I = Dot;
  bool First = true; ///< the first array of the handle so far
  for (;;) {
    if (!U.is(I, ".") || I + 1 >= U.Tokens.size())
      return false;
    const HandleMember *M = nullptr;
    for (const HandleMember &One : *Members)
      if (U.Tokens[I + 1] == One.Name)
        M = &One;
    if (!M)
      return false;
    First &= M == &Members->front();
    I += 2;
    for (unsigned E = B.Declared && M->Members.empty() && M->Extents ? 1 : 0; E < M->Extents; ++E) {
      if (!U.is(I, "["))
        return false;
      I = U.match(I) + 1;
    }
    if (!M->Members.empty()) {
      Members = &M->Members;
      continue;
    }
    if (!U.is(I, "[")) { // asked whether it is null
      static constexpr llvm::StringRef Behind[] = {")", "==", "!=", "&&", "||", "?", ";"};
      if (!First || I >= U.Tokens.size() || !llvm::is_contained(Behind, U.Tokens[I].Text))
        return false;
      Out.push_back({U.range(Dot, I), {}});
      return true;
    }
    size_t Close = U.match(I);
    if (Close >= U.Tokens.size() || Close == I + 1)
      return false;
    Pieces With = element(U.bareIndex(Dot - 1, I + 1, Close));
    if (M->Group.empty()) {
      With.push_back(U.range(Dot + 1, I));
      Out.push_back({U.range(Dot, Close + 1), With});
    } else if (U.is(Close + 1, ".")) {
      Out.push_back({U.range(Dot, Close + 2), With});
    } else {
      return false;
    }
    return true;
  }
}

/// \p Open is the bracket in "p[i >> 5].x[i & 31]".
static bool tileAccess(const HandleUses &U, const GeneratedBlock &B, size_t Open, std::vector<Edit> &Out) {
  size_t Close = U.match(Open), End = Close;
  if (Close >= U.Tokens.size() || Close < Open + 2)
    return false;
  bool Zero = Close == Open + 2 && U.is(Open + 1, "0");
  if (!Zero) {
    End = Close - 2;
    if (End <= Open + 1 || !U.is(End, ">>") || !(U.Tokens[End + 1] == std::to_string(llvm::Log2_64(B.Tile))))
      return false;
  }
  llvm::StringRef Shifted = U.Text.slice(U.Tokens[Open + 1].Where.Begin, U.Tokens[End - 1].Where.End);
  std::string Mask = std::to_string(B.Tile - 1);
  size_t In = 0; ///< the bracket of the entry in its tile
  for (size_t I = Close + 1; U.is(I, ".") || U.is(I, "[");) {
    if (U.is(I, ".")) {
      I += 2;
      continue;
    }
    size_t Last = U.match(I);
    if (Last >= U.Tokens.size() || Last < I + 2)
      return false;
    if (Zero ? U.is(I + 1, "0") && Last == I + 2
             : Last > I + 3 && U.is(Last - 2, "&") && U.Tokens[Last - 1] == Mask &&
                   U.Text.slice(U.Tokens[I + 1].Where.Begin, U.Tokens[Last - 3].Where.End) == Shifted)
      In = I;
    I = Last + 1;
  }
  if (!In || !U.is(Close + 1, "."))
    return false;
  Out.push_back({U.range(Open, Close + 2), element(Zero ? std::nullopt : U.bareIndex(Open - 1, Open + 1, End))});
  Out.push_back({U.range(In, U.match(In) + 1), {}});
  return true;
}

/// "static_cast<P &>(p[i])" was "p[i]".
static void castBefore(const HandleUses &U, size_t I, std::vector<Edit> &Out) {
  size_t End = I + 1;
  while (End < U.Tokens.size() && End < I + 12 && !U.is(End, ">"))
    ++End;
  if (!U.is(I + 1, "<") || !U.is(End, ">") || !U.is(End + 1, "(") || !U.is(End - 1, "&"))
    return;
  size_t Close = U.match(End + 1);
  if (Close >= U.Tokens.size() || !U.is(Close - 1, "]"))
    return;
  for (size_t B : U.blocksOf(Close - 1))
    if (llvm::StringRef(U.Blocks[B].Layout).starts_with("aos") && llvm::StringRef(U.Blocks[B].Record).ends_with(U.Tokens[End - 2].Text)) {
      Out.push_back({U.range(I, Close + 1), {U.range(End + 2, Close)}});
      return;
    }
}

/// "d = {}" was "d = nullptr".
static void nullBefore(const HandleUses &U, size_t I, std::vector<Edit> &Out) {
  if (I == 0 || !U.is(I + 1, "{") || !U.is(I + 2, "}"))
    return;
  for (size_t B : U.blocksOf(I - 1))
    if (U.Blocks[B].handleIsStruct()) {
      Out.push_back({U.range(I + 1, I + 3), {"nullptr"}});
      return;
    }
}

std::vector<Edit> accessesBefore(const HandleUses &U) {
  std::vector<Edit> Out;
  for (size_t I = 1; I < U.Tokens.size(); ++I) {
    if (!U.isCode(I))
      continue;
    if (U.is(I, "static_cast"))
      castBefore(U, I, Out);
    else if (U.is(I, "="))
      nullBefore(U, I, Out);
    else if (U.is(I, ".") || U.is(I, "["))
      for (size_t B : U.blocksOf(I - 1)) {
        const GeneratedBlock &Block = U.Blocks[B];
        if (U.is(I, ".") ? Block.handleIsStruct() && structAccess(U, Block, I, Out) : Block.Tile && tileAccess(U, Block, I, Out))
          break;
      }
  }
  return Out;
}

} // namespace restride

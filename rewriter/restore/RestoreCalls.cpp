#include "rewriter/restore/RestoreUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace restride {

namespace {

using Argument = std::pair<size_t, size_t>;

class CallRestorer {
public:
  explicit CallRestorer(const HandleUses &U) : U(U) {}

  /// Token \p I names a helper of \p B, called as \p Name behind the handle's.
  void helper(size_t I, const GeneratedBlock &B, llvm::StringRef Name, Range Callee);
  void indexed(size_t I);
  std::vector<Edit> Out;

private:
  bool isHandle(const Argument &A) const { return !U.blocksOf(A.second - 1).empty(); }
  Pieces text(const Argument &A) const { return {U.range(A.first, A.second)}; }
  /// The array of \p A as something to put a subscript or a dot behind.
  Pieces primary(const Argument &A) const;
  Pieces element(const Argument &Array, const Argument &Index, bool Member) const;
  void join(const Argument &Array, const Argument &Index);
  void runtime(llvm::ArrayRef<Argument> Arguments, const GeneratedBlock &B, llvm::StringRef Name);

  const HandleUses &U;
};

} // namespace

Pieces CallRestorer::primary(const Argument &A) const {
  for (size_t I = A.first; I < A.second; ++I) {
    bool Part = U.Tokens[I].Word || U.is(I, ".") || U.is(I, "->") || U.is(I, "::");
    bool Bracket = !U.Tokens[I].Word && U.match(I) > I && U.match(I) < A.second;
    if (!Part && !Bracket)
      return {"(", U.range(A.first, A.second), ")"};
    if (Bracket)
      I = U.match(I);
  }
  return text(A);
}

/// p[i], or *p; with the dot behind it where a \p Member follows.
Pieces CallRestorer::element(const Argument &Array, const Argument &Index, bool Member) const {
  std::optional<Pieces> At = U.bareIndex(Array.second - 1, Index.first, Index.second);
  Pieces Out;
  if (!At && !Member)
    Out.push_back("*");
  add(Out, primary(Array));
  if (!At) {
    if (Member)
      Out.push_back("->");
    return Out;
  }
  Out.push_back("[");
  add(Out, *At);
  Out.push_back(Member ? "]." : "]");
  return Out;
}

/// "p, i" was "p + i".
void CallRestorer::join(const Argument &Array, const Argument &Index) {
  Range Both = U.range(Array.first, Index.second);
  std::optional<Pieces> At = U.index(Array.second - 1, Index.first, Index.second);
  Pieces With = text(Array);
  if (At) {
    bool Negative = At->front().Source && U.Text[At->front().Source->Begin] == '-';
    With.push_back(Negative ? " " : " + ");
    add(With, *At);
  }
  Out.push_back({Both, With});
}

/// The runtime's function that a helper stands for; nothing for other helpers.
static llvm::StringRef runtimeFunction(llvm::StringRef Helper) {
  return llvm::StringSwitch<llvm::StringRef>(Helper)
      .Case("malloc", "cudaMalloc")
      .Case("mallocManaged", "cudaMallocManaged")
      .Case("mallocAsync", "cudaMallocAsync")
      .Case("free", "cudaFree")
      .Case("freeAsync", "cudaFreeAsync")
      .Case("memcpy", "cudaMemcpy")
      .Case("memcpyAsync", "cudaMemcpyAsync")
      .Case("memset", "cudaMemset")
      .Case("memsetAsync", "cudaMemsetAsync")
      .Case("hostMemset", "memset")
      .Case("memPrefetchAsync", "cudaMemPrefetchAsync")
      .Case("memAdvise", "cudaMemAdvise")
      .Case("memcpyToSymbol", "cudaMemcpyToSymbol")
      .Case("memcpyToSymbolAsync", "cudaMemcpyToSymbolAsync")
      .Case("memcpyFromSymbol", "cudaMemcpyFromSymbol")
      .Case("memcpyFromSymbolAsync", "cudaMemcpyFromSymbolAsync")
      .Default("");
}

/// Joins arrays and their first elements, by the overload that is called.
void CallRestorer::runtime(llvm::ArrayRef<Argument> Arguments, const GeneratedBlock &B, llvm::StringRef Name) {
  for (const HelperFunction &F : B.Helpers) {
    if (F.Name != Name || Arguments.size() > F.Handles.size())
      continue;
    bool Fits = true;
    for (size_t A = 0; A < Arguments.size(); ++A)
      Fits &= !F.Handles[A] || isHandle(Arguments[A]);
    if (!Fits)
      continue;
    for (unsigned At : F.Indices)
      if (At < Arguments.size())
        join(Arguments[At - 1], Arguments[At]);
    return;
  }
}

void CallRestorer::helper(size_t I, const GeneratedBlock &B, llvm::StringRef Name, Range Callee) {
  if (!U.is(I + 1, "(") || U.match(I + 1) >= U.Tokens.size())
    return;
  size_t Close = U.match(I + 1);
  std::vector<Argument> A = U.arguments(I + 1);
  if (llvm::StringRef Runtime = runtimeFunction(Name); !Runtime.empty()) {
    Out.push_back({Callee, {Runtime.str()}});
    runtime(A, B, Name);
    return;
  }
  Range Whole{Callee.Begin, U.Tokens[Close].Where.End};
  if (Name == "from" && A.size() == 2) {
    Out.push_back({Whole, text(A[0])});
  } else if (Name == "bytes" && A.size() == 1) {
    Out.push_back({Callee, {"sizeof"}});
  } else if (Name == "at" && A.size() == 2) {
    Pieces With = text(A[0]);
    With.push_back(" + ");
    std::optional<Pieces> At = U.index(A[0].second - 1, A[1].first, A[1].second);
    add(With, At ? *At : Pieces{"0"});
    Out.push_back({Whole, With});
  } else if ((Name == "load" || Name == "load_element") && A.size() == 2) {
    bool Member = U.is(Close + 1, ".");
    if (Member)
      Whole.End = U.Tokens[Close + 1].Where.End;
    Out.push_back({Whole, element(A[0], A[1], Member)});
  } else if (Name.starts_with("store") && A.size() == 3) {
    Name.consume_front("store");
    Name.consume_front("_");
    if (Name == "element")
      Name = "";
    Pieces With = element(A[0], A[1], !Name.empty());
    if (!Name.empty())
      With.push_back(Name.str());
    With.push_back(" = ");
    add(With, text(A[2]));
    Out.push_back({Whole, With});
  } else if (A.size() >= 2) { // a member function
    Pieces With = element(A[0], A[1], true);
    With.push_back(Name.str() + "(");
    if (A.size() > 2)
      With.push_back(U.range(A[2].first, A.back().second));
    With.push_back(")");
    Out.push_back({Whole, With});
  }
}

/// "f(p, i)" was "f(p + i)", where f takes an index beside the array.
void CallRestorer::indexed(size_t I) {
  const std::set<unsigned> *Indices = U.indices(U.Tokens[I].Text);
  if (!Indices)
    return;
  size_t Open = I + 1, Limit = I + 200;
  if (U.is(Open, "<"))
    while (Open < U.Tokens.size() && Open < Limit && !U.is(Open, "("))
      ++Open;
  if (U.is(Open, "<<<")) {
    while (Open < U.Tokens.size() && Open < Limit && !U.is(Open, ">>>"))
      ++Open;
    ++Open;
  }
  if (!U.is(Open, "(") || U.match(Open) >= U.Tokens.size())
    return;
  std::vector<Argument> A = U.arguments(Open);
  for (unsigned At : *Indices)
    if (At < A.size() && !U.is(A[At].first, "ptrdiff_t") && isHandle(A[At - 1]))
      join(A[At - 1], A[At]);
}

std::vector<Edit> callsBefore(const HandleUses &U) {
  CallRestorer R(U);
  for (size_t I = 0; I < U.Tokens.size(); ++I) {
    if (!U.isCode(I) || !U.Tokens[I].Word)
      continue;
    R.indexed(I);
    for (const GeneratedBlock &B : U.Blocks) {
      llvm::StringRef Name = U.Tokens[I].Text;
      if (Name == B.Handle && U.is(I + 1, "::") && I + 2 < U.Tokens.size())
        R.helper(I + 2, B, U.Tokens[I + 2].Text, U.range(I, I + 3));
      else if (Name.consume_front(B.Handle + "_")) {
        size_t First = I;
        while (First > 1 && U.is(First - 1, "::") && U.Tokens[First - 2].Word)
          First -= 2;
        R.helper(I, B, Name, U.range(First, I + 1));
      }
    }
  }
  return std::move(R.Out);
}

} // namespace restride

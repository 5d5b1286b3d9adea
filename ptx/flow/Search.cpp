#include "ptx/flow/Search.h"

#include "ptx/flow/LoopWrites.h"
#include "ptx/flow/Walk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <cmath>

using namespace llvm;

namespace restride::ptx {

namespace {

bool isEquality(const Instruction &I) {
  StringRef M = I.Mnemonic;
  return I.Op == Opcode::Setp && I.Ty.K != Type::Float && I.Src.size() == 2 && (M.contains(".eq") || M.contains(".ne"));
}

bool isSwap(const Instruction &I) { return I.Op == Opcode::Atom && StringRef(I.Mnemonic).contains(".cas"); }

bool loadsData(const Instruction &I) { return I.isLoad() && I.Mem != Space::Param && I.Mem != Space::Shared; }

class SearchReader {
public:
  SearchReader(const Function &F, const ControlFlow &C, const Loop &L) : F(F), C(C), L(L), Writers(writesIn(F, C, L)) { Flag = exitFlag(); }

  std::optional<Search> run() const {
    Search Out;
    bool Finds = false;
    const SmallVector<State, 8> Trip = follow(next({L.Header, std::nullopt}));
    for (unsigned B : L.Blocks) {
      const Instruction *Branch = branchOf(B);
      if (!Branch || (leaves(B) && Branch->Guard == Flag))
        continue;
      const bool TakenEnds = !goesOn(C.Blocks[B].Succs[0], B, Trip), NextEnds = !goesOn(C.Blocks[B].Succs[1], B, Trip);
      if (TakenEnds == NextEnds || !(leaves(B) || comparesData(Branch->Guard)))
        continue;
      Out.Tests.push_back({B, TakenEnds});
      Finds |= finds(Branch->Guard, Out.Insert);
    }
    if (!Finds)
      return std::nullopt;
    sort(Out.Tests, [&](const SearchTest &A, const SearchTest &B) { return C.DomFirst[A.Block] < C.DomFirst[B.Block]; });
    Out.First = first();
    Out.Chain = walkOf(F, C, L).has_value();
    return Out;
  }

private:
  using State = std::pair<unsigned, std::optional<bool>>; ///< a block, and the flag before it

  const Instruction *branchOf(unsigned B) const {
    const Block &Here = C.Blocks[B];
    const Instruction *Last = Here.Begin == Here.End ? nullptr : &F.Body[Here.End - 1];
    return Last && Last->Op == Opcode::Bra && Last->Guard >= 0 && Here.Succs.size() == 2 ? Last : nullptr;
  }
  bool inside(unsigned B) const { return is_contained(L.Blocks, B); }
  bool leaves(unsigned B) const { return leavesLoop(C, L, B); }

  /// The flag by which the loop is left after the path taken has set it; -1: none.
  int exitFlag() const {
    for (unsigned B : L.Blocks)
      if (const Instruction *Branch = leaves(B) ? branchOf(B) : nullptr)
        if (auto At = Writers.find(Branch->Guard); At != Writers.end() && At->second.size() > 1)
          return Branch->Guard;
    return -1;
  }

  /// The flag after \p B, where it was \p Before.
  std::optional<bool> flagAfter(unsigned B, std::optional<bool> Before) const {
    for (unsigned I = C.Blocks[B].Begin; I < C.Blocks[B].End; ++I) {
      const Instruction &Here = F.Body[I];
      if (none_of(Here.Dest, [&](const Operand &D) { return D.Reg >= 0 && D.Reg == Flag; }))
        continue;
      Before = std::nullopt;
      if (Here.Op == Opcode::Mov && Here.Src.size() == 1 && Here.Src[0].K == Operand::Immediate)
        Before = Here.Src[0].Imm != 0;
    }
    return Before;
  }

  /// Where one goes from \p S, by the flag where that is known.
  SmallVector<State, 2> next(const State &S) const {
    const std::optional<bool> After = flagAfter(S.first, S.second);
    const std::vector<unsigned> &Succs = C.Blocks[S.first].Succs;
    const Instruction *Branch = branchOf(S.first);
    if (Branch && Branch->Guard == Flag && After)
      return {{Succs[*After != Branch->GuardNegated ? 0 : 1], After}};
    return map_to_vector<2>(Succs, [&](unsigned To) { return State(To, After); });
  }

  /// All that follows from \p Work in the same trip; the header where another follows.
  SmallVector<State, 8> follow(SmallVector<State, 2> Work) const {
    SmallVector<State, 8> Seen;
    while (!Work.empty()) {
      const State Here = Work.pop_back_val();
      if (!inside(Here.first) || is_contained(Seen, Here))
        continue;
      Seen.push_back(Here);
      if (Here.first != L.Header)
        append_range(Work, next(Here));
    }
    return Seen;
  }

  /// Whether another trip can follow where \p From goes to \p To: not if all ways
  /// from there leave the loop, by the flag as it is set on them and before in the \p Trip.
  bool goesOn(unsigned To, unsigned From, ArrayRef<State> Trip) const {
    std::optional<bool> Before;
    auto At = find_if(Trip, [&](const State &S) { return S.first == From; });
    if (At != Trip.end() && count_if(Trip, [&](const State &S) { return S.first == From; }) == 1)
      Before = At->second;
    return any_of(follow({{To, flagAfter(From, Before)}}), [&](const State &S) { return S.first == L.Header; });
  }

  /// The one instruction of the loop that sets \p Register.
  const Instruction *writer(int Register) const {
    auto At = Writers.find(Register);
    return At != Writers.end() && At->second.size() == 1 ? &F.Body[At->second.front()] : nullptr;
  }
  bool isInvariant(const Operand &O) const { return O.K == Operand::Register && O.Reg >= 0 && !Writers.count(O.Reg); }

  /// What brought \p O from memory, before it was copied or converted, on each way; empty: something else did on one.
  SmallVector<const Instruction *, 2> sources(const Operand &O, unsigned Steps = 0) const {
    constexpr unsigned MaxSteps = 4;
    auto At = O.K != Operand::Register || Steps > MaxSteps ? Writers.end() : Writers.find(O.Reg);
    SmallVector<const Instruction *, 2> Out;
    for (unsigned W : At == Writers.end() ? ArrayRef<unsigned>() : ArrayRef(At->second)) {
      const Instruction &I = F.Body[W];
      if (loadsData(I) || isSwap(I)) {
        Out.push_back(&I);
        continue;
      }
      const bool Copies = (I.Op == Opcode::Mov || I.Op == Opcode::Cvt) && I.Src.size() == 1;
      const SmallVector<const Instruction *, 2> From = Copies ? sources(I.Src[0], Steps + 1) : SmallVector<const Instruction *, 2>();
      if (From.empty())
        return {};
      append_range(Out, From);
    }
    return Out;
  }

  bool comparesData(int Predicate) const {
    const Instruction *Setp = writer(Predicate);
    return Setp && isEquality(*Setp) && any_of(Setp->Src, [&](const Operand &O) { return !sources(O).empty(); });
  }

  bool finds(int Predicate, bool &Swaps, unsigned Depth = 0) const {
    const Instruction *Setp = writer(Predicate);
    if (Setp && (Setp->Op == Opcode::Or || Setp->Op == Opcode::And || Setp->Op == Opcode::Not) && Depth < 8) // found || free
      return any_of(Setp->Src,
                    [&](const Operand &O) { return O.K == Operand::Register && finds(O.Reg, Swaps, Depth + 1); });
    if (!Setp || !isEquality(*Setp))
      return false;
    auto Sought = [&](const Operand &Found, const Operand &Key) {
      const SmallVector<const Instruction *, 2> From = sources(Found);
      if (any_of(From, [](const Instruction *I) { return isSwap(*I); }))
        return Swaps = true;
      return !From.empty() && isInvariant(Key);
    };
    return Sought(Setp->Src[0], Setp->Src[1]) || Sought(Setp->Src[1], Setp->Src[0]);
  }

  /// The last branch before the loop, if it compares data and its other side goes where the loop ends.
  std::optional<SearchTest> first() const {
    unsigned Next = L.Header;
    int B = C.Idom[L.Header];
    while (B >= 0 && C.Blocks[unsigned(B)].Succs.size() == 1) {
      Next = unsigned(B);
      B = C.Idom[unsigned(B)];
    }
    const Instruction *Branch = B < 0 || inside(unsigned(B)) ? nullptr : branchOf(unsigned(B));
    if (!Branch)
      return std::nullopt;
    const std::vector<unsigned> &Sides = C.Blocks[unsigned(B)].Succs;
    const unsigned Other = Sides[0] == Next ? Sides[1] : Sides[0];
    const bool Skips = any_of(L.Blocks, [&](unsigned In) { return is_contained(C.Blocks[In].Succs, Other); });
    if (!is_contained(Sides, Next) || !Skips || inside(Other))
      return std::nullopt;
    const ArrayRef<Instruction> Here = ArrayRef(F.Body).slice(C.Blocks[unsigned(B)].Begin, C.Blocks[unsigned(B)].End - C.Blocks[unsigned(B)].Begin);
    auto Sets = [](const Instruction &I, int Register) {
      return Register >= 0 && any_of(I.Dest, [&](const Operand &D) { return D.Reg == Register; });
    };
    const bool Compares = any_of(Here, [&](const Instruction &Setp) {
      return isEquality(Setp) && Sets(Setp, Branch->Guard) && any_of(Here, [&](const Instruction &I) {
               return (loadsData(I) || isSwap(I)) && any_of(Setp.Src, [&](const Operand &O) { return Sets(I, O.Reg); });
             });
    });
    if (!Compares)
      return std::nullopt;
    return SearchTest{unsigned(B), Sides[0] == Other};
  }

  const Function &F;
  const ControlFlow &C;
  const Loop &L;
  const LoopWrites Writers;
  int Flag = -1;
};

} // namespace

double Search::goesOn(uint64_t Trip) const {
  if (Chain)
    return 0.5;
  constexpr double Load = 0.5;
  const double Tail = Load * std::exp(1 - Load);
  const double First = Insert ? Load / 2 : (Load + Load / 2) / 2;
  return Tail * std::pow(double(Trip) / double(Trip + 1), std::log2(Tail / First));
}

std::optional<Search> searchOf(const Function &F, const ControlFlow &C, const Loop &L) { return SearchReader(F, C, L).run(); }

} // namespace restride::ptx

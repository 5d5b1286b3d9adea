#include "ptx/flow/Search.h"

#include "ptx/flow/LoopWrites.h"
#include "ptx/flow/Walk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <cmath>
#include <map>

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
  SearchReader(const Function &F, const ControlFlow &C, const Loop &L, const LoopInductions &Counters)
      : F(F), C(C), L(L), Writers(writesIn(F, C, L)), Counted(Counters.Test ? &F.Body[Counters.Test->Branch] : nullptr) {}

  std::optional<Search> run() const {
    Search Out;
    Finds Found;
    const SmallVector<State, 8> Trip = follow(next({L.Header, std::nullopt}));
    for (unsigned B : L.Blocks) {
      const Instruction *Branch = branchOf(B);
      if (!Branch || Branch == Counted || (leaves(B) && isFlag(Branch->Guard)))
        continue;
      const bool TakenEnds = !goesOn(C.Blocks[B].Succs[0], B, Trip), NextEnds = !goesOn(C.Blocks[B].Succs[1], B, Trip);
      if (TakenEnds == NextEnds || !(leaves(B) || comparesData(Branch->Guard)))
        continue;
      Out.Tests.push_back({B, TakenEnds});
      finds(Branch->Guard, Found);
    }
    if (Found.Keys.empty())
      return std::nullopt;
    Out.Insert = Found.Swaps;
    for (const auto &[Key, Times] : Found.Keys)
      Out.Places = std::max(Out.Places, Times);
    sort(Out.Tests, [&](const SearchTest &A, const SearchTest &B) { return C.DomFirst[A.Block] < C.DomFirst[B.Block]; });
    Out.First = first();
    Out.Chain = walkOf(F, C, L).has_value();
    return Out;
  }

private:
  using FlagValue = std::optional<std::pair<int, bool>>; ///< the flag that was set last, if to what is known
  using State = std::pair<unsigned, FlagValue>;          ///< a block, and the flag before it

  struct Finds {
    bool Swaps = false;
    std::map<std::pair<int, int64_t>, unsigned> Keys; ///< times, by register or value that is compared with
  };

  const Instruction *branchOf(unsigned B) const {
    const Block &Here = C.Blocks[B];
    const Instruction *Last = Here.Begin == Here.End ? nullptr : &F.Body[Here.End - 1];
    return Last && Last->Op == Opcode::Bra && Last->Guard >= 0 && Here.Succs.size() == 2 ? Last : nullptr;
  }
  bool inside(unsigned B) const { return is_contained(L.Blocks, B); }
  bool leaves(unsigned B) const { return leavesLoop(C, L, B); }

  /// Several instructions of the loop do.
  bool isSetByPaths(int Register) const {
    auto At = Writers.find(Register);
    return At != Writers.end() && At->second.size() > 1;
  }
  /// It tells by which path one came: the paths set it, or its opposite. Unrolled trips have one each.
  bool isFlag(int Register) const {
    const Instruction *I = writer(Register);
    return I ? I->Op == Opcode::Not && I->Src.size() == 1 && I->Src[0].K == Operand::Register && isSetByPaths(I->Src[0].Reg) : isSetByPaths(Register);
  }

  /// The flag after \p B, where it was \p Now.
  FlagValue flagAfter(unsigned B, FlagValue Now) const {
    for (unsigned I = C.Blocks[B].Begin; I < C.Blocks[B].End; ++I) {
      const Instruction &Here = F.Body[I];
      const bool Copies = StringRef(Here.Mnemonic).ends_with(".pred") && Here.Dest.size() == 1 && Here.Src.size() == 1 && isFlag(Here.Dest[0].Reg);
      if (Copies && Here.Op == Opcode::Mov && Here.Src[0].K == Operand::Immediate)
        Now = {Here.Dest[0].Reg, Here.Src[0].Imm != 0};
      else if (Copies && Here.Op == Opcode::Not && Now && Here.Src[0].Reg == Now->first)
        Now = {Here.Dest[0].Reg, !Now->second};
      else if (Now && any_of(Here.Dest, [&](const Operand &D) { return D.Reg == Now->first; }))
        Now = std::nullopt;
    }
    return Now;
  }

  /// Where one goes from \p S, by the flag where that is known.
  SmallVector<State, 2> next(const State &S) const {
    const FlagValue After = flagAfter(S.first, S.second);
    const std::vector<unsigned> &Succs = C.Blocks[S.first].Succs;
    const Instruction *Branch = branchOf(S.first);
    if (Branch && After && Branch->Guard == After->first)
      return {{Succs[After->second != Branch->GuardNegated ? 0 : 1], After}};
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
    FlagValue Before;
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

  /// A place that follows from \p Register begins anew at the end of a table, as `(slot + 1) % size` does.
  bool wraps(int Register, unsigned Steps = 0) const {
    constexpr unsigned MaxSteps = 8;
    auto At = Steps > MaxSteps ? Writers.end() : Writers.find(Register);
    return At != Writers.end() && any_of(At->second, [&](unsigned W) {
      const Instruction &I = F.Body[W];
      if (I.Op == Opcode::And || I.Op == Opcode::Rem || I.Op == Opcode::Selp)
        return true;
      return !I.isMemory() && any_of(I.Src, [&](const Operand &O) { return O.Reg >= 0 && O.Reg != Register && wraps(O.Reg, Steps + 1); });
    });
  }

  bool comparesData(int Predicate) const {
    const Instruction *Setp = writer(Predicate);
    return Setp && isEquality(*Setp) && any_of(Setp->Src, [&](const Operand &O) { return !sources(O).empty(); });
  }

  /// Adds what \p Predicate compares data with that is the same in all trips, or a swap's result with anything.
  void finds(int Predicate, Finds &Out, unsigned Depth = 0) const {
    const Instruction *Setp = writer(Predicate);
    if (Setp && (Setp->Op == Opcode::Or || Setp->Op == Opcode::And || Setp->Op == Opcode::Not) && Depth < 8) { // found || free
      for (const Operand &O : Setp->Src)
        if (O.K == Operand::Register)
          finds(O.Reg, Out, Depth + 1);
      return;
    }
    if (!Setp || !isEquality(*Setp))
      return;
    auto compared = [&](const Operand &Found, const Operand &Key) {
      const SmallVector<const Instruction *, 2> From = sources(Found);
      const bool Swap = any_of(From, [](const Instruction *I) { return isSwap(*I); });
      if (!Swap && (From.empty() || !isInvariant(Key)))
        return false;
      if (Counted && none_of(From, [&](const Instruction *I) { return I->Addr && wraps(I->Addr->Reg); }))
        return false; // element by element of a list
      Out.Swaps |= Swap;
      ++Out.Keys[{Key.Reg, Key.K == Operand::Immediate ? Key.Imm : 0}];
      return true;
    };
    if (!compared(Setp->Src[0], Setp->Src[1]))
      compared(Setp->Src[1], Setp->Src[0]);
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
  const Instruction *const Counted; ///< the branch that leaves the loop by its count
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

std::optional<Search> searchOf(const Function &F, const ControlFlow &C, const Loop &L, const LoopInductions &Counters) {
  return SearchReader(F, C, L, Counters).run();
}

} // namespace restride::ptx

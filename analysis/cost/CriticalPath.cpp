#include "analysis/cost/CriticalPath.h"

#include "analysis/cost/IssueSlots.h"
#include "analysis/cost/LateLoads.h"
#include "analysis/cost/StoreOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace restride::cost {

/// Instructions under a branch that ptxas turns into predicates.
static constexpr unsigned MostPredicated = 16;

/// Whether all of \p B can hang on a predicate.
static bool isPredicable(const ptx::Function &F, const ptx::Block &B) {
  return B.End - B.Begin <= MostPredicated &&
         all_of(ArrayRef(F.Body).slice(B.Begin, B.End - B.Begin), [](const ptx::Instruction &I) {
           return I.Op != ptx::Opcode::Call && I.Op != ptx::Opcode::Bar && I.Op != ptx::Opcode::Ret &&
                  I.Op != ptx::Opcode::Exit;
         });
}

static bool isHeader(const ptx::ControlFlow &C, unsigned B) {
  return C.LoopOf[B] >= 0 && C.Loops[C.LoopOf[B]].Header == B;
}

std::vector<std::vector<unsigned>> schedulingRegions(const ptx::Function &F, const ptx::ControlFlow &C) {
  std::vector<std::vector<unsigned>> Out;
  std::vector<bool> Taken(C.Blocks.size(), false);
  for (unsigned Head = 0; Head < C.Blocks.size(); ++Head) {
    if (Taken[Head])
      continue;
    std::vector<unsigned> Region;
    auto take = [&](unsigned B) {
      Taken[B] = true;
      Region.push_back(B);
    };
    auto free = [&](unsigned B) { return !Taken[B] && C.LoopOf[B] == C.LoopOf[Head] && !isHeader(C, B); };
    take(Head);
    for (bool Grown = true; Grown;) {
      Grown = false;
      unsigned At = Region.back();
      ArrayRef<unsigned> Succs = C.Blocks[At].Succs;
      if (Succs.size() == 1 && free(Succs[0]) && C.Blocks[Succs[0]].Preds.size() == 1) {
        take(Succs[0]);
        Grown = true;
      } else if (Succs.size() == 2) {
        for (unsigned Side : {0, 1}) {
          unsigned Then = Succs[Side], After = Succs[1 - Side];
          const ptx::Block &B = C.Blocks[Then];
          if (!free(Then) || !free(After) || B.Preds.size() != 1 || B.Succs.size() != 1 || B.Succs[0] != After ||
              C.Blocks[After].Preds.size() != 2 || !isPredicable(F, B))
            continue;
          take(Then);
          take(After);
          Grown = true;
          break;
        }
      }
    }
    Out.push_back(std::move(Region));
  }
  return Out;
}

namespace {

/// Whether \p I cannot come before \p Load.
bool staysBehind(const ptx::Instruction &Load, const ptx::Instruction &I) {
  if (writesMemory(I) || I.Op == ptx::Opcode::Bar || I.Op == ptx::Opcode::Membar || I.Op == ptx::Opcode::Call)
    return true;
  auto is = [](int Register) { return [=](const ptx::Operand &O) { return O.Reg >= 0 && O.Reg == Register; }; };
  return any_of(Load.Dest, [&](const ptx::Operand &D) {
           return any_of(I.Src, is(D.Reg)) || any_of(I.Dest, is(D.Reg)) || (I.Addr && I.Addr->Reg == D.Reg) ||
                  (I.Guard >= 0 && I.Guard == D.Reg);
         }) ||
         (Load.Addr && any_of(I.Dest, is(Load.Addr->Reg)));
}

/// The instructions of a block as nvcc orders them: a load of one value stands before what first needs it, and so
/// behind the divisions between, which nothing is moved past. Loads of several values stay.
std::vector<unsigned> nvccOrder(const ptx::Function &F, const ptx::Block &B) {
  std::vector<unsigned> Order, Waiting;
  for (unsigned Index = B.Begin; Index < B.End; ++Index) {
    const ptx::Instruction &I = F.Body[Index];
    auto isDue = [&](unsigned Load) { return staysBehind(F.Body[Load], I); };
    copy_if(Waiting, std::back_inserter(Order), isDue);
    erase_if(Waiting, isDue);
    (I.isLoad() && I.Vector == 1 && I.Guard < 0 ? Waiting : Order).push_back(Index);
  }
  append_range(Order, Waiting);
  return Order;
}

class RegionPath {
public:
  /// \p Latency is of an instruction of \p F; its unit is that of all that follows.
  RegionPath(const ptx::Function &F, function_ref<double(unsigned)> Latency) : F(F), Latency(Latency) {}

  /// Time by which \p B delays the end of the region so far.
  double append(const ptx::Block &B) {
    double Before = End;
    for (unsigned Index : nvccOrder(F, B))
      issue(Index);
    return End - Before;
  }

  /// When it starts, not before \p Earliest.
  double issue(unsigned Index, double Earliest = 0) {
    const ptx::Instruction &I = F.Body[Index];
    double Start = std::max(Earliest, Order.earliest(I));
    auto wait = [&](int Register) {
      if (auto It = Ready.find(Register); It != Ready.end())
        Start = std::max(Start, It->second);
    };
    for (const ptx::Operand &S : I.Src)
      wait(S.Reg);
    if (I.Addr)
      wait(I.Addr->Reg);
    wait(I.Guard);
    if (I.Op == ptx::Opcode::Bra)
      Decided = std::max(Decided, Start);
    else if (writesMemory(I))
      Start = std::max(Start, Decided); // nothing is stored before it is known whether it shall be
    double Done = Start + Latency(Index);
    for (const ptx::Operand &D : I.Dest)
      if (D.Reg >= 0)
        Ready[D.Reg] = Done;
    Order.issued(I, Start);
    End = std::max(End, Done);
    return Start;
  }

private:
  const ptx::Function &F;
  function_ref<double(unsigned)> Latency;
  DenseMap<int, double> Ready; ///< register: when its value is there
  StoreOrder Order;
  double Decided = 0; ///< when the branches so far are
  double End = 0;
};

} // namespace

/// Whether \p Region is the whole body of a loop, but for a jump back.
static bool isLoopBody(const ptx::Function &F, const ptx::ControlFlow &C, ArrayRef<unsigned> Region) {
  const int L = C.LoopOf[Region.front()];
  return L >= 0 && C.Loops[L].Header == Region.front() && all_of(C.Loops[L].Blocks, [&](unsigned B) {
           const ptx::Block &Block = C.Blocks[B];
           return is_contained(Region, B) ||
                  (Block.End == Block.Begin + 1 && F.Body[Block.Begin].Op == ptx::Opcode::Bra);
         });
}

IssueOrder issueOrder(const ptx::Function &F, const ptx::ControlFlow &C) {
  IssueOrder Out;
  Out.Segments.resize(F.Body.size());
  Out.Waits.resize(F.Body.size());
  Out.Passed.resize(F.Body.size());
  unsigned Segment = 0;
  auto load = [&](unsigned I) { return double(latencyClass(F.Body[I]).empty()); }; // time is loads waited for
  for (const std::vector<unsigned> &Region : schedulingRegions(F, C)) {
    RegionPath P(F, load);
    unsigned Last = Segment, Loads = Segment;
    std::vector<unsigned> Order;
    for (unsigned B : Region)
      append_range(Order, nvccOrder(F, C.Blocks[B]));
    auto Late = lateLoads(F, Order);
    DenseMap<unsigned, unsigned> Behind; // of late loads: the loads that their store waits for
    for (unsigned I : Order) {
      unsigned Now = Segment + unsigned(P.issue(I, Behind.lookup(I)));
      Last = std::max(Last, Now);
      if (F.Body[I].isLoad())
        Loads = Now;
      Out.Segments[I] = F.Body[I].isStore() ? Loads : Now; // what it waits for keeps no load back
      Out.Waits[I] = F.Body[I].isStore() && Now > Loads;
      auto It = Late.find(I);
      Out.Passed[I] = It != Late.end() && !Out.Waits[I];
      if (It != Late.end() && Out.Waits[I]) {
        for (unsigned Load : It->second)
          Behind[Load] = std::max(Behind.lookup(Load), Now - Segment);
        Out.LateLoads[I] = std::move(It->second);
      }
    }
    if (isLoopBody(F, C, Region))
      for (auto &[Store, Next] : nextTripLoads(F, Order))
        if (Out.Waits[Store])
          append_range(Out.LateLoads[Store], Next);
    Segment = Last + 1;
  }
  return Out;
}

std::vector<double> criticalPaths(const ptx::Function &F, const ptx::ControlFlow &C, ArrayRef<double> LoadLatency,
                                  const Gpu &G) {
  std::vector<double> Cycles(C.Blocks.size(), 0);
  auto latency = [&](unsigned I) {
    StringRef Class = latencyClass(F.Body[I]);
    if (Class.empty())
      return LoadLatency[I];
    auto It = G.Latencies.find(Class.str());
    return It == G.Latencies.end() ? 0 : It->second;
  };
  for (const std::vector<unsigned> &Region : schedulingRegions(F, C)) {
    RegionPath P(F, latency);
    for (unsigned B : Region)
      Cycles[B] = P.append(C.Blocks[B]);
  }
  return Cycles;
}

} // namespace restride::cost

#include "analysis/cost/LateLoads.h"

#include "analysis/cost/IssueSlots.h"
#include "analysis/cost/StoreOrder.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <vector>

using namespace llvm;

namespace restride::cost {

namespace {

/// By place in the order; places count from 1.
struct Levels {
  std::vector<unsigned> Of;     ///< loads to wait for, one after the other, from an instruction to the end of its block
  std::vector<unsigned> Behind; ///< of a load: the last place that it may not pass; 0: none
};

} // namespace

static Levels findLevels(const ptx::Function &F, ArrayRef<unsigned> Order) {
  Levels L{std::vector<unsigned>(Order.size() + 1, 0), std::vector<unsigned>(Order.size() + 1, 0)};
  StoreOrder Stores;
  for (unsigned At = 1; At <= Order.size(); ++At) {
    L.Behind[At] = unsigned(Stores.earliest(F.Body[Order[At - 1]]));
    Stores.issued(F.Body[Order[At - 1]], At);
  }
  DenseMap<int, unsigned> Needed; // by register: the level of what reads it
  std::vector<std::pair<unsigned, unsigned>> Held; // places and the levels of loads that stay behind them
  for (unsigned At = Order.size(); At > 0; --At) {
    const ptx::Instruction &I = F.Body[Order[At - 1]];
    if (splitsBlock(I)) {
      Needed.clear();
      Held.clear();
    }
    unsigned &Level = L.Of[At];
    for (const ptx::Operand &D : I.Dest)
      if (auto It = Needed.find(D.Reg); It != Needed.end()) {
        Level = std::max(Level, It->second);
        Needed.erase(It);
      }
    if (I.isLoad()) {
      Level += latencyClass(I).empty();
      Held.push_back({L.Behind[At], Level});
    } else if (writesMemory(I))
      for (auto [Place, Of] : Held)
        if (At <= Place)
          Level = std::max(Level, Of);
    auto need = [&](int Register) {
      if (Register >= 0)
        Needed[Register] = std::max(Needed.lookup(Register), Level);
    };
    for (const ptx::Operand &S : I.Src)
      need(S.Reg);
    if (I.Addr)
      need(I.Addr->Reg);
    need(I.Guard);
  }
  return L;
}

/// By place: whether it needs what is loaded in its own block.
static std::vector<bool> needsLoads(const ptx::Function &F, ArrayRef<unsigned> Order) {
  std::vector<bool> Out(Order.size() + 1, false);
  DenseSet<int> Loaded; // registers that depend on a load
  for (unsigned At = 1; At <= Order.size(); ++At) {
    const ptx::Instruction &I = F.Body[Order[At - 1]];
    if (splitsBlock(I))
      Loaded.clear();
    const auto isLoaded = [&](const ptx::Operand &S) { return Loaded.contains(S.Reg); };
    Out[At] = any_of(I.Src, isLoaded) || (I.Addr && Loaded.contains(I.Addr->Reg)) || Loaded.contains(I.Guard);
    const bool Gives = Out[At] || (I.isLoad() && latencyClass(I).empty());
    for (const ptx::Operand &D : I.Dest) {
      Loaded.erase(D.Reg);
      if (Gives && D.Reg >= 0)
        Loaded.insert(D.Reg);
    }
  }
  return Out;
}

DenseMap<unsigned, SmallVector<unsigned>> lateLoads(const ptx::Function &F, ArrayRef<unsigned> Order) {
  const Levels L = findLevels(F, Order);
  const std::vector<bool> NeedsLoads = needsLoads(F, Order);
  DenseMap<unsigned, SmallVector<unsigned>> Out;
  for (unsigned Store = 1; Store <= Order.size(); ++Store) {
    if (!F.Body[Order[Store - 1]].isStore() || (L.Of[Store] == 0 && NeedsLoads[Store]))
      continue;
    for (unsigned Load = Store + 1; Load <= Order.size(); ++Load) {
      const ptx::Instruction &I = F.Body[Order[Load - 1]];
      if (splitsBlock(I))
        break;
      const bool ComesWithOneBehind = L.Of[Store] > 0 && L.Of[Load] <= L.Of[Store];
      const bool BothBegin = !NeedsLoads[Store] && !NeedsLoads[Load];
      if (I.isLoad() && latencyClass(I).empty() && L.Behind[Load] < Store && (ComesWithOneBehind || BothBegin))
        Out[Order[Store - 1]].push_back(Order[Load - 1]);
    }
  }
  return Out;
}

DenseMap<unsigned, SmallVector<unsigned>> nextTripLoads(const ptx::Function &F, ArrayRef<unsigned> Order) {
  DenseMap<unsigned, SmallVector<unsigned>> Out;
  auto splits = [&](unsigned I) { return splitsBlock(F.Body[I]); };
  const auto FirstSplit = find_if(Order, splits);
  if (FirstSplit == Order.end())
    return Out;
  const size_t LastSplit = size_t(Order.rend() - find_if(reverse(Order), splits)); // its place
  StoreOrder Stores;
  for (size_t At = 1; At <= Order.size(); ++At)
    Stores.issued(F.Body[Order[At - 1]], double(At));
  for (auto Next = Order.begin(); Next != FirstSplit; ++Next) {
    const ptx::Instruction &I = F.Body[*Next];
    if (I.isLoad() && latencyClass(I).empty())
      for (size_t Store = std::max(LastSplit + 1, size_t(Stores.earliest(I)) + 1); Store <= Order.size(); ++Store)
        if (F.Body[Order[Store - 1]].isStore())
          Out[Order[Store - 1]].push_back(*Next);
    Stores.issued(I, double(Order.size() + 1 + size_t(Next - Order.begin())));
  }
  return Out;
}

} // namespace restride::cost

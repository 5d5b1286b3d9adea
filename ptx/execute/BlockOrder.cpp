// The order in which diverged lanes execute blocks: as control flows, so that
// lanes wait where their paths meet, with all of a loop before what follows it.
#include "ptx/execute/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace restride::ptx;

void Program::orderBlocks() {
  const unsigned Count = unsigned(C.Blocks.size());
  std::vector<uint32_t> Position(Count, Count); // in reverse post-order
  std::vector<char> Seen(Count);
  std::vector<std::pair<unsigned, size_t>> Path;
  uint32_t Next = Count;
  for (unsigned Root = 0; Root < Count; ++Root) { // unreachable blocks last
    if (Seen[Root])
      continue;
    Seen[Root] = true;
    Path.emplace_back(Root, 0);
    while (!Path.empty()) {
      auto &[B, Child] = Path.back();
      const std::vector<unsigned> &Succs = C.Blocks[B].Succs;
      if (Child == Succs.size()) {
        Position[B] = --Next;
        Path.pop_back();
        continue;
      }
      unsigned S = Succs[Child++];
      if (!Seen[S]) {
        Seen[S] = true;
        Path.emplace_back(S, 0);
      }
    }
  }
  // Keep loops together: sort by the positions of the headers around a block.
  std::vector<std::vector<uint32_t>> Keys(Count);
  for (unsigned B = 0; B < Count; ++B) {
    Keys[B].push_back(Position[B]);
    for (int L = C.LoopOf[B]; L >= 0; L = C.Loops[L].Parent)
      Keys[B].push_back(Position[C.Loops[L].Header]);
    std::reverse(Keys[B].begin(), Keys[B].end());
  }
  std::vector<unsigned> Order(Count);
  for (unsigned B = 0; B < Count; ++B)
    Order[B] = B;
  llvm::sort(Order, [&](unsigned A, unsigned B) { return Keys[A] < Keys[B]; });
  Rank.resize(Count);
  for (unsigned I = 0; I < Count; ++I)
    Rank[Order[I]] = I;
}

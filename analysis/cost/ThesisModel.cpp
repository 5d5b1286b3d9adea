#include "analysis/cost/ThesisModel.h"

#include "analysis/cost/AccessReport.h"
#include "analysis/cost/FlowReport.h"
#include "analysis/cost/LiveRegisters.h"
#include "analysis/cost/Occupancy.h"
#include "analysis/cost/ThesisReuse.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace restride::cost {

namespace {

/// Cycles of a node, split as the report wants them.
struct NodeCycles {
  double Arithmetic = 0, Memory = 0;
};

/// Instructions in order: arithmetic adds up; loads collect in a group that the
/// next store (or the node's end) closes.
NodeCycles nodeCycles(const ptx::Function &F, const ptx::Block &B, ArrayRef<ThesisAccess> Accesses, const Gpu &G) {
  NodeCycles Out;
  std::vector<ThesisAccess> Group;
  auto close = [&] {
    Out.Memory += thesisGroup(Group, G);
    Group.clear();
  };
  for (unsigned I = B.Begin; I < B.End; ++I) {
    const ptx::Instruction &In = F.Body[I];
    if (!In.isMemory() || In.Mem == ptx::Space::Shared || In.Mem == ptx::Space::Const)
      Out.Arithmetic += G.Thesis.at("alu");
    else if (In.isLoad())
      Group.push_back(Accesses[I]);
    else {
      close();
      Out.Memory += G.Thesis.at("store");
    }
  }
  close();
  return Out;
}

} // namespace

KernelCost thesisCost(const ptx::Module &M, const ptx::Function &F, const KernelLaunch &L, const Gpu &G,
                      WeightedCfg *Cfg) {
  KernelCost K;
  K.Name = L.Function;
  K.Calls = L.Calls;
  K.Notes = L.Notes;

  const Code Kernel(F);
  Sample S = sampleOne(Kernel, WarpRunner(Kernel, L.Facts));
  append_range(K.Notes, S.Notes);
  K.LoopNotes = loopNotes(M, S);
  Occupancy O = occupancy(
      resources(F, L.Facts, L.Registers ? L.Registers : estimateRegisters(F, S.Flow, G.MaxThreadRegisters)), G);
  double ResidentBlocks = std::min(double(O.ResidentBlocks) * G.Sms, double(L.Facts.Grid.count()));
  double ResidentWarps = ResidentBlocks * O.WarpsPerBlock;
  std::vector<ThesisAccess> Accesses = thesisAccesses(F, S, ResidentWarps, G);

  for (CfgNode &N : S.Cfg.Nodes) {
    NodeCycles C = nodeCycles(F, S.Flow.Blocks[N.Block], Accesses, G);
    N.Cost = C.Arithmetic + C.Memory;
    K.Parts.Issue += N.Weight * C.Arithmetic;
    K.Parts.Dram += N.Weight * C.Memory;
  }
  K.Cycles = S.Cfg.total();
  K.BoundBy = K.Parts.Issue > K.Parts.Dram ? "issue" : "dram";
  K.Accesses = accessCosts(M, F, S);
  K.Flow = flowNodes(M, F, S);
  if (Cfg)
    *Cfg = S.Cfg;
  return K;
}

} // namespace restride::cost

#include "analysis/cost/AccessReport.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace restride::cost {

ptx::SourceLocation outermost(const ptx::Instruction &I) { return I.InlinedAt.empty() ? I.Loc : I.InlinedAt.back(); }

std::vector<Hits> loadHits(const Sample &S, const Reuse &R, const DramTraffic &D) {
  std::vector<Hits> Out(S.PerInstruction.size());
  for (auto [To, A, P] : llvm::zip(Out, R.PerInstruction, S.PerInstruction)) {
    double All = A.HitL1 + A.HitL2 + A.HitDram;
    if (All == 0)
      continue;
    To = {A.HitL1 / All, A.HitL2 / All, A.HitDram / All};
    double Beyond = To.L2 + To.Dram;
    To.Dram = P.Random ? Beyond * D.Random.MissShare : To.Dram * D.Regular.MissShare;
    To.L2 = Beyond - To.Dram;
  }
  return Out;
}

std::vector<AccessCost> accessCosts(const ptx::Module &M, const ptx::Function &F, const Sample &S,
                                    llvm::ArrayRef<Hits> From) {
  std::vector<AccessCost> Out;
  for (auto [Index, P] : llvm::enumerate(S.PerInstruction)) {
    const ptx::Instruction &I = F.Body[Index];
    if (P.Sectors == 0)
      continue;
    AccessCost A;
    ptx::SourceLocation At = outermost(I);
    A.Line = At.Line;
    A.Column = At.Column;
    if (At.File < M.Files.size())
      A.File = M.Files[At.File];
    A.Chain.push_back(I.Loc);
    llvm::append_range(A.Chain, I.InlinedAt);
    A.Bytes = I.accessBytes();
    A.SectorsPerRequest = P.Sectors;
    A.RequestsPerWarp = S.weight(Index);
    A.IsStore = I.isStore();
    A.IsAtomic = I.Op == ptx::Opcode::Atom || I.Op == ptx::Opcode::Red;
    A.Indirect = P.Random;
    if (!From.empty())
      A.From = From[Index];
    auto First = llvm::find_if(S.Trace.Requests, [&, At = Index](const ptx::Request &R) { return R.Instruction == At; });
    if (First != S.Trace.Requests.end()) {
      A.Lanes.assign(First->Address.begin(), First->Address.end());
      A.Mask = First->Mask;
    }
    Out.push_back(std::move(A));
  }
  return Out;
}

std::vector<PlacedNote> loopNotes(const ptx::Module &M, const Sample &S) {
  std::vector<PlacedNote> Out;
  for (const LoopNote &N : S.Cfg.Notes)
    Out.push_back({N.At.File < M.Files.size() ? M.Files[N.At.File] : "", N.At.Line, N.At.Column, N.Text});
  return Out;
}

Residency residency(const Occupancy &O, uint64_t Blocks, const Gpu &G) {
  Residency Out;
  Out.GridBlocks = Blocks;
  Out.WarpsPerBlock = O.WarpsPerBlock;
  Out.Blocks = O.ResidentBlocks;
  Out.LimitedBy = O.LimitedBy;
  if (double PerSm = std::max(1.0, std::ceil(Blocks / G.Sms)); PerSm < O.ResidentBlocks) {
    Out.Blocks = PerSm;
    Out.LimitedBy = "grid";
  }
  Out.Occupancy = double(Out.Blocks) * O.WarpsPerBlock / G.MaxWarps;
  return Out;
}

} // namespace restride::cost

#include "analysis/cost/Occupancy.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace restride::cost {

Occupancy occupancy(const Resources &R, const Gpu &G) {
  Occupancy O;
  O.WarpsPerBlock = std::max<unsigned>(1, divideCeil(R.BlockThreads, 32));
  O.ResidentBlocks = G.MaxBlocks;
  O.LimitedBy = "blocks";
  auto limit = [&](uint64_t Blocks, const char *By) {
    if (Blocks < O.ResidentBlocks)
      O.ResidentBlocks = Blocks, O.LimitedBy = By;
  };
  limit(G.MaxWarps / O.WarpsPerBlock, "warps");
  // Each of WarpGranule schedulers owns a share of the registers, and a warp's
  // allocation is rounded up.
  uint64_t WarpRegisters = alignTo(std::max<uint64_t>(R.ThreadRegisters, 1) * 32, G.RegisterGranule);
  uint64_t Warps = alignDown(G.Registers / WarpRegisters, G.WarpGranule);
  limit(Warps / O.WarpsPerBlock, "registers");
  if (R.SharedBytes && G.SharedBytes)
    limit(G.SharedBytes / alignTo(R.SharedBytes + G.SharedReserved, G.SharedGranule), "shared memory");
  O.ResidentBlocks = std::max(O.ResidentBlocks, 1u);
  return O;
}

std::vector<Wave> waves(uint64_t GridBlocks, const Occupancy &O, const Gpu &G, double SmoothFrom) {
  double Mean = double(GridBlocks) / G.Sms, PerSm = std::max(1.0, std::ceil(Mean)), Resident = O.ResidentBlocks;
  if (Mean > SmoothFrom)
    return {{Resident, Resident, Mean / Resident}};
  std::vector<Wave> Waves;
  double Full = std::floor(PerSm / Resident), Rest = PerSm - Full * Resident;
  if (Full > 0)
    Waves.push_back({Resident, std::min(Resident, Mean / Full), Full});
  if (Rest > 0)
    Waves.push_back({Rest, std::max(0.0, Mean - Full * Resident), 1});
  return Waves;
}

Resources resources(const ptx::Function &F, const ptx::LaunchFacts &L, unsigned ThreadRegisters) {
  Resources R;
  R.ThreadRegisters = ThreadRegisters;
  R.BlockThreads = L.Block.count();
  R.SharedBytes = L.DynamicSharedBytes;
  for (const ptx::Variable &V : F.Variables)
    if (V.Mem == ptx::Space::Shared)
      R.SharedBytes += V.Bytes;
  return R;
}

} // namespace restride::cost

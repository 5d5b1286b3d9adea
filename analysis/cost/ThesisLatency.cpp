// The thesis's formulas for one access and for a group of overlapping ones.
#include "analysis/cost/ThesisModel.h"

#include <algorithm>

namespace restride::cost {

static constexpr double ThesisLine = 128; ///< bytes of a line and of a transaction
static constexpr unsigned WarpSize = 32;

unsigned thesisTransactions(uint64_t StrideBytes) {
  uint64_t PerWarp = StrideBytes * WarpSize;
  return std::clamp<uint64_t>((PerWarp + 127) / 128, 1, WarpSize);
}

double thesisVariantHit(uint64_t StepBytes) { return 1 - std::min(1.0, double(StepBytes) / ThesisLine); }

double thesisInvariantHit(double Executions) { return Executions >= 1 ? (Executions - 1) / Executions : 0; }

double thesisGroup(llvm::ArrayRef<ThesisAccess> Group, const Gpu &G) {
  auto constant = [&](const char *Name) { return G.Thesis.at(Name); };
  double L2 = constant("l_l2"), Dram = constant("l_dram"), DelayL2 = constant("d_l2"), DelayDram = constant("d_dram");
  double Cycles = 0, PreviousL2 = 0, PreviousDram = 0;
  for (size_t I = 0; I < Group.size(); ++I) {
    double OfL2 = L2 + DelayL2 * (Group[I].Transactions - 1);            // (4)
    double OfDram = L2 + Dram + DelayDram * (Group[I].Transactions - 1); // (5)
    double Hit = I ? OfL2 + DelayL2 - PreviousL2 : OfL2;                 // (6)
    double Miss = I ? OfDram + DelayDram - PreviousDram : OfDram;        // (7)
    Cycles += Hit * Group[I].Hit + Miss * (1 - Group[I].Hit);            // (8)
    PreviousL2 = OfL2;
    PreviousDram = OfDram;
  }
  return Cycles;
}

} // namespace restride::cost

#include "analysis/cost/Sampling.h"

#include "analysis/cost/Atomics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace llvm;

namespace restride::cost {

/// Counted loops are cut by the executor, so these limits are rarely reached;
/// weights hold beyond them.
static ptx::ExecuteLimits atMost(uint64_t Requests) {
  ptx::ExecuteLimits L;
  L.MaxRequests = Requests;
  return L;
}

/// Warps to look at besides the first one, as (block, warp).
static std::vector<std::pair<uint64_t, unsigned>> otherWarps(const WarpRunner &Runner, const ptx::WarpTrace &First) {
  uint64_t Blocks = Runner.blocks(), Warps = Runner.warpsPerBlock();
  std::vector<std::pair<uint64_t, unsigned>> Others;
  if (First.Requests.size() < 200) { // averages out the randomness of gathers
    constexpr unsigned Several = 4;
    for (unsigned K = 1; K < Several; ++K)
      Others.push_back({(Blocks / 2 + 7 * K) % Blocks, (1 + K) % Warps});
    if (Warps > Several) // the first of a block does what one warp does for all
      Others.push_back({(Blocks / 2 + 7 * Several) % Blocks, 0});
  } else // triangular loops differ over the grid
    Others = {{Blocks / 8, 0}, {Blocks - 1 - Blocks / 8, Warps - 1}};
  return Others;
}

/// \p Touched: the footprint of \p T; \p Joined: joinedAtomics().
static void profileRequests(const ptx::Function &F, const ptx::WarpTrace &T, const WarpFootprint &Touched, const BitVector &Joined,
                            std::vector<AccessProfile> &Profile) {
  const RequestFootprint *Next = Touched.Requests.data(); // shared memory has none
  for (const ptx::Request &R : T.Requests) {
    const ptx::Instruction &I = F.Body[R.Instruction];
    AccessProfile &P = Profile[R.Instruction];
    ++P.Requests;
    P.Local |= R.Mem == ptx::Space::Local;
    P.Random |= R.DependsOnLoad && R.Mem == ptx::Space::Global;
    unsigned Width = I.accessBytes();
    P.BankCycles += isSharedAtomic(I) ? sharedAtomicCycles(I, R) : bankCyclesOf(R, Width);
    if (R.Mem == ptx::Space::Shared)
      continue;
    if (isAtomic(I))
      P.Atomics += atomicOperations(R, Joined[R.Instruction]);
    ArrayRef<SectorTouch> S = Touched.touches(*Next++);
    P.Sectors += S.size();
    P.TagPasses += tagPassesOf(S);
  }
}

namespace {

class Sampler {
public:
  Sampler(const Code &C, const WarpRunner &Runner) : F(C.F), Runner(Runner), S(C) {}

  void run(uint64_t Block, unsigned Warp) {
    // The first warp shows the accesses, the others how often loops run.
    Traces.push_back(Runner.run(Block, Warp, atMost(Traces.empty() ? 3000 : 500)));
    IsFirst.push_back(Warp == 0);
    S.Footprints.push_back(Runner.footprint(Traces.back(), Block, Warp));
  }

  bool sawNothing() const {
    return all_of(Traces, [](const ptx::WarpTrace &T) { return T.Requests.empty(); });
  }

  Sample take() {
    S.Notes = S.Flow.Warnings;
    S.PerInstruction.resize(F.Body.size());
    const std::vector<double> Shares = shares();
    const BitVector Joined = joinedAtomics(F);
    for (auto [T, Touched, Share] : zip_equal(Traces, S.Footprints, Shares)) {
      profileRequests(F, T, Touched, Joined, S.PerInstruction);
      S.Cut |= T.Truncated || any_of(T.Loops, [](const ptx::LoopTrips &L) { return L.True > L.Executed; });
      S.RequestsPerWarp += double(T.Requests.size()) * Share;
      for (const std::string &W : T.Warnings)
        if (!is_contained(S.Notes, W))
          S.Notes.push_back(W);
    }
    for (AccessProfile &P : S.PerInstruction)
      if (P.Requests)
        P.Sectors /= P.Requests, P.TagPasses /= P.Requests, P.BankCycles /= P.Requests, P.Atomics /= P.Requests;
    if (none_of(S.PerInstruction, [](const AccessProfile &P) { return P.Requests > 0; }))
      S.Notes.push_back("no access to memory was seen in the warps that were looked at: all layouts cost the same");
    auto Pointers = map_to_vector(Traces, [](const ptx::WarpTrace &T) { return &T; });
    S.Cfg = weightedCfg(F, S.Flow, Pointers, Shares);
    S.Trace = std::move(Traces.front());
    return std::move(S);
  }

  const ptx::Function &F;
  const WarpRunner &Runner;
  std::vector<ptx::WarpTrace> Traces;

private:
  /// Of each trace in the launch. Loops may be of any length in a few long ones, which count the same for that reason.
  std::vector<double> shares() const {
    const double Count = double(Traces.size()), First = double(llvm::count(IsFirst, true)), InBlock = Runner.warpsPerBlock();
    std::vector<double> Out(Traces.size(), 1 / Count);
    if (Count > 3 && First > 0 && First < Count && InBlock > 1)
      for (auto [Share, Is] : zip_equal(Out, IsFirst))
        Share = Is ? 1 / InBlock / First : (1 - 1 / InBlock) / (Count - First);
    return Out;
  }

  Sample S;
  std::vector<bool> IsFirst; ///< in its block, by trace
};

} // namespace

std::pair<uint64_t, unsigned> middleWarp(const WarpRunner &Runner) {
  return {Runner.blocks() / 2, std::min(1u, Runner.warpsPerBlock() - 1)};
}

Sample sample(const Code &C, const WarpRunner &Runner) {
  Sampler S(C, Runner);
  const auto Middle = middleWarp(Runner);
  S.run(Middle.first, Middle.second);
  for (auto [Block, Warp] : otherWarps(Runner, S.Traces.front()))
    S.run(Block, Warp);
  constexpr unsigned More = 8; // blocks of a triangle of the grid, of which those in the middle have nothing to do
  for (unsigned K = 1; K <= More && S.sawNothing(); ++K)
    S.run(scattered(K) % Runner.blocks(), K % Runner.warpsPerBlock());
  return S.take();
}

Sample sampleOne(const Code &C, const WarpRunner &Runner) {
  Sampler S(C, Runner);
  S.run(0, 0);
  return S.take();
}

} // namespace restride::cost

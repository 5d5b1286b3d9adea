#include "analysis/cost/DramTraffic.h"

namespace restride::cost {

DramTraffic dramTraffic(const ptx::Function &F, const WarpRunner &Runner, const Sample &S, const Reuse &L1,
                        const Gpu &G, const ptx::LaunchFacts &Facts, double Launches,
                        const ptx::ExecuteLimits &Limits) {
  const uint64_t Blocks = Runner.blocks();
  TouchedRanges Touched(F);
  RandomLines Random(G);
  const LoopSteps Steps(S.Trace);
  for (uint64_t Block : {uint64_t(0), Blocks / 3, Blocks - 1})
    for (unsigned Warp : {0u, Runner.warpsPerBlock() - 1}) {
      const ptx::WarpTrace T = Runner.run(Block, Warp, Limits);
      const WarpFootprint W = Runner.footprint(T, Block, Warp);
      Touched.add(W, unseenReach(S.Flow, T, Steps, F.Body.size()));
      Random.add(W);
    }
  return {regularTraffic(F, Runner, S, L1, G, Touched, Launches, Limits),
          randomTraffic(F, S, L1, Random, G, Facts)};
}

} // namespace restride::cost

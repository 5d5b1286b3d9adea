#include "analysis/cost/Footprint.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <optional>

using namespace llvm;

namespace restride::cost {

namespace {

/// Writes down what one warp touches, request by request.
class FootprintWriter {
public:
  /// \p Warp: its number in the grid.
  FootprintWriter(const ptx::Function &F, uint64_t Warp, size_t Requests, WarpRunner::Touched Which)
      : F(F), OwnSectors((LocalWindow + Warp * PerWarp) / SectorBytes), Which(Which) {
    constexpr size_t UsualRequests = 256, UsualSectors = 4; // the latter of a request
    W.Requests.reserve(std::min(Requests, UsualRequests));
    W.Touches.reserve(std::min(Requests, UsualRequests) * UsualSectors);
  }

  void add(const ptx::Request &R) {
    if (!R.Mask || R.Mem == ptx::Space::Shared)
      return;
    bool Local = R.Mem == ptx::Space::Local;
    if (Which == WarpRunner::Touched::Regular && R.DependsOnLoad && !Local)
      return;
    SectorTouches S = sectorsOf(R, F.Body[R.Instruction].accessBytes());
    W.Requests.push_back(
        {R.Instruction, uint32_t(W.Touches.size()), uint32_t(S.size()), R.DependsOnLoad && !Local, Local, R.Level});
    if (Local)
      for (SectorTouch &Touch : S)
        Touch.Sector += OwnSectors;
    W.Touches.insert(W.Touches.end(), S.begin(), S.end());
  }

  WarpFootprint take() { return std::move(W); }

private:
  // A warp's local memory is its own; executed addresses know their lane only.
  static constexpr uint64_t LocalWindow = 1ull << 60, PerWarp = 1ull << 32; // bytes

  const ptx::Function &F;
  const uint64_t OwnSectors;
  const WarpRunner::Touched Which;
  WarpFootprint W;
};

} // namespace

ptx::Dim3 WarpRunner::at(uint64_t Block) const {
  ptx::Dim3 At;
  At.X = Block % Facts.Grid.X;
  At.Y = Block / Facts.Grid.X % Facts.Grid.Y;
  At.Z = Block / Facts.Grid.X / Facts.Grid.Y;
  return At;
}

WarpFootprint WarpRunner::footprint(const ptx::WarpTrace &T, uint64_t Block, unsigned Warp) const {
  FootprintWriter Writer(F, warpOf(Block, Warp), T.Requests.size(), Touched::All);
  for (const ptx::Request &R : T.Requests)
    Writer.add(R);
  return Writer.take();
}

WarpFootprint WarpRunner::footprint(uint64_t Block, unsigned Warp, const ptx::ExecuteLimits &Limits, Touched Which) const {
  FootprintWriter Writer(F, warpOf(Block, Warp), Limits.MaxRequests, Which);
  Executor.run(Facts, at(Block), Warp, Limits, [&](const ptx::Request &R) { Writer.add(R); });
  return Writer.take();
}

namespace {

/// Sectors by which each request of \p B lies behind that of \p A; empty where
/// they differ in more than such a shift.
std::optional<std::vector<int64_t>> distances(const WarpFootprint &A, const WarpFootprint &B) {
  if (A.Requests.size() != B.Requests.size() || A.Touches.size() != B.Touches.size())
    return std::nullopt;
  std::vector<int64_t> Out;
  Out.reserve(A.Requests.size());
  for (auto [X, Y] : zip_equal(A.Requests, B.Requests)) {
    if (X.Instruction != Y.Instruction || X.Count != Y.Count || X.Random || Y.Random)
      return std::nullopt;
    int64_t Distance = X.Count ? B.Touches[Y.First].Sector - A.Touches[X.First].Sector : 0;
    for (auto [P, Q] : zip_equal(A.touches(X), B.touches(Y)))
      if (int64_t(Q.Sector - P.Sector) != Distance || P.Bytes != Q.Bytes)
        return std::nullopt;
    Out.push_back(Distance);
  }
  return Out;
}

/// \p W with request k moved by Blocks * PerBlock[k] + Warps * PerWarp[k] sectors.
WarpFootprint moved(const WarpFootprint &W, int64_t Blocks, ArrayRef<int64_t> PerBlock, int64_t Warps,
                    ArrayRef<int64_t> PerWarp) {
  WarpFootprint Out;
  Out.Requests = W.Requests;
  Out.Touches.reserve(W.Touches.size());
  for (auto [K, R] : enumerate(W.Requests)) {
    const uint64_t Distance = Blocks * PerBlock[K] + Warps * PerWarp[K];
    for (const SectorTouch &T : W.touches(R))
      Out.Touches.push_back({T.Sector + Distance, T.Bytes});
  }
  return Out;
}

bool same(const WarpFootprint &A, const WarpFootprint &B) {
  return A.Touches == B.Touches && llvm::equal(A.Requests, B.Requests, [](const auto &X, const auto &Y) {
           return X.Instruction == Y.Instruction && X.Count == Y.Count;
         });
}

} // namespace

std::vector<WarpFootprint> WarpRunner::footprints(ArrayRef<uint64_t> Blocks, const ptx::ExecuteLimits &Limits,
                                                  Touched Which) const {
  unsigned Warps = warpsPerBlock(), Count = Blocks.size();
  auto executed = [&](uint64_t Block, unsigned Warp) {
    return footprint(Block, Warp, Limits, Which);
  };
  std::vector<WarpFootprint> All;
  All.reserve(size_t(Count) * Warps);

  // Linear in the warp: of each block the first, second and last are executed.
  auto block = [&](uint64_t B) {
    std::map<unsigned, WarpFootprint> Known; // by warp
    Known[0] = executed(B, 0);
    if (Warps > 3) {
      Known[1] = executed(B, 1);
      if (std::optional<std::vector<int64_t>> PerWarp = distances(Known[0], Known[1])) {
        Known[Warps - 1] = executed(B, Warps - 1);
        if (same(moved(Known[0], 0, *PerWarp, Warps - 1, *PerWarp), Known[Warps - 1])) {
          for (unsigned W = 0; W < Warps; ++W)
            All.push_back(moved(Known[0], 0, *PerWarp, W, *PerWarp));
          return;
        }
      }
    }
    for (unsigned W = 0; W < Warps; ++W) {
      auto At = Known.find(W);
      All.push_back(At == Known.end() ? executed(B, W) : std::move(At->second));
    }
  };
  block(Blocks[0]);

  // Linear in the block as well: the last block and one in the middle tell.
  if (Count > 3 && Blocks[0] + 1 < blocks()) {
    std::optional<std::vector<int64_t>> PerBlock = distances(All[0], executed(Blocks[0] + 1, 0));
    // At an edge of the grid's data a warp may make other requests than its neighbour.
    if (PerBlock && any_of(All, [&](const WarpFootprint &W) { return W.Requests.size() != PerBlock->size(); }))
      PerBlock.reset();
    auto predicted = [&](unsigned B, unsigned W) {
      return moved(All[W], int64_t(Blocks[B] - Blocks[0]), *PerBlock, 0, *PerBlock);
    };
    auto agrees = [&](unsigned B, unsigned W) { return same(predicted(B, W), executed(Blocks[B], W)); };
    if (PerBlock && agrees(Count - 1, Warps - 1) && agrees(Count / 2, Warps / 2)) {
      for (unsigned B = 1; B < Count; ++B)
        for (unsigned W = 0; W < Warps; ++W)
          All.push_back(predicted(B, W));
      return All;
    }
  }
  for (uint64_t B : Blocks.drop_front())
    block(B);
  return All;
}

} // namespace restride::cost

// Measured on an H200 with adds of integers and floats to 1 to 2^20 records, 4 to 128 bytes apart.
#include "analysis/cost/Atomics.h"

#include "ptx/flow/Varying.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace llvm;

namespace restride::cost {

/// Operations that one on a word takes as long as, where the next one waits for its sum: 3.1 cycles for 1.55, floats only.
static constexpr double SameWord = 2;

bool isAtomic(const ptx::Instruction &I) {
  return (I.Op == ptx::Opcode::Atom || I.Op == ptx::Opcode::Red) && I.Mem != ptx::Space::Shared;
}

BitVector joinedAtomics(const ptx::Function &F) {
  BitVector Out(unsigned(F.Body.size()));
  if (none_of(F.Body, isAtomic))
    return Out;
  const BitVector Varying = ptx::varyingRegisters(F);
  for (auto [Index, I] : enumerate(F.Body)) {
    const StringRef M = I.Mnemonic;
    if (isAtomic(I) && I.Ty.K != ptx::Type::Float && !M.contains(".cas") && !M.contains(".exch") && I.Addr)
      Out[unsigned(Index)] = I.Addr->Reg < 0 || !Varying[unsigned(I.Addr->Reg)];
  }
  return Out;
}

static SmallDenseMap<uint64_t, unsigned, 32> lanesByAddress(const ptx::Request &R) {
  SmallDenseMap<uint64_t, unsigned, 32> Lanes;
  for (uint32_t Rest = R.Mask; Rest; Rest &= Rest - 1)
    ++Lanes[R.Address[unsigned(std::countr_zero(Rest))]];
  return Lanes;
}

bool isSharedAtomic(const ptx::Instruction &I) {
  return (I.Op == ptx::Opcode::Atom || I.Op == ptx::Opcode::Red) && I.Mem == ptx::Space::Shared;
}

double sharedAtomicCycles(const ptx::Instruction &I, const ptx::Request &R) {
  // 32 lanes to 32, 16, 8, 4, 2 words and one: 4.2, 5.9, 10.9, 21.5, 42.8 and 85.3 cycles for floats, 5.6, 8.8, 17.1,
  // 33.8, 62.8 and 124.9 for 64 bits; 1.9 always for integers of 32 bits.
  constexpr double InPlace = 1.9, Begin = 1.3, Round = 2.65, WideRound = 3.87;
  const bool Wide = I.Ty.Bits > 32, Swaps = StringRef(I.Mnemonic).contains(".cas") || StringRef(I.Mnemonic).contains(".exch");
  if (Swaps || (!Wide && I.Ty.K != ptx::Type::Float))
    return std::max(InPlace, double(bankCyclesOf(R, I.accessBytes())));
  unsigned Most = 0;
  for (auto [Address, Count] : lanesByAddress(R))
    Most = std::max(Most, Count);
  return Begin + Most * (Wide ? WideRound : Round);
}

/// Operations of one request by sector.
static SmallDenseMap<uint64_t, unsigned, 32> operationsBySector(const ptx::Request &R, bool Joined) {
  SmallDenseMap<uint64_t, unsigned, 32> Out;
  for (auto [Address, Count] : lanesByAddress(R)) {
    unsigned &Sector = Out[Address / SectorBytes];
    Sector = Joined ? Sector + 1 : std::max(Sector, Count); // the most of any address
  }
  return Out;
}

double atomicOperations(const ptx::Request &R, bool Joined) {
  double Operations = 0;
  for (auto [Sector, Count] : operationsBySector(R, Joined))
    Operations += Count;
  return Operations;
}

static double operationsOf(const LineOperations &Warp) {
  return std::accumulate(Warp.begin(), Warp.end(), 0.0, [](double Sum, const auto &Line) { return Sum + Line.second; });
}

/// Probability that an operation of each of two warps is on the same line: the mean over all pairs of \p A and \p B.
static double meetings(ArrayRef<LineOperations> A, ArrayRef<LineOperations> B) {
  const auto All = map_to_vector(B, operationsOf);
  double Same = 0, Pairs = 0;
  for (const LineOperations &One : A) {
    const double Own = operationsOf(One);
    for (auto [Other, Operations] : zip_equal(B, All)) {
      if (A.data() == B.data() && &Other >= &One)
        break;
      Pairs += Own * Operations;
      for (auto L = One.begin(), R = Other.begin(); L != One.end() && R != Other.end();)
        if (L->first == R->first)
          Same += L++->second * R++->second;
        else
          ++(L->first < R->first ? L : R);
    }
  }
  return Pairs > 0 ? Same / Pairs : 0;
}

double atomicLines(ArrayRef<LineOperations> Warps) {
  if (Warps.size() == 1)
    return double(Warps.front().size());
  // Of two draws from N lines, 1 / N of the pairs are the same.
  const double Meet = meetings(Warps, Warps);
  return Meet > 0 ? 1 / Meet : std::numeric_limits<double>::infinity();
}

/// Of L2.
static constexpr double Slices = 96;

double busiestSlice(double Lines) {
  // Two lines in a row share a slice, and of eight in a row four do. Many are spread as if at random.
  if (std::isinf(Lines))
    return 1 / Slices;
  double Mean = Lines / Slices, Few = std::max(std::min(Lines, 2.0), std::min(Lines / 2, 4.0));
  return std::max(Few, Mean + 2.3 * std::sqrt(Mean)) / std::max(Lines, 1.0);
}

double busiestSliceInPassing(double Lines) {
  // Threads that add to the next word after 8 to 1,000 of them: from 8 to 2,700 lines at a time take 12.6 to 1.0 times as long
  // as single lines of many.
  constexpr double Late = 125;
  return std::min(1.0, (1 + Late / std::max(Lines, 1.0)) / Slices);
}

namespace {

/// What the warps that are looked at ask of one array.
struct OfArray {
  std::vector<LineOperations> Now, Later; ///< by warp: of those that run at a time, and of others
  double Operations = 0;                  ///< of the former

  double busiest() const {
    const double Lines = atomicLines(Now);
    if (Later.empty() || std::isinf(Lines) || Now.size() < 2)
      return busiestSlice(Lines);
    const double Stay = std::min(1.0, Lines * meetings(Now, Later));
    return std::lerp(busiestSliceInPassing(Lines), busiestSlice(Lines), Stay);
  }
};

/// Lanes that add floats, by warp and word.
class FloatWords {
public:
  void add(const ptx::Request &R) {
    for (uint32_t Rest = R.Mask; Rest; Rest &= Rest - 1)
      ++Now[R.Address[unsigned(std::countr_zero(Rest))]];
    All += std::popcount(R.Mask);
  }
  void endWarp() {
    if (!Now.empty())
      Warps.push_back(std::exchange(Now, {}));
  }
  /// Those of them that mean the word that most mean: the share of pairs, of lanes of different warps, that mean the same.
  double hottest() const {
    double Same = 0, Pairs = 0;
    for (size_t A = 0; A < Warps.size(); ++A)
      for (size_t B = 0; B < A; ++B) {
        Pairs += lanesOf(Warps[A]) * lanesOf(Warps[B]);
        for (auto [Word, Lanes] : Warps[A])
          if (const auto At = Warps[B].find(Word); At != Warps[B].end())
            Same += double(Lanes) * At->second;
      }
    return Pairs > 0 ? Same / Pairs * All : 0;
  }

private:
  static double lanesOf(const std::map<uint64_t, unsigned> &Words) {
    double Out = 0;
    for (auto [Word, Lanes] : Words)
      Out += Lanes;
    return Out;
  }

  std::map<uint64_t, unsigned> Now;
  std::vector<std::map<uint64_t, unsigned>> Warps;
  double All = 0;
};

} // namespace

double busiestSlice(const ptx::Function &F, const WarpRunner &Runner, uint64_t BlocksAtATime) {
  if (none_of(F.Body, isAtomic))
    return 0;
  constexpr unsigned Warps = 24, Others = 8; // 276 pairs
  ptx::ExecuteLimits Limits;
  Limits.MaxRequests = 100;
  const uint64_t Window = std::min(BlocksAtATime, Runner.blocks()), First = (Runner.blocks() - Window) / 2;
  std::map<uint64_t, OfArray> Arrays;
  const BitVector Joined = joinedAtomics(F);
  FloatWords Floats;
  double Operations = 0;
  for (uint64_t K = 1; K <= Warps + (First ? Others : 0); ++K) {
    const bool Now = K <= Warps;
    const uint64_t Block = Now ? First + scattered(K) % Window : scattered(K) % First;
    const unsigned Warp = scattered(K + Warps) % Runner.warpsPerBlock();
    std::map<uint64_t, std::map<uint64_t, double>> Lines; // by array
    for (const ptx::Request &R : Runner.run(Block, Warp, Limits).Requests) {
      const ptx::Instruction &I = F.Body[R.Instruction];
      if (!isAtomic(I) || R.Mem != ptx::Space::Global)
        continue;
      for (auto [Sector, Count] : operationsBySector(R, Joined[R.Instruction])) {
        const uint64_t Array = pointerTo(Sector);
        Lines[Array][lineOf(Sector)] += Count;
        if (Now)
          Arrays[Array].Operations += Count, Operations += Count;
      }
      if (Now && I.Ty.K == ptx::Type::Float)
        Floats.add(R);
    }
    if (Now)
      Floats.endWarp();
    for (const auto &[Array, Here] : Lines)
      (Now ? Arrays[Array].Now : Arrays[Array].Later).push_back({Here.begin(), Here.end()});
  }
  // A slice that has most of one array has the mean of the others.
  const double Mean = busiestSlice(std::numeric_limits<double>::infinity());
  double Busiest = Mean;
  for (const auto &[Array, Of] : Arrays)
    if (!Of.Now.empty())
      Busiest = std::max(Busiest, std::lerp(Mean, Of.busiest(), Of.Operations / Operations));
  return Operations > 0 ? std::max(Busiest, SameWord * Floats.hottest() / Operations) : Busiest;
}

} // namespace restride::cost

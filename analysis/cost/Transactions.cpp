#include "analysis/cost/Transactions.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bit>

namespace restride::cost {

static constexpr unsigned WordBytes = 4, Banks = 32, TagBanks = 4;

void joinSectors(SectorTouches &Touches) {
  if (Touches.empty())
    return;
  llvm::sort(Touches, [](const SectorTouch &A, const SectorTouch &B) { return A.Sector < B.Sector; });
  size_t Out = 0;
  for (size_t I = 1; I < Touches.size(); ++I)
    if (Touches[I].Sector == Touches[Out].Sector)
      Touches[Out].Bytes |= Touches[I].Bytes;
    else
      Touches[++Out] = Touches[I];
  Touches.truncate(Out + 1);
}

SectorTouches sectorsOf(const ptx::Request &R, unsigned Width) {
  SectorTouches Touches;
  SectorTouch Last;
  bool Ascending = true;
  auto Touch = [&](uint64_t Sector, unsigned From, unsigned Count) {
    uint32_t Bytes = uint32_t((1ull << Count) - 1) << From;
    if (Sector == Last.Sector && Last.Bytes) {
      Last.Bytes |= Bytes;
      return;
    }
    if (Last.Bytes)
      Touches.push_back(Last);
    Ascending &= !Last.Bytes || Last.Sector < Sector;
    Last = {Sector, Bytes};
  };
  for (uint32_t Rest = Width ? R.Mask : 0; Rest; Rest &= Rest - 1) {
    uint64_t At = R.Address[unsigned(std::countr_zero(Rest))], End = At + Width;
    unsigned From = At % SectorBytes;
    if (From + Width <= SectorBytes) {
      Touch(At / SectorBytes, From, Width);
      continue;
    }
    for (; At < End; At += SectorBytes - At % SectorBytes)
      Touch(At / SectorBytes, At % SectorBytes, std::min<uint64_t>(End - At, SectorBytes - At % SectorBytes));
  }
  if (Last.Bytes)
    Touches.push_back(Last);
  if (!Ascending)
    joinSectors(Touches);
  return Touches;
}

unsigned linesOf(llvm::ArrayRef<SectorTouch> Touches) {
  unsigned Lines = 0;
  uint64_t Last = ~0ull;
  for (const SectorTouch &T : Touches)
    if (uint64_t Line = lineOf(T.Sector); Line != Last)
      ++Lines, Last = Line;
  return Lines;
}

unsigned packetsOf(llvm::ArrayRef<SectorTouch> Touches) {
  unsigned Masks = 0;
  uint64_t Last = ~0ull;
  for (const SectorTouch &T : Touches)
    if (uint64_t Line = lineOf(T.Sector); !T.whole() && Line != Last)
      ++Masks, Last = Line;
  return unsigned(Touches.size()) + Masks;
}

/// Ascending distinct words of the lanes [\p First, \p First + \p Count).
static llvm::SmallVector<uint64_t, 64> wordsOf(const ptx::Request &R, unsigned Width, unsigned First, unsigned Count) {
  llvm::SmallVector<uint64_t, 64> Words;
  bool Ascending = true;
  for (unsigned Lane = First; Lane < First + Count; ++Lane)
    if (R.Mask >> Lane & 1)
      for (uint64_t W = R.Address[Lane] / WordBytes; W <= (R.Address[Lane] + Width - 1) / WordBytes; ++W)
        if (Words.empty() || Words.back() != W) {
          Ascending &= Words.empty() || Words.back() < W;
          Words.push_back(W);
        }
  if (!Ascending) {
    std::sort(Words.begin(), Words.end()); // llvm::sort calls a function for each comparison of numbers
    Words.erase(std::unique(Words.begin(), Words.end()), Words.end());
  }
  return Words;
}

static unsigned phasesOf(unsigned Width) { return std::clamp(Width / WordBytes, 1u, WarpLanes); }

/// Of four. Two bits, each the parity of some bits of the line number: found with pairs of lines up to 2 GB apart.
static unsigned tagBank(uint64_t Line) {
  return std::popcount(Line & 0x1EF7AB5) % 2 + 2 * (std::popcount(Line & 0x155AF6F) % 2);
}

unsigned tagPassesOf(llvm::ArrayRef<SectorTouch> Touches) {
  unsigned InBank[TagBanks] = {};
  uint64_t Last = ~0ull;
  for (const SectorTouch &T : Touches)
    if (uint64_t Line = lineOf(T.Sector); Line != Last)
      ++InBank[tagBank(Line)], Last = Line;
  return *std::max_element(std::begin(InBank), std::end(InBank));
}

unsigned bankCyclesOf(const ptx::Request &R, unsigned Width) {
  unsigned Phases = phasesOf(Width), Lanes = WarpLanes / Phases, Cycles = 0;
  for (unsigned Phase = 0; Phase < Phases; ++Phase) {
    unsigned InBank[Banks] = {}, Most = 0;
    for (uint64_t Word : wordsOf(R, Width, Phase * Lanes, Lanes))
      Most = std::max(Most, ++InBank[Word % Banks]);
    Cycles += Most;
  }
  return Cycles;
}

} // namespace restride::cost

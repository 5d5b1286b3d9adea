// What one warp-wide memory request costs the memory system, from the addresses
// of its lanes. A vector access (.v2, .v4) is one request.
#pragma once

#include "ptx/execute/AddressMap.h"
#include "ptx/execute/Execute.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace restride::cost {

/// The same on every NVIDIA GPU since Maxwell, so not in the profiles.
inline constexpr unsigned SectorBytes = 32, LineBytes = 128, WarpLanes = 32;

/// The 128-byte line that \p Sector lies in.
inline uint64_t lineOf(uint64_t Sector) { return Sector / (LineBytes / SectorBytes); }
/// Number of the pointer's range that a sector lies in.
inline uint64_t pointerTo(uint64_t Sector) { return Sector * SectorBytes >> ptx::RangeBits; }

/// One 32-byte sector and which of its bytes a request touches.
struct SectorTouch {
  uint64_t Sector = 0; ///< byte address / 32
  uint32_t Bytes = 0;  ///< bit i: byte i of the sector
  bool whole() const { return Bytes == ~0u; }
  bool operator==(const SectorTouch &) const = default;
};
using SectorTouches = llvm::SmallVector<SectorTouch, 32>;

/// Distinct sectors of \p R, ascending; each lane moves \p Width bytes.
SectorTouches sectorsOf(const ptx::Request &R, unsigned Width);

/// Sorts \p Touches and makes those of one sector one.
void joinSectors(SectorTouches &Touches);

/// Distinct 128-byte lines among ascending \p Touches.
unsigned linesOf(llvm::ArrayRef<SectorTouch> Touches);

/// Packets of 32 bytes that a store of ascending \p Touches sends to L2: its sectors,
/// and for each line that is not written in whole sectors a mask of its bytes, as
/// l1tex__m_l1tex2xbar_req_cycles_active counts them.
unsigned packetsOf(llvm::ArrayRef<SectorTouch> Touches);

/// Cycles of L1's tag stage for a global request of ascending \p Touches: its lines go to four tag banks by a hash of
/// the line number, and the fullest counts, as l1tex__t_output_wavefronts does.
unsigned tagPassesOf(llvm::ArrayRef<SectorTouch> Touches);

/// Cycles of L1's data stage, for shared memory too: the lanes go in Width/4 phases,
/// each as long as the most distinct words in any of the 32 data banks.
unsigned bankCyclesOf(const ptx::Request &R, unsigned Width);

} // namespace restride::cost

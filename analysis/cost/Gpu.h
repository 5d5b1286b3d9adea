// One GPU as data. Every constant of a cost model lives in a YAML profile
// (gpus/*.yaml, installed to share/restride/gpus, or a file of the user's), so
// that changing one needs no rebuild. docs/cost-model.md says what each key means.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace restride::cost {

struct Gpu {
  std::string Name;
  std::string Source; ///< "measured" or "published", with what
  std::string Arch;   ///< "sm_90"
  double Sms = 0, ClockGHz = 0;

  // Memory, from near to far.
  double L1Bytes = 0;                                   ///< per SM, usable for global data; 0: global loads bypass L1
  double L2Bytes = 0;                                   ///< effective capacity, whole GPU
  double L2ResidentBytes = 0;                           ///< lines of regular data of which half are found the next time
  double L2RandomBytes = 0;                             ///< capacity that random accesses see
  double L1Latency = 0, L2Latency = 0, DramLatency = 0; ///< cycles
  double DramDeviation = 0; ///< cycles, standard deviation of DramLatency between rows; 0: 0.24 of it
  double L2BytesPerCycle = 0;                           ///< per SM
  double DramBytesPerCycle = 0;                         ///< per SM, streaming
  double DramGranule = 64;                              ///< bytes fetched at least
  double StoreMergeLines = 24;                          ///< of stores that wait to be merged
  double StoreSectorCycles = 0;                         ///< per 32 bytes stored in L2; 0: twice what a read takes
  double WarpBurst = 16;                                ///< requests a warp issues before another warp's turn
  double BlockStagger = 0.1;                            ///< share of its run by which resident blocks are out of step
  double WarpWavefronts = 1;                            ///< L1 wavefronts every warp costs
  double StoreWavefronts = 0.8;                         ///< further ones of a warp that stores

  // Limits on resident blocks, per SM.
  unsigned MaxWarps = 64, MaxBlocks = 32, Registers = 65536, SharedBytes = 0;
  unsigned RegisterGranule = 256; ///< registers a warp's allocation is rounded to
  unsigned WarpGranule = 4;       ///< warps are given out in this many
  unsigned SharedGranule = 128;   ///< bytes a block's shared memory is rounded to
  unsigned SharedReserved = 0;    ///< bytes of shared memory the driver takes per block
  unsigned MaxThreadRegisters = 255;

  // How quantities become time.
  double Schedulers = 4;                      ///< instructions issued per cycle and SM
  double WarpSlots = 3.5;                     ///< issue slots every warp costs
  double PNorm = 3.4;                         ///< exponent that joins the terms
  double RandomHitCycles = 0;                 ///< per sector of a random access that is in L2
  double RandomSectorCycles = 1.6;            ///< per sector of a random access that is not
  double RandomGranuleCycles = 5.3;           ///< further ones per DRAM granule of these
  double WriteBackCycles = 0; ///< of an SM, for a line written to DRAM alone; 0: what two sectors and a granule take
  double TlbBytes = 0;                        ///< range of addresses that the TLB holds
  double TranslationCycles = 0;               ///< per random access of a lane beyond it; 0: not priced
  double LatencyFactor = 1;                   ///< on the critical path
  double WaveCycles = 900; ///< cycles from the end of a block until the next one in its place has begun
  /// Of an SM, for a sector of a line that is being fetched from DRAM when it is written; 0: no more than others.
  double ConflictSectorCycles = 0;
  double AtomicCycles = 0; ///< between two atomics of the GPU on one address
  double LaunchCycles = 0;                    ///< one launch of an empty kernel
  std::map<std::string, double> IssueWeights; ///< issue slots per opcode class
  std::map<std::string, double> UnitLanes;    ///< lanes that a narrow unit takes in a cycle of an SM
  std::map<std::string, double> Latencies;    ///< cycles from issue to result per latency class
  std::map<std::string, double> Thesis;       ///< l_l2, l_dram, d_l2, d_dram, alu, store (cycles)

  /// Cycles of streaming \p Bytes through DRAM with the whole GPU.
  double streamCycles(double Bytes) const { return Bytes / (DramBytesPerCycle * Sms); }
};

/// Names of the shipped profiles, sorted.
std::vector<std::string> shippedGpus();

/// Where the profile is read from; a shipped name need not be one.
std::string gpuFile(llvm::StringRef NameOrFile);

/// \p NameOrFile is a shipped name ("h200") or ends in .yaml/.yml. Fails with
/// one line that names the key, line and column, with a suggestion where a
/// name is close ("unknown GPU 'h20'; did you mean 'h200'?").
llvm::Expected<Gpu> loadGpu(llvm::StringRef NameOrFile);

/// The lines of the keys of \p G that \p Wanted picks, as parseGpu reads them.
std::string printGpu(const Gpu &G, llvm::function_ref<bool(llvm::StringRef)> Wanted);

/// The text of a file that lies with the shipped profiles.
llvm::Expected<std::string> readShipped(llvm::StringRef Name);

/// A profile from its text; \p File stands in messages only.
llvm::Expected<Gpu> parseGpu(llvm::StringRef Text, llvm::StringRef File);

} // namespace restride::cost

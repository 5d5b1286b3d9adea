// One GPU as data. Every constant of a cost model lives in a YAML profile
// (gpus/*.yaml, installed to share/restride/gpus, or a file of the user's), so
// that changing one needs no rebuild.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace restride::cost {

struct Gpu {
  std::string Name;
  std::string Source;               ///< "measured" or "published", with what
  std::string Arch;                 ///< "sm_90"
  double Sms = 0, ClockGHz = 0;
  double L1Bytes = 0;               ///< per SM, usable for global data
  double L2Bytes = 0;               ///< effective capacity, whole GPU
  double L1Latency = 0, L2Latency = 0, DramLatency = 0; ///< cycles
  double L2BytesPerCycle = 0;       ///< per SM
  double DramBytesPerCycle = 0;     ///< per SM, streaming
  double DramGranule = 64;          ///< bytes fetched at least
  unsigned MaxWarps = 64, MaxBlocks = 32, Registers = 65536, SharedBytes = 0;
  unsigned RegisterGranule = 256;   ///< registers a warp's allocation is rounded to
  double PNorm = 2.8;               ///< exponent that joins the terms
  double RandomSectorCycles = 1.6;  ///< per sector of a random access and warp
  double RandomGranuleCycles = 5.3; ///< per DRAM granule of a random access and warp
  double LatencyFactor = 2.1;       ///< on the critical path
  std::map<std::string, double> IssueWeights; ///< issue slots per opcode class
  std::map<std::string, double> Thesis;       ///< l_l2, l_dram, d_l2, d_dram, alu, store (cycles)
};

/// Names of the shipped profiles, sorted.
std::vector<std::string> shippedGpus();

/// \p NameOrFile is a shipped name ("h200") or ends in .yaml/.yml. Fails with
/// one line that names the key, line and column, with a suggestion where a
/// name is close ("unknown GPU 'h20'; did you mean 'h200'?").
llvm::Expected<Gpu> loadGpu(llvm::StringRef NameOrFile);

} // namespace restride::cost

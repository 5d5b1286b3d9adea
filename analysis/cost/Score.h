// What a variant costs: the values every cost model returns and every report
// view prints.
#pragma once

#include "ptx/execute/Execute.h"

#include <map>
#include <string>
#include <vector>

namespace restride::cost {

/// Time of one kernel launch, cycles of one SM clock, by what could bind it.
struct Terms {
  double Issue = 0, L1 = 0, L2 = 0, Dram = 0, Latency = 0;
};

/// What was assumed of a loop; line 0: nobody knows where it stands.
struct PlacedNote {
  std::string File; ///< as the compiler names it
  unsigned Line = 0, Column = 0; ///< in the text that was compiled
  std::string Text; ///< "is not counted: 16 trips are assumed"
};

/// Shares of a load's requests by the farthest level they went to. They sum to 1;
/// all are 0 where nothing is known, as of stores.
struct Hits {
  double L1 = 0, L2 = 0, Dram = 0;
};

/// What one SM holds of a launch.
struct Residency {
  uint64_t GridBlocks = 0;
  unsigned WarpsPerBlock = 0;
  unsigned Blocks = 0;           ///< per SM
  double Occupancy = 0;          ///< warps per SM / most that the GPU allows
  std::string LimitedBy;         ///< "registers", "shared memory", "warps", "blocks", "grid"
  unsigned ThreadRegisters = 0;
  bool RegistersEstimated = false; ///< from the PTX, not from ptxas
};

/// One memory instruction of a kernel.
struct AccessCost {
  /// In the text that was compiled; 0: unknown. Of an inlined access this is the
  /// outermost call site, which lies in the kernel itself.
  unsigned Line = 0, Column = 0;
  std::string File; ///< as the compiler names it; empty: unknown
  /// The access itself and the call sites it was inlined through, outermost last.
  std::vector<ptx::SourceLocation> Chain;
  unsigned Bytes = 0;           ///< per lane
  double SectorsPerRequest = 0; ///< distinct 32-byte sectors of one warp request
  double RequestsPerWarp = 0;
  bool IsStore = false, IsAtomic = false, Indirect = false;
  Hits From;
  std::vector<uint64_t> Lanes; ///< addresses of its first request, as in ptx::Request
  uint32_t Mask = 0;           ///< lanes that took part in it
};

/// A basic block of a kernel and how often it runs.
struct FlowNode {
  double Weight = 0; ///< visits per warp
  double Cost = 0;   ///< cycles per visit, on the dataflow's critical path
  unsigned Instructions = 0, Accesses = 0;
  double Trips = 0;     ///< of the loop that it heads; 0: it heads none
  bool Counted = false; ///< Trips are exact
  unsigned Line = 0, Column = 0; ///< of its first instruction; 0: unknown
  std::string File;
  std::vector<unsigned> Next;
};

struct KernelCost {
  std::string Name;  ///< mangled
  double Cycles = 0; ///< one launch
  Terms Parts;
  std::string BoundBy; ///< "issue", "l1", "l2", "dram", "latency"
  double Calls = 1;    ///< launches the total counts
  Residency Resident;               ///< empty where the model has no use for it
  double L2Bytes = 0, DramBytes = 0; ///< moved by one launch, both ways
  std::vector<AccessCost> Accesses;
  std::vector<FlowNode> Flow;
  /// What was assumed or approximated, one sentence each.
  std::vector<std::string> Notes;
  std::vector<PlacedNote> LoopNotes;
};

/// One kernel to be scored: its PTX function name and its launch.
struct KernelLaunch {
  std::string Function; ///< mangled name in the module
  ptx::LaunchFacts Facts;
  double Calls = 1;               ///< how often it runs, weight in the total
  std::vector<std::string> Notes; ///< what was assumed about the launch
  std::map<std::string, std::vector<std::string>> SymbolNotes; ///< and of variables in constant memory, if the kernel mentions them
  unsigned Registers = 0; ///< per thread, from ptxas; 0: estimated from the PTX
};

struct Score {
  double Cycles = 0;           ///< sum of Cycles * Calls over kernels
  double ConversionCycles = 0; ///< conversions at copies, all of them; not in Cycles
  double NoiseCycles = 0;      ///< what the launches vary by, whatever they do; not in Cycles
  std::vector<KernelCost> Kernels;
  std::vector<std::string> Warnings;
  std::vector<double> AtSizes; ///< totals at each size that was assumed; empty where one is known
  double total() const { return Cycles + ConversionCycles; }
};

} // namespace restride::cost

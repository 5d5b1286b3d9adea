// What a run found and decided: the values that every view prints. The names
// mirror the JSON report, version 1; lines and columns are 1-based, 0 unknown.
#pragma once

#include "rewriter/command/RunInputs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace restride {

struct Report {
  struct Place {
    std::string File; ///< as the user spelled it
    unsigned Line = 0, Column = 0;
  };

  /// Why a candidate (empty Layout) or one layout of it was refused.
  struct Refusal {
    std::string Layout;
    Place At;
    std::string Reason;
  };

  struct Access {
    unsigned Line = 0, Column = 0; ///< in the user's file
    std::string Field;
    unsigned Bytes = 0;            ///< per lane
    double SectorsPerRequest = 0;
    double RequestsPerWarp = 0;
    std::string Kind = "load";     ///< "load", "store" or "atomic"
    bool Indirect = false;         ///< the address comes from loaded data
    /// Shares of a load's requests by the farthest level they go to; all 0: not known.
    double FromL1 = 0, FromL2 = 0, FromDram = 0;
    std::string File = ""; ///< as the user spelled it
    /// Addresses of one warp's first request, and which lanes took part; not in the JSON report.
    std::vector<uint64_t> Lanes = {};
    uint32_t Mask = 0;
  };

  /// A basic block of a kernel; not in the JSON report.
  struct FlowNode {
    Place At;          ///< in the user's file
    double Weight = 0; ///< visits per warp
    double Cost = 0;   ///< cycles per visit
    unsigned Instructions = 0, Accesses = 0;
    double Trips = 0; ///< of the loop that it heads, else 0
    bool Counted = false;
    std::vector<unsigned> Next;
  };

  /// What one SM holds of a launch; no blocks: not known.
  struct Residency {
    uint64_t GridBlocks = 0;
    unsigned WarpsPerBlock = 0, Blocks = 0;
    double Occupancy = 0;  ///< share of the SM's warps
    std::string LimitedBy; ///< "registers", "shared memory", "warps", "blocks", "grid"
    unsigned ThreadRegisters = 0;
    bool RegistersEstimated = false; ///< from the PTX, without ptxas
  };

  /// Cycles of one launch, by what could bind it.
  struct Terms {
    double Issue = 0, L1 = 0, L2 = 0, Dram = 0, Latency = 0;
  };

  struct Kernel {
    std::string Name; ///< as the user wrote it
    double Calls = 1;
    double Cycles = 0; ///< one launch
    std::string BoundBy;
    Terms Parts;
    Residency Resident;
    double L2Bytes = 0, DramBytes = 0; ///< of one launch, both ways
    std::vector<Access> Accesses;
    std::vector<std::string> Notes; ///< what was assumed
    std::vector<FlowNode> Flow;
  };

  /// One file of a variant, for --emit-variants.
  struct VariantFile {
    std::string File; ///< from the variant's folder
    std::string Text;
    std::string Ptx; ///< empty where the file defines no kernel
  };

  struct Variant {
    std::string Layout;
    std::vector<std::vector<std::string>> Groups; ///< fields that lie together; may be empty
    double PredictedCycles = 0;                   ///< all kernels, all launches
    double ConversionCycles = 0;                  ///< at copies; not in PredictedCycles
    std::vector<Kernel> Kernels;
    std::vector<VariantFile> Files; ///< filled for --emit-variants only; not in the JSON
  };

  enum class Status { Kept, Rewritten, Refused, Forced };

  struct Candidate {
    std::string Name;  ///< of the record
    std::string Array; ///< the variable a user would recognise
    std::string SourceLayout = "aos";
    Place At;      ///< of the record
    Place ArrayAt; ///< of the array's declaration
    std::vector<std::string> Fields;
    uint64_t RecordBytes = 0;
    Status Outcome = Status::Kept;
    std::string Winner;          ///< layout; empty when refused
    double PredictedSpeedup = 1; ///< of the winner over the source layout
    std::vector<Refusal> Refusals;
    std::vector<Variant> Variants; ///< the source layout first
  };

  /// One changed file.
  struct Change {
    std::string File;    ///< absolute
    std::string Before, After;
    std::string Spelled = ""; ///< as the user typed it, which names the diff; empty: as File
  };

  /// A file of the program; filled for the HTML report only.
  struct SourceText {
    std::string File; ///< as the user spelled it
    std::string Text;
  };

  /// A translation unit, as it was read.
  struct Unit {
    std::string File;                 ///< as the user spelled it
    std::string Arch;                 ///< the GPU it was read for, "sm_90"
    std::vector<std::string> Archs;   ///< all that its command names
    std::vector<std::string> Dropped; ///< flags of the command that were left out
  };

  std::string Gpu, CostModel, PtxCompiler;
  std::string Arch; ///< PTX was made for it; empty in tests
  std::string Toolkit; ///< a remark about its version, or empty; not in the JSON
  std::vector<Unit> Units;
  std::vector<SourceText> Sources;
  std::vector<Candidate> Candidates;
  std::vector<Change> Changes;       ///< what the winners change; not in the JSON
  std::vector<std::string> Warnings; ///< one line each
  RunInputs Read;                    ///< not in the JSON
};

/// "rewritten", "kept", "refused" or "forced".
const char *spell(Report::Status S);

} // namespace restride

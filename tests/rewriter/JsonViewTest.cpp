#include "rewriter/views/JsonView.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>
#include <limits>

namespace restride {
namespace {

TEST(JsonView, printsVersionOne) {
  Report R;
  R.Gpu = "h200";
  R.CostModel = "throughput";
  R.PtxCompiler = "clang";
  Report::Candidate C;
  C.Name = "P";
  C.Array = "d_p";
  C.At = {"sim.cu", 12, 8};
  C.Fields = {"x", "y"};
  C.RecordBytes = 8;
  C.Outcome = Report::Status::Rewritten;
  C.Winner = "soa";
  C.PredictedSpeedup = 1.5;
  C.Refusals = {{"asta32", {"sim.cu", 40, 9}, "because"}};
  Report::Variant V;
  V.Layout = "soa";
  V.Groups = {{"x"}, {"y"}};
  V.PredictedCycles = 1000;
  V.ConversionCycles = 20;
  Report::Kernel K;
  K.Name = "step";
  K.Cycles = 1000;
  K.BoundBy = "dram";
  K.Parts.Dram = 900;
  K.Parts.Latency = std::numeric_limits<double>::infinity();
  K.Resident = {4096, 8, 4, 0.5, "registers", 64, true};
  K.L2Bytes = 2e6, K.DramBytes = 1e6;
  Report::Access Load{44, 11, "x", 4, 4, 2}, Store{45, 3, "y", 4, 32, 1, "store", true};
  Load.File = "sim.cu", Load.FromL1 = 0.75, Load.FromDram = 0.25;
  K.Accesses = {Load, Store};
  V.Kernels = {K};
  C.Variants = {V};
  R.Candidates = {C};

  std::string Text;
  llvm::raw_string_ostream OS(Text);
  printJson(R, OS);
  llvm::Expected<llvm::json::Value> Parsed = llvm::json::parse(Text);
  ASSERT_TRUE(bool(Parsed)) << llvm::toString(Parsed.takeError());
  llvm::Expected<llvm::json::Value> Wanted = llvm::json::parse(R"({
    "version": 1, "gpu": "h200", "cost_model": "throughput", "ptx_compiler": "clang", "arch": "", "units": [], "warnings": [],
    "candidates": [{"name": "P", "array": "d_p", "source_layout": "aos", "file": "sim.cu", "line": 12,
      "fields": ["x", "y"], "record_bytes": 8, "status": "rewritten", "winner": "soa", "predicted_speedup": 1.5,
      "refusals": [{"layout": "asta32", "file": "sim.cu", "line": 40, "column": 9, "reason": "because"}],
      "variants": [{"layout": "soa", "groups": [["x"], ["y"]], "predicted_cycles": 1000, "conversion_cycles": 20,
        "kernels": [{"name": "step", "calls": 1, "cycles": 1000, "bound_by": "dram",
          "terms": {"issue": 0, "l1": 0, "l2": 0, "dram": 900, "latency": null},
          "occupancy": {"share": 0.5, "grid_blocks": 4096, "warps_per_block": 8, "blocks_per_sm": 4,
            "limited_by": "registers", "registers_per_thread": 64, "registers_estimated": true},
          "l2_bytes": 2e6, "dram_bytes": 1e6,
          "accesses": [{"file": "sim.cu", "line": 44, "column": 11, "field": "x", "bytes": 4, "sectors_per_request": 4,
              "requests_per_warp": 2, "kind": "load", "indirect": false, "found_in": {"l1": 0.75, "l2": 0, "dram": 0.25}},
            {"line": 45, "column": 3, "field": "y", "bytes": 4, "sectors_per_request": 32, "requests_per_warp": 1,
              "kind": "store", "indirect": true}],
          "notes": []}]}]}]})");
  ASSERT_TRUE(bool(Wanted)) << llvm::toString(Wanted.takeError());
  EXPECT_EQ(*Parsed, *Wanted) << Text;
  EXPECT_LT(Text.find("\"version\""), Text.find("\"gpu\""));
}

} // namespace
} // namespace restride

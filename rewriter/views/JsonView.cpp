#include "rewriter/views/JsonView.h"

#include "llvm/Support/JSON.h"

#include <cmath>

namespace restride {
using namespace llvm;

namespace {

class Writer {
public:
  /// \p Diffs: the page is written, with all that it draws.
  explicit Writer(raw_ostream &OS, const ArrayRef<std::string> *Diffs = nullptr) : J(OS, /*IndentSize=*/Diffs ? 0 : 2), Diffs(Diffs) {}

  void report(const Report &R) {
    J.object([&] {
      J.attribute("version", 1);
      J.attribute("gpu", R.Gpu);
      J.attribute("cost_model", R.CostModel);
      J.attribute("ptx_compiler", R.PtxCompiler);
      J.attribute("arch", R.Arch);
      list("units", R.Units, [&](const Report::Unit &U) { unit(U); });
      list("candidates", R.Candidates, [&](const Report::Candidate &C) { candidate(C); });
      strings("warnings", R.Warnings);
      if (!Diffs)
        return;
      list("sources", R.Sources, [&](const Report::SourceText &S) {
        J.attribute("file", S.File);
        J.attribute("text", S.Text);
      });
      strings("diffs", *Diffs);
    });
  }

private:
  void unit(const Report::Unit &U) {
    J.attribute("file", U.File);
    J.attribute("arch", U.Arch);
    strings("dropped_flags", U.Dropped);
  }

  void candidate(const Report::Candidate &C) {
    J.attribute("name", C.Name);
    J.attribute("array", C.Array);
    J.attribute("source_layout", C.SourceLayout);
    J.attribute("file", C.At.File);
    J.attribute("line", C.At.Line);
    strings("fields", C.Fields);
    J.attribute("record_bytes", C.RecordBytes);
    J.attribute("status", spell(C.Outcome));
    if (C.Outcome != Report::Status::Refused) {
      J.attribute("winner", C.Winner);
      number("predicted_speedup", C.PredictedSpeedup);
    }
    list("refusals", C.Refusals, [&](const Report::Refusal &R) { refusal(R); });
    list("variants", C.Variants, [&](const Report::Variant &V) { variant(V); });
  }

  void refusal(const Report::Refusal &R) {
    if (!R.Layout.empty())
      J.attribute("layout", R.Layout);
    J.attribute("file", R.At.File);
    J.attribute("line", R.At.Line);
    J.attribute("column", R.At.Column);
    J.attribute("reason", R.Reason);
  }

  void variant(const Report::Variant &V) {
    J.attribute("layout", V.Layout);
    J.attributeArray("groups", [&] {
      for (const std::vector<std::string> &Group : V.Groups)
        J.array([&] {
          for (const std::string &Field : Group)
            J.value(Field);
        });
    });
    number("predicted_cycles", V.PredictedCycles);
    number("conversion_cycles", V.ConversionCycles);
    list("kernels", V.Kernels, [&](const Report::Kernel &K) { kernel(K); });
  }

  void kernel(const Report::Kernel &K) {
    J.attribute("name", K.Name);
    number("calls", K.Calls);
    number("cycles", K.Cycles);
    J.attribute("bound_by", K.BoundBy);
    J.attributeObject("terms", [&] {
      number("issue", K.Parts.Issue);
      number("l1", K.Parts.L1);
      number("l2", K.Parts.L2);
      number("dram", K.Parts.Dram);
      number("latency", K.Parts.Latency);
    });
    if (K.Resident.Blocks)
      J.attributeObject("occupancy", [&] { residency(K.Resident); });
    number("l2_bytes", K.L2Bytes);
    number("dram_bytes", K.DramBytes);
    list("accesses", K.Accesses, [&](const Report::Access &A) { access(A); });
    strings("notes", K.Notes);
    if (Diffs)
      list("flow", K.Flow, [&](const Report::FlowNode &N) { node(N); });
  }

  void node(const Report::FlowNode &N) {
    J.attribute("file", N.At.File);
    J.attribute("line", N.At.Line);
    number("weight", N.Weight);
    number("cost", N.Cost);
    J.attribute("instructions", N.Instructions);
    J.attribute("accesses", N.Accesses);
    number("trips", N.Trips);
    J.attribute("counted", N.Counted);
    J.attributeArray("next", [&] {
      for (unsigned Next : N.Next)
        J.value(Next);
    });
  }

  /// Bytes from the begin of the array that the first lane is in; -1: a lane that
  /// took no part, or is in another array. Every array has a range of 2^40 bytes.
  void lanes(const Report::Access &A) {
    static constexpr unsigned RangeBits = 40;
    std::optional<uint64_t> Range;
    J.attributeArray("lanes", [&] {
      for (size_t L = 0; L < A.Lanes.size(); ++L) {
        bool Active = A.Mask >> L & 1;
        if (Active && !Range)
          Range = A.Lanes[L] >> RangeBits;
        J.value(Active && A.Lanes[L] >> RangeBits == *Range ? int64_t(A.Lanes[L] & ((uint64_t(1) << RangeBits) - 1)) : int64_t(-1));
      }
    });
    J.attribute("range", Range ? std::to_string(*Range) : "");
  }

  void residency(const Report::Residency &R) {
    number("share", R.Occupancy);
    J.attribute("grid_blocks", int64_t(R.GridBlocks));
    J.attribute("warps_per_block", R.WarpsPerBlock);
    J.attribute("blocks_per_sm", R.Blocks);
    J.attribute("limited_by", R.LimitedBy);
    J.attribute("registers_per_thread", R.ThreadRegisters);
    J.attribute("registers_estimated", R.RegistersEstimated);
  }

  void access(const Report::Access &A) {
    if (!A.File.empty())
      J.attribute("file", A.File);
    J.attribute("line", A.Line);
    J.attribute("column", A.Column);
    J.attribute("field", A.Field);
    J.attribute("bytes", A.Bytes);
    number("sectors_per_request", A.SectorsPerRequest);
    number("requests_per_warp", A.RequestsPerWarp);
    J.attribute("kind", A.Kind);
    J.attribute("indirect", A.Indirect);
    if (Diffs)
      lanes(A);
    if (A.FromL1 + A.FromL2 + A.FromDram > 0)
      J.attributeObject("found_in", [&] {
        number("l1", A.FromL1);
        number("l2", A.FromL2);
        number("dram", A.FromDram);
      });
  }

  template <typename T, typename Print> void list(StringRef Key, const std::vector<T> &Values, Print P) {
    J.attributeArray(Key, [&] {
      for (const T &V : Values)
        J.object([&] { P(V); });
    });
  }

  void strings(StringRef Key, const std::vector<std::string> &Values) {
    J.attributeArray(Key, [&] {
      for (const std::string &V : Values)
        J.value(V);
    });
  }

  /// JSON has no infinity.
  void number(StringRef Key, double Value) {
    if (std::isfinite(Value))
      J.attribute(Key, Value);
    else
      J.attribute(Key, nullptr);
  }

  json::OStream J;
  const ArrayRef<std::string> *Diffs;
};

} // namespace

void printJson(const Report &R, raw_ostream &OS) {
  Writer(OS).report(R);
  OS << '\n';
}

void printJsonForPage(const Report &R, ArrayRef<std::string> Diffs, raw_ostream &OS) { Writer(OS, &Diffs).report(R); }

} // namespace restride

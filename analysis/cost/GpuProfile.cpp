// Reads a GPU profile. Every key of the table is required except those with a
// default that holds for all GPUs; an unknown key is an error, because a
// misspelt constant would silently change a score.
#include "analysis/cost/Gpu.h"
#include "analysis/cost/Suggest.h"

#include "yaml-cpp/yaml.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <variant>

using namespace llvm;

namespace restride::cost {

namespace {

using Constants = std::map<std::string, double>;
using Member = std::variant<std::string Gpu::*, double Gpu::*, unsigned Gpu::*, Constants Gpu::*>;

struct Key {
  const char *Name;
  Member Where;
  bool Required = true;
  std::vector<const char *> Entries = {}; ///< keys of a section, all required
};

const std::vector<Key> &keys() {
  constexpr bool Optional = false;
  static const std::vector<Key> Keys = {
      {"Name", &Gpu::Name},
      {"Source", &Gpu::Source},
      {"Arch", &Gpu::Arch},
      {"Sms", &Gpu::Sms},
      {"ClockGHz", &Gpu::ClockGHz},
      {"L1Bytes", &Gpu::L1Bytes},
      {"L2Bytes", &Gpu::L2Bytes},
      {"L2ResidentBytes", &Gpu::L2ResidentBytes},
      {"L2RandomBytes", &Gpu::L2RandomBytes},
      {"L1Latency", &Gpu::L1Latency},
      {"L2Latency", &Gpu::L2Latency},
      {"DramLatency", &Gpu::DramLatency},
      {"DramDeviation", &Gpu::DramDeviation, Optional},
      {"L2BytesPerCycle", &Gpu::L2BytesPerCycle},
      {"DramBytesPerCycle", &Gpu::DramBytesPerCycle},
      {"DramGranule", &Gpu::DramGranule, Optional},
      {"StoreMergeLines", &Gpu::StoreMergeLines, Optional},
      {"StoreSectorCycles", &Gpu::StoreSectorCycles, Optional},
      {"WarpBurst", &Gpu::WarpBurst, Optional},
      {"BlockStagger", &Gpu::BlockStagger, Optional},
      {"WarpWavefronts", &Gpu::WarpWavefronts, Optional},
      {"StoreWavefronts", &Gpu::StoreWavefronts, Optional},
      {"MaxWarps", &Gpu::MaxWarps},
      {"MaxBlocks", &Gpu::MaxBlocks},
      {"Registers", &Gpu::Registers},
      {"SharedBytes", &Gpu::SharedBytes},
      {"RegisterGranule", &Gpu::RegisterGranule, Optional},
      {"WarpGranule", &Gpu::WarpGranule, Optional},
      {"SharedGranule", &Gpu::SharedGranule, Optional},
      {"SharedReserved", &Gpu::SharedReserved, Optional},
      {"MaxThreadRegisters", &Gpu::MaxThreadRegisters, Optional},
      {"Schedulers", &Gpu::Schedulers, Optional},
      {"WarpSlots", &Gpu::WarpSlots, Optional},
      {"PNorm", &Gpu::PNorm, Optional},
      {"RandomHitCycles", &Gpu::RandomHitCycles, Optional},
      {"RandomSectorCycles", &Gpu::RandomSectorCycles, Optional},
      {"RandomGranuleCycles", &Gpu::RandomGranuleCycles, Optional},
      {"WriteBackCycles", &Gpu::WriteBackCycles, Optional},
      {"LatencyFactor", &Gpu::LatencyFactor, Optional},
      {"WaveCycles", &Gpu::WaveCycles, Optional},
      {"TlbBytes", &Gpu::TlbBytes, Optional},
      {"TranslationCycles", &Gpu::TranslationCycles, Optional},
      {"ConflictSectorCycles", &Gpu::ConflictSectorCycles, Optional},
      {"AtomicCycles", &Gpu::AtomicCycles, Optional},
      {"LaunchCycles", &Gpu::LaunchCycles, Optional},
      {"IssueWeights",
       &Gpu::IssueWeights,
       true,
       {"memory",      "f16",    "f32",  "f64",      "special", "rsqrt",   "div_approx", "div_ieee", "sqrt_ieee",
        "f64_special", "i32",    "i64",  "mul_wide", "mul64",   "div_i32", "div_i64",    "cvt",      "cvt_i64",
        "setp",        "bits",   "branch", "sreg", "warp",     "barrier", "call",    "other",      "free"}},
      {"UnitLanes", &Gpu::UnitLanes, true, {"integer", "special"}},
      {"Latencies",
       &Gpu::Latencies,
       true,
       {"alu", "i64", "special", "f64", "division", "shared", "const", "warp", "barrier", "store", "free"}},
      {"Thesis", &Gpu::Thesis, true, {"l_l2", "l_dram", "d_l2", "d_dram", "alu", "store"}},
  };
  return Keys;
}

class Reader {
public:
  explicit Reader(StringRef File) : File(File) {}

  Expected<Gpu> read(const YAML::Node &Root) {
    if (!Root.IsMap())
      return error(Root.Mark(), "a GPU profile is a map of keys");
    StringMap<YAML::Mark> Seen;
    for (const auto &Entry : Root) {
      std::string Name = Entry.first.IsScalar() ? Entry.first.Scalar() : "";
      auto K = find_if(keys(), [&](const Key &K) { return Name == K.Name; });
      if (K == keys().end())
        return unknown(Entry.first, Name, map_to_vector(keys(), [](const Key &K) { return StringRef(K.Name); }));
      if (!Seen.try_emplace(Name, Entry.first.Mark()).second)
        return error(Entry.first.Mark(), "key '" + Name + "' appears twice");
      if (Error E = std::visit([&](auto Where) { return value(Entry.second, *K, Result.*Where); }, K->Where))
        return E;
    }
    for (const Key &K : keys())
      if (K.Required && !Seen.count(K.Name))
        return error(Root.Mark(), Twine("key '") + K.Name + "' is missing");
    if (Result.Sms < 1 || Result.ClockGHz <= 0 || Result.L2BytesPerCycle <= 0 || Result.DramBytesPerCycle <= 0 ||
        Result.DramGranule < 32 || Result.Schedulers <= 0 || Result.PNorm < 1 || !Result.RegisterGranule ||
        !Result.WarpGranule || !Result.SharedGranule || !Result.MaxWarps || !Result.MaxBlocks ||
        any_of(Result.UnitLanes, [](const auto &U) { return U.second <= 0; }))
      return error(Root.Mark(), "Sms, ClockGHz, bandwidths, Schedulers, UnitLanes, granules and limits must be positive, "
                                "PNorm at least 1, DramGranule at least 32");
    // As on the H200:
    if (Result.StoreSectorCycles == 0)
      Result.StoreSectorCycles = 2 * 32 / Result.L2BytesPerCycle;
    if (Result.WriteBackCycles == 0)
      Result.WriteBackCycles = 2 * Result.RandomSectorCycles + Result.RandomGranuleCycles;
    if (Result.DramDeviation == 0)
      Result.DramDeviation = 0.24 * Result.DramLatency;
    return std::move(Result);
  }

private:
  Error error(const YAML::Mark &At, const Twine &What) {
    // yaml-cpp counts from 0; an empty document has no mark.
    int Line = std::max(At.line, 0) + 1, Column = std::max(At.column, 0) + 1;
    return createStringError(File + ":" + Twine(Line) + ":" + Twine(Column) + ": " + What);
  }

  Error unknown(const YAML::Node &At, StringRef Name, ArrayRef<StringRef> Known) {
    return error(At.Mark(), "unknown key '" + Name + "'" + didYouMean(Name, Known));
  }

  Error value(const YAML::Node &N, const Key &K, std::string &Out) {
    if (!N.IsScalar() || N.Scalar().empty())
      return error(N.Mark(), Twine("'") + K.Name + "' must be text");
    Out = N.Scalar();
    return Error::success();
  }

  Error number(const YAML::Node &N, StringRef Name, double &Out) {
    if (!N.IsScalar() || StringRef(N.Scalar()).getAsDouble(Out) || !std::isfinite(Out) || Out < 0)
      return error(N.Mark(), "'" + Name + "' must be a number, 0 or more");
    return Error::success();
  }
  Error value(const YAML::Node &N, const Key &K, double &Out) { return number(N, K.Name, Out); }

  Error value(const YAML::Node &N, const Key &K, unsigned &Out) {
    if (!N.IsScalar() || !to_integer(N.Scalar(), Out))
      return error(N.Mark(), Twine("'") + K.Name + "' must be a whole number, 0 or more");
    return Error::success();
  }

  Error value(const YAML::Node &N, const Key &K, Constants &Out) {
    if (!N.IsMap())
      return error(N.Mark(), Twine("'") + K.Name + "' must be a map of numbers");
    for (const auto &Entry : N) {
      std::string Name = Entry.first.IsScalar() ? Entry.first.Scalar() : "";
      if (!any_of(K.Entries, [&](const char *E) { return Name == E; }))
        return unknown(Entry.first, Name, map_to_vector(K.Entries, [](const char *E) { return StringRef(E); }));
      if (Error E = number(Entry.second, Name, Out[Name]))
        return E;
    }
    for (const char *E : K.Entries)
      if (!Out.count(E))
        return error(N.Mark(), Twine("key '") + E + "' is missing in '" + K.Name + "'");
    return Error::success();
  }

  StringRef File;
  Gpu Result;
};

std::string spell(const std::string &Text) { return " \"" + Text + "\"\n"; }
std::string spell(unsigned N) { return " " + std::to_string(N) + "\n"; }
std::string spell(double N) { return formatv(" {0}\n", format("%.6g", N)); }
std::string spell(const Constants &C) {
  std::string Out = "\n";
  for (const auto &[Name, Value] : C)
    Out += "  " + Name + ":" + spell(Value);
  return Out;
}

} // namespace

std::string printGpu(const Gpu &G, function_ref<bool(StringRef)> Wanted) {
  std::string Out;
  for (const Key &K : keys())
    if (Wanted(K.Name))
      Out += std::string(K.Name) + ":" + std::visit([&](auto Where) { return spell(G.*Where); }, K.Where);
  return Out;
}

Expected<Gpu> parseGpu(StringRef Text, StringRef File) {
  // yaml-cpp throws; nothing of it may pass.
  try {
    return Reader(File).read(YAML::Load(Text.str()));
  } catch (const YAML::Exception &E) {
    return createStringError(File + ":" + Twine(std::max(E.mark.line, 0) + 1) + ":" +
                             Twine(std::max(E.mark.column, 0) + 1) + ": " + E.msg);
  }
}

} // namespace restride::cost

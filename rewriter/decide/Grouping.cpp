#include "rewriter/decide/Grouping.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

static constexpr size_t MaxGroupings = 4;
/// A field with a smaller share of the requests than the most used one is cold.
static constexpr double ColdShare = 0.1;

/// Kernels that use the field, and how.
static std::map<std::string, KernelUse> useOf(const std::string &Field, const FieldUse &Use) {
  std::map<std::string, KernelUse> Out;
  for (const std::string &Name : {Field, std::string("*")})
    if (auto At = Use.find(Name); At != Use.end())
      for (const auto &[Kernel, In] : At->second) {
        Out[Kernel].Requests += In.Requests;
        Out[Kernel].Writes |= In.Writes;
      }
  return Out;
}

/// Fields of the same kernels, in the record's order; \p WrittenApart: if these write all of them or none.
static Grouping byKernels(const Record &R, const FieldUse &Use, bool WrittenApart) {
  using Kernels = std::vector<std::pair<std::string, bool>>; // whether it writes
  std::vector<std::pair<Kernels, std::vector<std::string>>> Classes;
  for (const Field &F : R.Fields) {
    Kernels Here;
    for (const auto &[Kernel, In] : useOf(F.Name, Use))
      Here.push_back({Kernel, WrittenApart && In.Writes});
    auto At = llvm::find_if(Classes, [&](const auto &C) { return C.first == Here; });
    if (At == Classes.end())
      At = Classes.insert(Classes.end(), {Here, {}});
    At->second.push_back(F.Name);
  }
  Grouping Out;
  for (auto &[Here, Fields] : Classes)
    Out.push_back(std::move(Fields));
  return Out;
}

static Grouping hotAndCold(const Record &R, const FieldUse &Use) {
  std::map<std::string, double> Total;
  double Most = 0;
  for (const Field &F : R.Fields) {
    for (const auto &[Kernel, In] : useOf(F.Name, Use))
      Total[F.Name] += In.Requests;
    Most = std::max(Most, Total[F.Name]);
  }
  Grouping Out(2);
  for (const Field &F : R.Fields)
    Out[Total[F.Name] < Most * ColdShare].push_back(F.Name);
  llvm::erase_if(Out, [](const auto &G) { return G.empty(); });
  return Out;
}

/// Each group in parts of at most \p Bytes; a larger field is alone.
static Grouping inParts(const Grouping &Groups, const Record &R, uint64_t Bytes) {
  Grouping Out;
  for (const std::vector<std::string> &G : Groups) {
    uint64_t Size = Bytes; // the first begins a part
    for (const std::string &Name : G) {
      const Field &F = *llvm::find_if(R.Fields, [&](const Field &One) { return One.Name == Name; });
      if (Size + F.Size > Bytes) {
        Out.emplace_back();
        Size = 0;
      }
      Out.back().push_back(Name);
      Size += F.Size;
    }
  }
  return Out;
}

std::vector<Grouping> groupings(const Record &R, const FieldUse &Use) {
  std::vector<Grouping> Out;
  auto Propose = [&](Grouping G) {
    bool Single = llvm::all_of(G, [](const auto &One) { return One.size() == 1; });
    if (G.size() > 1 && !Single && !llvm::is_contained(Out, G) && Out.size() < MaxGroupings)
      Out.push_back(std::move(G));
  };
  Grouping Kernels = byKernels(R, Use, false);
  Propose(inParts(Kernels, R, 16));
  Propose(inParts(Kernels, R, 8));
  Propose(hotAndCold(R, Use));
  Propose(inParts(byKernels(R, Use, true), R, 16));
  Propose(Kernels);
  return Out;
}

} // namespace restride

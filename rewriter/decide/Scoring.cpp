#include "rewriter/decide/Scoring.h"
#include "rewriter/decide/ArrayPlaces.h"
#include "rewriter/decide/KernelNames.h"
#include "rewriter/decide/StructPlaces.h"

#include "analysis/cost/MeanScore.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

namespace restride {

/// Where nothing is known of an array's size: a launch of few blocks, one that
/// L2 holds, and one larger than any L2.
static constexpr double AssumedElements[] = {1 << 14, 1 << 18, 1 << 22};
static constexpr llvm::StringLiteral SizeNotKnown = "the arrays' size is not known";
static constexpr unsigned AssumedBlock = 256;
/// An integer argument whose value is not known, mostly the end of a loop.
static constexpr int64_t AssumedArgument = 512;

static ptx::IndexOrder orderOf(IndexOrder O) {
  switch (O) {
  case IndexOrder::Random:
    return ptx::IndexOrder::Random;
  case IndexOrder::Sorted:
    return ptx::IndexOrder::Sorted;
  case IndexOrder::Local:
    return ptx::IndexOrder::Local;
  }
  return ptx::IndexOrder::Random;
}

/// What \p Fills, which must outlive it, say about an array, by byte.
static ptx::KnownIntegers knownIntegers(llvm::ArrayRef<Fill> Fills) {
  if (Fills.empty())
    return nullptr;
  return [Fills](unsigned Word, uint64_t Offset) -> std::optional<ptx::KnownInteger> {
    bool Shuffled = false;
    for (const Fill &F : Fills)
      if (std::optional<std::vector<uint64_t>> Trips = F.Word != Word || (Shuffled && !F.holdsAnywhere()) ? std::nullopt : F.tripsAt(Offset)) {
        if (!F.holdsAt(Offset))
          return std::nullopt;
        if (!F.Shuffled)
          return ptx::KnownInteger{F.value(*Trips), F.Scattered, F.Guessed, F.Below};
        Shuffled = true;
      }
    return std::nullopt;
  };
}

static bool isTakenBy(const Candidate &C, const Launch &L) {
  return llvm::any_of(C.Kernels, [&](const KernelParameter &K) {
    return K.Kernel == L.Kernel && (K.Instance == L.Instance || !K.Instance || !L.Instance);
  });
}

/// Some array that the launch takes has a size that is known.
static bool isSizeKnown(const Launch &L, const Program &P) {
  return llvm::any_of(P.Candidates, [&](const Candidate &C) { return !C.declared() && C.Elements.Count > 0 && isTakenBy(C, L); });
}

/// How much lies behind the parameter at \p Position.
static bool isExtentKnown(const Launch &L, unsigned Position) { return Position < L.Extents.size() && L.Extents[Position].Bytes; }

static cost::KernelLaunch launchFacts(const Launch &L, const Program &P, const Plan &Layouts, double Assumed) {
  cost::KernelLaunch Out;
  Out.Calls = L.Calls;
  Out.Notes = L.Notes;
  double Elements = 0;
  std::map<unsigned, std::map<uint64_t, size_t>> Structs;
  for (size_t I = 0; I < P.Candidates.size(); ++I) {
    const Candidate &C = P.Candidates[I];
    if (C.declared()) { // says nothing of how many threads there are
      if (const std::optional<ptx::ArrayPlace> Place = Layouts[I] == catalogue().front() ? std::nullopt : declaredPlace(C, *Layouts[I]))
        for (const std::string &Name : C.Symbols)
          Out.Facts.SymbolArrays[Name] = *Place;
      continue;
    }
    if (!isTakenBy(C, L))
      continue;
    double Count = C.Elements.Count > 0 ? C.Elements.Count : Assumed;
    Elements = std::max(Elements, Count);
    const bool Parallel = !C.Type.Size; // each parameter an array of its own, of which its allocation says more
    for (const KernelParameter &K : C.Kernels)
      if (K.Struct && K.Kernel == L.Kernel)
        Structs[*K.Struct][K.Offset] = I;
      else if (K.Position && K.Kernel == L.Kernel && !(Parallel && isExtentKnown(L, *K.Position))) {
        ptx::LaunchFacts &F = Out.Facts;
        F.Arrays.resize(std::max(F.Arrays.size(), size_t(*K.Position) + 1));
        ObjectPlaces Handle = handlePlaces(C, *Layouts[I], Assumed);
        F.Arrays[*K.Position] = std::move(Handle.Arrays);
        if (llvm::none_of(Handle.Object.Bytes, [](const std::optional<uint8_t> &B) { return B.has_value(); }))
          continue;
        F.Objects.resize(std::max(F.Objects.size(), size_t(*K.Position) + 1));
        F.Objects[*K.Position] = std::move(Handle.Object);
      }
  }
  for (size_t I = 0; I < L.Extents.size(); ++I) {
    const Extent &E = L.Extents[I];
    std::vector<std::vector<ptx::ArrayPlace>> &Arrays = Out.Facts.Arrays;
    Arrays.resize(std::max(Arrays.size(), L.Extents.size()));
    if (E.Bytes && E.ElementBytes && Arrays[I].empty()) // no candidate
      Arrays[I].push_back({E.Bytes, 0, 0, {}, E.Bytes / E.ElementBytes});
  }
  if (Elements == 0)
    Elements = Assumed;
  if (!isSizeKnown(L, P))
    Out.Notes.push_back(llvm::formatv("{0}, {1} elements assumed", SizeNotKnown, uint64_t(Elements)));
  if (llvm::any_of(L.Notes, [](const std::string &N) { return llvm::StringRef(N).ends_with(" not known"); }))
    Out.Notes.push_back("integers that are not known are taken as " + std::to_string(AssumedArgument));
  ptx::LaunchFacts &F = Out.Facts;
  F.Elements = uint64_t(Elements);
  F.DefaultInteger = AssumedArgument;
  F.Block = L.Block[0] ? ptx::Dim3{uint32_t(L.Block[0]), uint32_t(std::max<uint64_t>(1, L.Block[1])), uint32_t(std::max<uint64_t>(1, L.Block[2]))}
                       : ptx::Dim3{AssumedBlock, 1, 1};
  F.Grid = {uint32_t(L.Grid[0]), uint32_t(std::max<uint64_t>(1, L.Grid[1])), uint32_t(std::max<uint64_t>(1, L.Grid[2]))};
  const double Threads = Elements / L.Parts;
  if (!L.Grid[0] && !L.Grid[1] && F.Block.Y > 1) // blocks of two dimensions are of a square
    F.Grid.Y = uint32_t(std::clamp(std::sqrt(Threads) / F.Block.Y, 1.0, 65535.0));
  if (!L.Grid[0])
    F.Grid.X = uint32_t(std::clamp(Threads / double(F.Block.count()) / F.Grid.Y / F.Grid.Z, 1.0, 2147483647.0));
  else if (!L.Grid[1]) // blocks of a level, say
    F.Grid.Y = uint32_t(std::clamp(Threads / double(F.Block.count()) / F.Grid.X / F.Grid.Z, 1.0, 65535.0));
  F.DynamicSharedBytes = L.SharedBytes;
  F.Arguments = L.Arguments;
  F.Reals = L.Reals;
  F.Objects.resize(std::max(F.Objects.size(), L.Objects.size()));
  F.Arrays.resize(std::max(F.Arrays.size(), L.Objects.size()));
  for (unsigned I = 0; I < L.Objects.size(); ++I)
    if (!L.Objects[I].Bytes.empty()) {
      ObjectPlaces Struct = structPlaces(L.Objects[I], Structs[I], P, Layouts, Assumed);
      F.Objects[I] = std::move(Struct.Object);
      F.Arrays[I] = std::move(Struct.Arrays);
    }
  for (const auto &[Name, S] : L.Symbols) {
    F.Symbols[Name] = aroundPointers(S.Object);
    Out.SymbolNotes[Name] = S.Notes;
  }
  for (IndexOrder O : L.Orders)
    F.Orders.push_back(orderOf(O));
  for (const std::vector<Fill> &Fills : L.Fills) {
    F.Known.push_back(knownIntegers(Fills));
    F.Scatters |= llvm::any_of(Fills, [](const Fill &One) { return One.Scattered; });
  }
  F.OnLattice = L.Places == SpatialOrder::Lattice;
  F.PlacesAtRandom = L.Places == SpatialOrder::Random;
  F.BodyProbability = L.BodyProbability;
  return Out;
}

/// Copies and fills that go through a conversion in this plan.
static std::vector<cost::Conversion> conversions(const Program &P, const Plan &Layouts, double Assumed) {
  std::vector<cost::Conversion> Out;
  for (size_t I = 0; I < P.Candidates.size(); ++I) {
    const Candidate &C = P.Candidates[I];
    bool Records = Layouts[I] == catalogue().front() || alignsInPlace(P, Layouts, I);
    double All = (C.Elements.Count > 0 ? C.Elements.Count : Assumed) * double(C.Type.Size);
    for (const HostCall &H : C.Calls) // a field that is an array of its own is copied as it is
      if ((H.copies() || H.What == HostCall::From) && (H.Field.empty() ? !Records : !Layouts[I]->handleIsStruct()))
        Out.push_back({H.Bytes > 0 ? H.Bytes : All / (H.Field.empty() ? 1 : double(C.Type.Fields.size())), H.Times});
  }
  return Out;
}

static llvm::Expected<cost::Score> scoreAt(double Assumed, const Program &P, const Plan &Layouts, llvm::ArrayRef<std::string> Kernels,
                                           const Compiled &Code, const cost::Gpu &Gpu, cost::Model Model) {
  std::vector<std::vector<cost::KernelLaunch>> ByUnit(Code.size());
  cost::Score Out;
  std::map<std::string, std::string> Renamed; // to the names that all layouts have in common
  for (const Launch &L : P.Launches) {
    if (!llvm::is_contained(Kernels, L.Kernel))
      continue;
    cost::KernelLaunch K = launchFacts(L, P, Layouts, Assumed);
    size_t U = 0;
    while (U < Code.size() && (K.Function = functionOf(L, Code[U]->Module, P, Layouts)).empty())
      ++U;
    if (U == Code.size())
      Out.Warnings.push_back("kernel '" + L.Name + "' has no code and is not scored");
    else {
      K.Registers = Code[U]->Registers.lookup(K.Function);
      if (const ptx::Function *F = Code[U]->Module.find(K.Function))
        dropOtherStructs(K.Facts, L, *F);
      if (kernelName(K.Function) != kernelName(L.Kernel))
        Renamed[K.Function] = L.Kernel;
      ByUnit[U].push_back(std::move(K));
    }
  }
  std::vector<cost::Conversion> Converted = conversions(P, Layouts, Assumed);
  for (size_t U = 0; U < Code.size(); ++U) {
    if (U > 0 && ByUnit[U].empty())
      continue;
    llvm::Expected<cost::Score> S = cost::score(Code[U]->Module, ByUnit[U], Converted, Gpu, Model);
    if (!S)
      return S.takeError();
    Converted.clear(); // once for the program
    for (cost::KernelCost &K : S->Kernels)
      if (auto At = Renamed.find(K.Name); At != Renamed.end())
        K.Name = At->second;
    Out.Cycles += S->Cycles;
    Out.ConversionCycles += S->ConversionCycles;
    Out.NoiseCycles = std::hypot(Out.NoiseCycles, S->NoiseCycles);
    llvm::append_range(Out.Kernels, S->Kernels);
    llvm::append_range(Out.Warnings, S->Warnings);
  }
  return Out;
}

std::vector<uint64_t> assumedSizes() { return {std::begin(AssumedElements), std::end(AssumedElements)}; }

llvm::Expected<cost::Score> scorePlan(const Program &P, const Plan &Layouts, llvm::ArrayRef<std::string> Kernels, const Compiled &Code,
                                      const cost::Gpu &Gpu, cost::Model Model) {
  bool Known = llvm::all_of(P.Launches, [&](const Launch &L) { return !llvm::is_contained(Kernels, L.Kernel) || isSizeKnown(L, P); });
  if (Known || Model == cost::Model::Thesis)
    return scoreAt(std::end(AssumedElements)[-1], P, Layouts, Kernels, Code, Gpu, Model);
  std::vector<cost::Score> Scores;
  for (double Size : AssumedElements) {
    llvm::Expected<cost::Score> S = scoreAt(Size, P, Layouts, Kernels, Code, Gpu, Model);
    if (!S)
      return S.takeError();
    Scores.push_back(std::move(*S));
  }
  cost::Score Mean = cost::meanScore(Scores);
  std::vector<std::string> Sizes;
  for (uint64_t Size : assumedSizes())
    Sizes.push_back(std::to_string(Size));
  for (cost::KernelCost &K : Mean.Kernels)
    for (std::string &Note : K.Notes)
      if (llvm::StringRef(Note).starts_with(SizeNotKnown))
        Note = (SizeNotKnown + ": the cycles are the geometric mean of those of " + llvm::join(Sizes, ", ") + " elements").str();
  return Mean;
}

} // namespace restride

#include "rewriter/decide/StructPlaces.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace restride {

std::pair<ptx::KnownObject, std::vector<ptx::ArrayPlace>> structPlaces(const KnownObject &Source, const std::map<uint64_t, size_t> &Inside,
                                                                      const Program &P, const Plan &Layouts, double Assumed) {
  constexpr uint64_t PointerBytes = 8;
  ptx::KnownObject Object;
  std::vector<ptx::ArrayPlace> Places;
  for (uint64_t At = 0; At < Source.Bytes.size(); At += PointerBytes) {
    const unsigned Word = unsigned(At / PointerBytes) + 1;
    const auto Array = Inside.find(At);
    if (Array == Inside.end()) {
      const uint64_t End = std::min<uint64_t>(At + PointerBytes, Source.Bytes.size());
      Object.Bytes.insert(Object.Bytes.end(), Source.Bytes.begin() + At, Source.Bytes.begin() + End);
      Places.push_back({});
      Places.back().Word = Word;
      continue;
    }
    HandlePlaces Handle = handlePlaces(P.Candidates[Array->second], *Layouts[Array->second], Assumed);
    llvm::append_range(Object.Bytes, Handle.Words.Bytes);
    for (ptx::ArrayPlace &Place : Handle.Arrays) {
      Places.push_back(std::move(Place));
      Places.back().Word = Word;
    }
  }
  return {std::move(Object), std::move(Places)};
}

ptx::KnownObject aroundPointers(const KnownObject &O) {
  ptx::KnownObject Out{O.Bytes, O.Tail};
  if (O.Head < O.Tail)
    std::fill(Out.Bytes.begin() + O.Head, Out.Bytes.begin() + O.Tail, std::nullopt);
  return Out;
}

void dropOtherStructs(ptx::LaunchFacts &F, const Launch &L, const ptx::Function &Code) {
  for (size_t I = 0; I < std::min(F.Objects.size(), Code.Params.size()); ++I)
    if (!F.Objects[I].Bytes.empty() && F.Objects[I].Bytes.size() != Code.Params[I].Bytes) {
      F.Objects[I] = I < L.Objects.size() ? aroundPointers(L.Objects[I]) : ptx::KnownObject{};
      F.Arrays[I].clear();
    }
}

} // namespace restride

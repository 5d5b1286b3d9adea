#include "rewriter/decide/StructPlaces.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace restride {

ObjectPlaces structPlaces(const KnownObject &Source, const std::map<uint64_t, size_t> &Inside, const Program &P, const Plan &Layouts,
                          double Assumed) {
  ObjectPlaces Out;
  for (uint64_t At = 0; At < Source.Bytes.size(); At += WordBytes) {
    const unsigned Word = unsigned(At / WordBytes) + 1;
    ObjectPlaces Here;
    if (const auto Array = Inside.find(At); Array != Inside.end()) {
      Here = handlePlaces(P.Candidates[Array->second], *Layouts[Array->second], Assumed);
    } else {
      const uint64_t End = std::min<uint64_t>(At + WordBytes, Source.Bytes.size());
      Here.Object.Bytes.assign(Source.Bytes.begin() + At, Source.Bytes.begin() + End);
      Here.Arrays.resize(1);
    }
    llvm::append_range(Out.Object.Bytes, Here.Object.Bytes);
    for (ptx::ArrayPlace &Place : Here.Arrays) {
      Place.Word = Word;
      Out.Arrays.push_back(std::move(Place));
    }
  }
  return Out;
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

#include "rewriter/decide/LayoutRules.h"

#include "analysis/program/Generated.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

bool isNamed(const Candidate &C, llvm::StringRef Name) {
  llvm::StringRef Record = C.Type.Name;
  return Name == Record || Name == C.Name || Record.ends_with(("::" + Name).str());
}

static bool isTakenBy(llvm::StringRef Kernel, const Candidate &C, const Program &P) {
  return llvm::any_of(P.Launches, [&](const Launch &L) {
    return L.Name == Kernel && llvm::any_of(C.Kernels, [&](const KernelParameter &K) { return K.Kernel == L.Kernel; });
  });
}

/// Candidate \p C is what an earlier run made of the parallel arrays that \p R names.
static bool isFoldOf(const ArrayRule &R, const Candidate &C, const Program &P) {
  return P.Text.text().contains(FoldedMark) && C.Type.Fields.size() == R.Members.size() && isTakenBy(R.Kernel, C, P) &&
         llvm::all_of(C.Type.Fields, [&](const Field &F) { return llvm::is_contained(R.Members, F.Name); });
}

bool isMeant(const ArrayRule &R, size_t I, const Program &P) {
  return isTakenBy(R.Kernel, P.Candidates[I], P) && llvm::any_of(P.Declarations, [&](const Declaration &D) {
    return llvm::any_of(D.Declarators, [&](const Declarator &One) {
      return One.Candidate == int(I) && !One.Slot.empty() && llvm::is_contained(R.Members, P.Text.text(One.Name));
    });
  });
}

size_t meantOf(const ParallelGroup &G, const ArrayRule &R, const ArrayProgram &A) {
  if (llvm::none_of(G.Arrays, [&](size_t I) { return isTakenBy(R.Kernel, A.P.Candidates[I], A.P); }))
    return 0;
  return llvm::count_if(G.Arrays, [&](size_t I) {
    return llvm::any_of(A.Variables, [&](const ArrayVariable &V) { return V.Array == I && V.Device && llvm::is_contained(R.Members, V.Name); });
  });
}

bool isDone(const ArrayRule &R, const Program &P) {
  return P.Text.text().contains(FoldedMark) && llvm::none_of(P.Launches, [&](const Launch &L) {
    return L.Name == R.Kernel && llvm::any_of(R.Members, [&](const std::string &M) { return llvm::is_contained(L.Parameters, M); });
  });
}

std::optional<StructRule> ruleFor(size_t I, const Program &P, const Options &O) {
  const Candidate &C = P.Candidates[I];
  if (O.List || !O.Layout.empty() || !O.EmitVariants.empty())
    return std::nullopt;
  for (const ArrayRule &R : O.Project.Arrays)
    if (isMeant(R, I, P))
      return StructRule{C.Name, R.Layout, R.At};
    else if (isFoldOf(R, C, P))
      return StructRule{C.Name, "keep", R.At};
  auto At = llvm::find_if(O.Project.Structs, [&](const StructRule &R) { return isNamed(C, R.Record); });
  return At == O.Project.Structs.end() ? std::nullopt : std::optional(*At);
}

} // namespace restride

#include "analysis/cost/AccessReport.h"

#include "llvm/ADT/STLExtras.h"

namespace restride::cost {

ptx::SourceLocation outermost(const ptx::Instruction &I) { return I.InlinedAt.empty() ? I.Loc : I.InlinedAt.back(); }

std::vector<AccessCost> accessCosts(const ptx::Module &M, const ptx::Function &F, const Sample &S) {
  std::vector<AccessCost> Out;
  for (auto [Index, P] : llvm::enumerate(S.PerInstruction)) {
    const ptx::Instruction &I = F.Body[Index];
    if (P.Sectors == 0)
      continue;
    AccessCost A;
    ptx::SourceLocation At = outermost(I);
    A.Line = At.Line;
    A.Column = At.Column;
    if (At.File < M.Files.size())
      A.File = M.Files[At.File];
    A.Chain.push_back(I.Loc);
    llvm::append_range(A.Chain, I.InlinedAt);
    A.Bytes = I.accessBytes();
    A.SectorsPerRequest = P.Sectors;
    A.RequestsPerWarp = S.weight(Index);
    A.IsStore = I.isStore();
    A.IsAtomic = I.Op == ptx::Opcode::Atom || I.Op == ptx::Opcode::Red;
    A.Indirect = P.Random;
    Out.push_back(std::move(A));
  }
  return Out;
}

} // namespace restride::cost

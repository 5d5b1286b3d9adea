// Clang copies a record with memcpy, nvcc field by field. What SROA cannot split of a memcpy
// stays in local memory, though the record is only passed through:
//
//   Particle p = {};                  memcpy(&p, &in[i], 48)      ld.global.v4 {a, b, c, d}
//   if (i < n) p = in[i];        Clang: st.local, ld.local   nvcc: ld.global.v4 {e, f, g, h}
//   if (p.code > 0) out[k] = p;       memcpy(&out[k], &p, 48)     ...
#pragma once

#include "llvm/IR/PassManager.h"

namespace restride::ptx {

/// Makes each memcpy that names the fields it copies (!tbaa.struct) the loads of all of them, and
/// then the stores. As nvcc does, it copies the bytes that `__align__` adds at the end, too, and from memory to memory
/// records that are aligned to 16 bytes in four words at a time.
class RecordCopies : public llvm::PassInfoMixin<RecordCopies> {
public:
  /// \p StrictAliasing: a type's loads and stores are none of another's. Otherwise no later pass may think so, though
  /// Clang wrote down the types, for the names of the fields.
  explicit RecordCopies(bool StrictAliasing) : StrictAliasing(StrictAliasing) {}
  llvm::PreservedAnalyses run(llvm::Function &F, llvm::FunctionAnalysisManager &);

private:
  bool StrictAliasing;
};

} // namespace restride::ptx

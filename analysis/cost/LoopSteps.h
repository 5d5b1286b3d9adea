// How far the requests of a traced warp move from trip to trip of the loops around them: the loop coefficients of an
// index's normal form, as finite differences of executed addresses.
#pragma once

#include "ptx/execute/Execute.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace restride::cost {

class LoopSteps {
public:
  /// \p T must outlive it.
  explicit LoopSteps(const ptx::WarpTrace &T);

  /// Executions of \p Instruction in their order.
  llvm::ArrayRef<const ptx::Request *> requests(unsigned Instruction) const;

  /// Requests of trip \p Trip of \p Loop, as traced: [first, second). Those of
  /// what follows the loop may come after its last trip.
  std::pair<size_t, size_t> trip(int Loop, size_t Trip) const;

  /// Bytes between an access and the same one a trip of \p Loop later, of one lane, for
  /// the first such trips; none where the trace has no two.
  llvm::SmallVector<int64_t, 8> steps(unsigned Instruction, int Loop) const;

private:
  const ptx::Request *firstIn(unsigned Instruction, int Loop, size_t Trip) const;

  const ptx::WarpTrace &T;
  llvm::DenseMap<unsigned, std::vector<const ptx::Request *>> RequestsOf;
};

/// Bytes by which the addresses of an instruction lie below and above those that were executed, because loops around
/// it were cut short.
struct Reach {
  double Below = 0, Above = 0;
};

/// By index in Function::Body. \p Longer: of another warp of the kernel, where loops show more of their trips.
std::vector<Reach> unseenReach(const ptx::ControlFlow &C, const ptx::WarpTrace &T, const LoopSteps &Longer, size_t Instructions);

} // namespace restride::cost

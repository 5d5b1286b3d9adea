// Loads that are issued just before a store which they follow in the program.
//
// ptxas places an instruction as late as what needs it allows. Loads that nothing
// else holds back come with the others of their level, all at the start of a block.
// But where a load has to stay behind a store, those that are needed no earlier than
// it come together with it, and go in front of the store if they may: the store is
// sent right behind them, while they are under way. So it is with one that can go when
// its block begins, as behind a square root of what was loaded before.
#pragma once

#include "ptx/parse/Module.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace restride::cost {

/// By store, the loads of \p Order that follow it there and are issued just before it. \p Order: instructions of \p F
/// between which no branch stays, in the compiler's order.
llvm::DenseMap<unsigned, llvm::SmallVector<unsigned>> lateLoads(const ptx::Function &F, llvm::ArrayRef<unsigned> Order);

/// The same of loads of the next trip, if \p Order is the body of a loop: nvcc unrolls it, and from the last division of
/// a trip to the first of the next all is one block, with the loads in front.
llvm::DenseMap<unsigned, llvm::SmallVector<unsigned>> nextTripLoads(const ptx::Function &F, llvm::ArrayRef<unsigned> Order);

} // namespace restride::cost

// Instructions through which the lanes of a warp see each other's registers:
// shuffles, votes, matches, reductions.
#pragma once

#include "ptx/execute/Alu.h"

namespace restride::ptx {

/// Executes a Shfl, Vote, Match, Redux, Activemask or Elect. Lanes outside
/// \p Mask do not take part, whatever the member mask says.
void exchange(const Program &P, const MicroOp &Op, uint32_t Mask, RegisterFile &R);

} // namespace restride::ptx

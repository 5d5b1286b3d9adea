// nvcc's PTX loads padding, and fields that nobody reads, with those beside them. ptxas leaves
// out what is not used, as far as a narrower load does without:
//
//   ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];   only %f2 is used   ld.global.f32 %f2, [%rd1+20];
#pragma once

#include "ptx/parse/Module.h"

namespace restride::ptx {

/// Makes vector loads of \p F as narrow as what is used of them, naturally aligned, allows. Volatile ones,
/// and those of which nothing is used, stay.
void narrowLoads(Function &F);

} // namespace restride::ptx

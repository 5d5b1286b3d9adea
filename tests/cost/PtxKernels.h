// Kernels as PTX text for tests: what a compiler makes of `o[i] = sum of fields
// of p[index]` in a given layout.
#pragma once

#include <string>
#include <vector>

namespace restride::cost::test {

/// One load of the record: byte offset from the element's address, and width.
struct Load {
  unsigned Offset, Floats;
};

/// How an element's address follows from its index.
struct Place {
  unsigned Stride = 4;     ///< bytes between elements of one field
  bool Gather = false;     ///< index = ix[i] instead of i
  unsigned Uniform = 0;    ///< trips of a loop with index = the loop counter; 0: none
  unsigned long Plane = 0; ///< bytes from a field's array to the next (structure of arrays); 0: offsets stay small
};

inline std::string kernel(const Place &P, const std::vector<Load> &Loads) {
  std::string T = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, .param .u32 k_param_3)
{
.reg .pred %p<3>;
.reg .f32 %f<99>;
.reg .b32 %r<9>;
.reg .b64 %rd<19>;
ld.param.u64 %rd1, [k_param_0];
ld.param.u64 %rd2, [k_param_1];
ld.param.u64 %rd3, [k_param_2];
ld.param.u32 %r1, [k_param_3];
cvta.to.global.u64 %rd4, %rd1;
cvta.to.global.u64 %rd5, %rd2;
cvta.to.global.u64 %rd6, %rd3;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
setp.ge.s32 %p1, %r5, %r1;
@%p1 bra DONE;
mul.wide.s32 %rd7, %r5, 4;
add.s64 %rd8, %rd5, %rd7;
mov.f32 %f1, 0f00000000;
mov.u32 %r6, %r5;
)";
  if (P.Gather)
    T += "add.s64 %rd9, %rd6, %rd7;\nld.global.u32 %r6, [%rd9];\n";
  if (P.Uniform)
    T += "mov.u32 %r6, 0;\nLOOP:\n";
  T += "mul.wide.s32 %rd10, %r6, " + std::to_string(P.Stride) + ";\nadd.s64 %rd11, %rd4, %rd10;\n";
  unsigned Next = 2;
  for (const Load &L : Loads) {
    std::string Names;
    for (unsigned F = 0; F < L.Floats; ++F)
      Names += (F ? ", %f" : "%f") + std::to_string(Next + F);
    std::string At = "[%rd11+" + std::to_string(L.Offset + P.Plane * (&L - Loads.data())) + "]";
    T += L.Floats == 1 ? "ld.global.f32 " + Names + ", " + At + ";\n"
                       : "ld.global.v" + std::to_string(L.Floats) + ".f32 {" + Names + "}, " + At + ";\n";
    Next += L.Floats;
  }
  for (unsigned F = 2; F < Next; ++F)
    T += "add.f32 %f1, %f1, %f" + std::to_string(F) + ";\n";
  if (P.Uniform)
    T += "add.s32 %r6, %r6, 1;\nsetp.lt.s32 %p2, %r6, " + std::to_string(P.Uniform) + ";\n@%p2 bra LOOP;\n";
  return T + "st.global.f32 [%rd8], %f1;\nDONE:\nret;\n}\n";
}

} // namespace restride::cost::test

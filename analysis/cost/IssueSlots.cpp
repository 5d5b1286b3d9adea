#include "analysis/cost/IssueSlots.h"

using namespace llvm;
using restride::ptx::Instruction;
using restride::ptx::Opcode;
using restride::ptx::Type;

namespace restride::cost {

static StringRef floatClass(const Instruction &I) { return I.Ty.Bits == 64 ? "f64" : I.Ty.Bits == 16 ? "f16" : "f32"; }

static StringRef integerClass(const Instruction &I) { return I.Ty.Bits == 64 ? "i64" : "i32"; }

/// sqrt.rn and rcp.rn are sequences; .approx is one unit and a range fix-up.
static bool isIeee(const Instruction &I) {
  StringRef M = I.Mnemonic;
  return M.contains(".rn") || M.contains(".rz") || M.contains(".rm") || M.contains(".rp");
}

/// Source registers of a mov are gone in machine code; special registers and
/// constants are not read for free.
static bool readsSpecialRegister(const Instruction &I) {
  return !I.Src.empty() && I.Src[0].K == ptx::Operand::Symbol && StringRef(I.Src[0].Name).starts_with("%");
}

static StringRef conversionClass(const Instruction &I) {
  bool ToInteger = I.Ty.K != Type::Float, FromInteger = I.SrcTy.K != Type::Float;
  if (!ToInteger || !FromInteger)
    return "cvt";
  // Zero extension and truncation rename a register; sign extension to 64 bits does not.
  if (I.Ty.Bits == 64 && I.SrcTy.Bits < 64)
    return I.SrcTy.K == Type::Signed ? "cvt_i64" : "free";
  return I.SrcTy.Bits == 64 && I.Ty.Bits == 32 ? "free" : "cvt";
}

StringRef issueClass(const Instruction &I) {
  switch (I.Op) {
  case Opcode::Ld:
  case Opcode::St:
  case Opcode::Atom:
  case Opcode::Red:
  case Opcode::Prefetch:
  case Opcode::CpAsync:
    return "memory";
  case Opcode::FAdd:
  case Opcode::FSub:
  case Opcode::FMul:
  case Opcode::FFma:
  case Opcode::FMin:
  case Opcode::FMax:
  case Opcode::FAbs:
  case Opcode::FNeg:
  case Opcode::FCopysign:
  case Opcode::FTestp:
    return floatClass(I);
  case Opcode::FDiv:
    return I.Ty.Bits == 64 ? "f64_special" : isIeee(I) ? "div_ieee" : "div_approx";
  case Opcode::FSqrt:
  case Opcode::FRcp:
    return I.Ty.Bits == 64 ? "f64_special" : isIeee(I) ? "sqrt_ieee" : "special";
  case Opcode::FRsqrt:
    return I.Ty.Bits == 64 ? "f64_special" : "rsqrt";
  case Opcode::Popc:
  case Opcode::Clz:
  case Opcode::Bfind:
  case Opcode::Brev:
    return "bits";
  case Opcode::FSin:
  case Opcode::FCos:
  case Opcode::FEx2:
  case Opcode::FLg2:
  case Opcode::FTanh:
    return "special";
  case Opcode::MulWide:
  case Opcode::MadWide:
    return "mul_wide";
  case Opcode::Mul:
  case Opcode::Mad:
  case Opcode::MulHi:
  case Opcode::MadHi:
    return I.Ty.Bits == 64 ? "mul64" : "i32";
  case Opcode::Div:
  case Opcode::Rem:
    return I.Ty.Bits == 64 ? "div_i64" : "div_i32";
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
  case Opcode::Not:
    return I.Ty.K == Type::Pred ? "free" : integerClass(I);
  case Opcode::Mov:
    return readsSpecialRegister(I) ? "sreg" : "free";
  case Opcode::Cvt:
    return conversionClass(I);
  case Opcode::Setp:
  case Opcode::Set:
    return "setp";
  case Opcode::Cvta:
  case Opcode::LdParam:
  case Opcode::StParam:
  case Opcode::Isspacep:
  case Opcode::Nop:
    return "free";
  case Opcode::Bra:
  case Opcode::BrxIdx:
  case Opcode::Ret:
  case Opcode::Exit:
  case Opcode::Trap:
    return "branch";
  case Opcode::Call:
    return "call";
  case Opcode::Bar:
  case Opcode::Membar:
    return "barrier";
  case Opcode::Vote:
  case Opcode::Shfl:
  case Opcode::Match:
  case Opcode::Activemask:
  case Opcode::Redux:
  case Opcode::Elect:
    return "warp";
  case Opcode::Unknown:
    return "other";
  default:
    return integerClass(I);
  }
}

StringRef unitOf(const Instruction &I) {
  StringRef Class = issueClass(I);
  if (Class == "bits" || Class == "special" || Class == "rsqrt" || Class == "div_approx" || Class == "div_ieee" ||
      Class == "sqrt_ieee")
    return "special";
  return Class == "i32" || Class == "setp" || Class == "cvt" ? "integer" : "";
}

StringRef latencyClass(const Instruction &I) {
  if (I.isMemory()) {
    if (I.isStore() || I.Op == Opcode::Red)
      return "store";
    return I.Mem == ptx::Space::Shared ? "shared" : I.Mem == ptx::Space::Const ? "const" : "";
  }
  StringRef Class = issueClass(I);
  if (Class == "special" || Class == "rsqrt" || Class == "div_approx" || Class == "sqrt_ieee")
    return "special";
  if (Class == "div_ieee" || Class == "f64_special" || Class == "div_i32" || Class == "div_i64")
    return "division";
  if (Class == "i64" || Class == "mul64")
    return "i64";
  if (Class == "f64" || Class == "warp" || Class == "barrier" || Class == "free")
    return Class;
  return "alu";
}

double issueSlots(const Instruction &I, const Gpu &G) {
  auto It = G.IssueWeights.find(issueClass(I).str());
  return It == G.IssueWeights.end() ? 1 : It->second;
}

} // namespace restride::cost

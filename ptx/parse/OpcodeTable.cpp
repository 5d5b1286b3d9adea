#include "ptx/parse/OpcodeTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace restride::ptx;
using llvm::StringRef;

namespace {

enum class Shape {
  Result,    ///< writes its first operand
  NoResult,  ///< reads all operands
  Predicate, ///< writes a predicate; the suffix is the sources' type
  Count,     ///< writes a 32-bit number; the suffix is the source's type
  Convert,   ///< two suffixes: result, source
  Memory,    ///< a space suffix; generic without one
};

struct Row {
  StringRef Root;
  Opcode Integer, Float;
  Shape S = Shape::Result;
};

using O = Opcode;
constexpr Row same(StringRef Root, O Op, Shape S = Shape::Result) { return {Root, Op, Op, S}; }

// Sorted by root.
constexpr Row Rows[] = {
    {"abs", O::Abs, O::FAbs},
    same("activemask", O::Activemask),
    {"add", O::Add, O::FAdd},
    same("addc", O::Add),
    same("and", O::And),
    same("applypriority", O::Prefetch, Shape::NoResult),
    same("atom", O::Atom, Shape::Memory),
    same("bar", O::Bar, Shape::NoResult),
    same("barrier", O::Bar, Shape::NoResult),
    same("bfe", O::Bfe),
    same("bfi", O::Bfi),
    same("bfind", O::Bfind, Shape::Count),
    same("bmsk", O::Bmsk),
    same("bra", O::Bra, Shape::NoResult),
    same("brev", O::Brev),
    same("brkpt", O::Nop, Shape::NoResult),
    same("brx", O::BrxIdx, Shape::NoResult),
    same("call", O::Call, Shape::NoResult),
    same("clz", O::Clz, Shape::Count),
    same("cnot", O::Cnot),
    same("copysign", O::FCopysign),
    same("cos", O::FCos),
    same("cp", O::CpAsync, Shape::NoResult),
    same("cvt", O::Cvt, Shape::Convert),
    same("cvta", O::Cvta),
    same("discard", O::Prefetch, Shape::NoResult),
    {"div", O::Div, O::FDiv},
    same("dp2a", O::Dp4a),
    same("dp4a", O::Dp4a),
    same("elect", O::Elect),
    same("ex2", O::FEx2),
    same("exit", O::Exit, Shape::NoResult),
    same("fence", O::Membar, Shape::NoResult),
    same("fma", O::FFma),
    same("fns", O::Fns),
    same("griddepcontrol", O::Membar, Shape::NoResult),
    same("isspacep", O::Isspacep, Shape::Predicate),
    same("ld", O::Ld, Shape::Memory),
    same("ldu", O::Ld, Shape::Memory),
    same("lg2", O::FLg2),
    same("lop3", O::Lop3),
    {"mad", O::Mad, O::FFma},
    same("mad24", O::Mad),
    same("madc", O::Mad),
    same("match", O::Match),
    {"max", O::Max, O::FMax},
    same("membar", O::Membar, Shape::NoResult),
    {"min", O::Min, O::FMin},
    same("mov", O::Mov),
    {"mul", O::Mul, O::FMul},
    same("mul24", O::Mul),
    same("nanosleep", O::Nop, Shape::NoResult),
    {"neg", O::Neg, O::FNeg},
    same("not", O::Not),
    same("or", O::Or),
    same("pmevent", O::Nop, Shape::NoResult),
    same("popc", O::Popc, Shape::Count),
    same("prefetch", O::Prefetch, Shape::NoResult),
    same("prefetchu", O::Prefetch, Shape::NoResult),
    same("prmt", O::Prmt),
    same("rcp", O::FRcp),
    same("red", O::Red, Shape::Memory),
    same("redux", O::Redux),
    same("rem", O::Rem),
    same("ret", O::Ret, Shape::NoResult),
    same("rsqrt", O::FRsqrt),
    same("sad", O::Sad),
    same("selp", O::Selp),
    same("set", O::Set, Shape::Convert),
    same("setp", O::Setp, Shape::Predicate),
    same("shf", O::Shf),
    same("shfl", O::Shfl),
    same("shl", O::Shl),
    same("shr", O::Shr),
    same("sin", O::FSin),
    same("slct", O::Slct, Shape::Convert),
    same("sqrt", O::FSqrt),
    same("st", O::St, Shape::Memory),
    {"sub", O::Sub, O::FSub},
    same("subc", O::Sub),
    same("szext", O::Szext),
    same("tanh", O::FTanh),
    same("testp", O::FTestp, Shape::Predicate),
    same("trap", O::Trap, Shape::NoResult),
    same("vote", O::Vote),
    same("xor", O::Xor),
};

const Row *findRow(StringRef Root) {
  const Row *At = llvm::lower_bound(Rows, Root, [](const Row &R, StringRef Name) { return R.Root < Name; });
  return At != std::end(Rows) && At->Root == Root ? At : nullptr;
}

bool isCompare(StringRef Suffix) {
  return llvm::StringSwitch<bool>(Suffix)
      .Cases({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"}, true)
      .Cases({"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}, true)
      .Default(false);
}

} // namespace

Type restride::ptx::parseType(StringRef S) {
  if (S == "pred")
    return {Type::Pred, 1};
  Type::Kind K = Type::None;
  StringRef Digits = S;
  if (Digits.consume_front("bf") || Digits.consume_front("tf") || Digits.consume_front("f"))
    K = Type::Float;
  else if (Digits.consume_front("u"))
    K = Type::Unsigned;
  else if (Digits.consume_front("s"))
    K = Type::Signed;
  else if (Digits.consume_front("b"))
    K = Type::Untyped;
  unsigned Bits = 0;
  if (K == Type::None || Digits.consumeInteger(10, Bits))
    return {};
  if (Bits != 8 && Bits != 16 && Bits != 32 && Bits != 64 && Bits != 128)
    return {};
  if (Digits == "x2")
    return {K, Bits * 2};
  if (Digits == "x4")
    return {K, Bits * 4};
  return Digits.empty() ? Type{K, Bits} : Type{};
}

Space restride::ptx::parseSpace(StringRef S) {
  return llvm::StringSwitch<Space>(S.split("::").first)
      .Case("param", Space::Param)
      .Case("global", Space::Global)
      .Case("shared", Space::Shared)
      .Case("local", Space::Local)
      .Case("const", Space::Const)
      .Default(Space::None);
}

OpcodeForm restride::ptx::decodeMnemonic(StringRef Mnemonic) {
  llvm::SmallVector<StringRef, 8> Parts;
  Mnemonic.split(Parts, '.');
  OpcodeForm F;
  llvm::SmallVector<Type, 3> Types;
  bool Wide = false, Hi = false, Reduces = false;
  for (StringRef Part : llvm::drop_begin(Parts)) {
    unsigned Vector = 0;
    if (Type T = parseType(Part); T.K != Type::None)
      Types.push_back(T);
    else if (Space S = parseSpace(Part); S != Space::None)
      F.Mem = S; // cp.async names two: the source, global, is last
    else if (Part.size() == 2 && Part[0] == 'v' && !Part.substr(1).getAsInteger(10, Vector) && Vector)
      F.Vector = Vector;
    else if (F.Compare.empty() && isCompare(Part))
      F.Compare = Part;
    Wide |= Part == "wide";
    Hi |= Part == "hi";
    Reduces |= Part == "red";
  }
  if (!Types.empty())
    F.Ty = F.SrcTy = Types[0];

  const Row *R = findRow(Parts[0]);
  if (!R || (R->Root == "cp" && (Parts.size() < 2 || Parts[1] != "async"))) {
    F.Compare = StringRef();
    return F;
  }
  F.Op = F.Ty.K == Type::Float ? R->Float : R->Integer;
  F.HasResult = R->S != Shape::NoResult;
  switch (R->S) {
  case Shape::Result:
  case Shape::NoResult:
    break;
  case Shape::Predicate:
    F.Ty = {Type::Pred, 1};
    break;
  case Shape::Count:
    F.Ty = {Type::Unsigned, 32};
    break;
  case Shape::Convert:
    if (Types.size() > 1)
      F.SrcTy = Types[1];
    break;
  case Shape::Memory:
    if (F.Mem == Space::None)
      F.Mem = Space::Generic;
    break;
  }

  const bool Product = F.Op == O::Mul || F.Op == O::Mad;
  if (Product && Wide) {
    F.Op = F.Op == O::Mul ? O::MulWide : O::MadWide;
    F.Ty.Bits *= 2;
  } else if (Product && Hi) {
    F.Op = F.Op == O::Mul ? O::MulHi : O::MadHi;
  }
  // ".hi" and ".lo" of a product are no comparisons.
  if (F.Op != O::Setp && F.Op != O::Set)
    F.Compare = StringRef();
  if (F.Mem == Space::Param && F.Op == O::Ld)
    F.Op = O::LdParam;
  if (F.Mem == Space::Param && F.Op == O::St)
    F.Op = O::StParam;
  if (F.Op == O::St || F.Op == O::Red || F.Op == O::StParam)
    F.HasResult = false;
  if (F.Op == O::Bar && Reduces) // bar.red, unlike other barriers, has a result
    F.HasResult = true;
  return F;
}

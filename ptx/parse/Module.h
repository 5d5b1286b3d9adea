// A PTX module as values. PTX text has no parser in LLVM; ours keeps every
// instruction, including those it does not know, so that nothing is skipped
// silently: an unknown opcode is `Opcode::Unknown` and is counted in
// `Module::Warnings`.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace restride::ptx {

enum class Space { None, Param, Global, Shared, Local, Const, Generic };

/// Scalar type of an instruction suffix: kind and width.
struct Type {
  enum Kind { None, Unsigned, Signed, Untyped, Float, Pred } K = None;
  unsigned Bits = 0;
  unsigned bytes() const { return (Bits + 7) / 8; }
  bool operator==(const Type &) const = default;
};

/// One operand: a register (index into Function::Registers), an integer or
/// floating constant, a symbol (parameter, variable, label), or an address
/// [register or symbol + offset]. A vector operand {a, b} is expanded in place
/// into Instruction::Dest or Instruction::Src. A special register (%tid.x) is a
/// Symbol: nothing writes it.
struct Operand {
  enum Kind { Register, Immediate, FloatImmediate, Symbol, Address } K = Register;
  int Reg = -1;         ///< Register, or base of Address; -1: none (Register: the sink `_`)
  int64_t Imm = 0;      ///< Immediate (floats: the bits), or byte offset of Address
  std::string Name;     ///< Symbol, or symbolic base of Address
  bool Negated = false; ///< Register: `!%p`
};

/// What an instruction does, as far as control flow, addresses and cost need it.
/// Modifiers stay available in Instruction::Mnemonic.
enum class Opcode {
  // integer and bits
  Add,
  Sub,
  Mul,
  MulWide,
  MulHi,
  Mad,
  MadWide,
  MadHi,
  Div,
  Rem,
  Min,
  Max,
  Abs,
  Neg,
  And,
  Or,
  Xor,
  Not,
  Shl,
  Shr,
  Shf,
  Bfe,
  Bfi,
  Bfind,
  Bmsk,
  Szext,
  Popc,
  Clz,
  Brev,
  Prmt,
  Lop3,
  Sad,
  Dp4a,
  Cnot,
  Fns,
  // floating point
  FAdd,
  FSub,
  FMul,
  FFma,
  FDiv,
  FRcp,
  FSqrt,
  FRsqrt,
  FSin,
  FCos,
  FEx2,
  FLg2,
  FTanh,
  FMin,
  FMax,
  FAbs,
  FNeg,
  FCopysign,
  FTestp,
  // moves, conversions, predicates
  Mov,
  Cvt,
  Cvta,
  Setp,
  Set,
  Selp,
  Slct,
  Isspacep,
  // memory
  Ld,
  St,
  Atom,
  Red,
  LdParam,
  StParam,
  Prefetch,
  CpAsync,
  Membar,
  // control
  Bra,
  BrxIdx,
  Call,
  Ret,
  Exit,
  Trap,
  Bar,
  Vote,
  Shfl,
  Match,
  Activemask,
  Redux,
  Elect,
  Nop,
  Unknown,
};

struct SourceLocation {
  unsigned File = 0;   ///< index of the .file directive
  unsigned Line = 0;   ///< 1-based; 0: unknown
  unsigned Column = 0; ///< 1-based; 0: unknown
};

struct Instruction {
  Opcode Op = Opcode::Unknown;
  std::string Mnemonic; ///< whole, e.g. "ld.global.nc.v4.f32"
  Type Ty;              ///< type of the result (Cvt: destination)
  Type SrcTy;           ///< type of the sources where it differs (Cvt, Setp, Set, Slct, wide
                        ///< products, bit counts); else equals Ty
  Space Mem = Space::None;
  unsigned Vector = 1; ///< .v2, .v4, .v8
  std::vector<Operand> Dest, Src;
  std::optional<Operand> Addr; ///< memory instructions; CpAsync: the global side
  int Guard = -1;              ///< predicate register; -1: none
  bool GuardNegated = false;
  std::string Compare;              ///< Setp, Set, Slct: "lt", "ne", "lo", "equ" ...
  std::string Target;               ///< Bra: label; Call: callee, empty when through a register
  std::vector<std::string> Targets; ///< BrxIdx: labels
  SourceLocation Loc;
  /// Inlined-at chain of .loc, outermost call site last; empty where not inlined.
  std::vector<SourceLocation> InlinedAt;

  bool isMemory() const { return Op == Opcode::Ld || Op == Opcode::St || Op == Opcode::Atom || Op == Opcode::Red; }
  bool isLoad() const { return Op == Opcode::Ld; }
  bool isStore() const { return Op == Opcode::St; }
  /// Bytes one lane moves.
  unsigned accessBytes() const { return Ty.bytes() * Vector; }
};

struct Parameter {
  std::string Name;
  Type Ty;                ///< element type
  uint64_t Bytes = 0;     ///< whole size; > Ty.bytes() for by-value structs
  uint64_t Align = 1;     ///< bytes
  bool IsPointer = false; ///< .ptr: Clang marks pointers, nvcc does not
};

/// A .shared, .local, .const or .global array declared in the module or
/// function, or a .param block of a call.
struct Variable {
  std::string Name;
  Space Mem = Space::None;
  uint64_t Bytes = 0; ///< 0: extern .shared, size given at launch
  uint64_t Align = 1;
  std::vector<uint8_t> Initial = {}; ///< what it begins as, fewer than Bytes where zeros follow; empty: not said
};

struct Function {
  std::string Name; ///< mangled
  bool IsEntry = false;
  std::vector<Parameter> Params, Results;
  std::vector<std::string> Registers; ///< names; an operand's Reg indexes this
  /// Its own, and of the module's that it mentions the .shared ones, which take from the
  /// block's shared memory too, the .const ones, and others that begin as something.
  std::vector<Variable> Variables;
  std::vector<Instruction> Body;
  /// Labels: name and the index in Body of the instruction after it.
  std::vector<std::pair<std::string, unsigned>> Labels;
  /// .maxntid or .reqntid (product), .minnctapersm, .maxnreg; 0: none
  unsigned MaxThreads = 0, MinBlocks = 0, MaxRegs = 0;
  std::optional<unsigned> label(llvm::StringRef Name) const;
};

struct Module {
  std::string Target;             ///< "sm_90"
  std::vector<std::string> Files; ///< .file: index as in SourceLocation (0 unused)
  std::vector<Variable> Variables;
  std::vector<Function> Functions;
  std::vector<std::string> Warnings; ///< one per kind: "3 instructions not understood: foo.bar"
  const Function *find(llvm::StringRef Name) const;
};

/// Parses PTX text as nvcc or Clang print it.
/// Fails with "line N: ..." where the text is not PTX (unbalanced braces, a
/// branch to a missing label); an unknown instruction is no failure.
llvm::Expected<Module> parse(llvm::StringRef Text);

/// One line per function, instruction and label; the golden tests' view.
std::string dump(const Module &M);

} // namespace restride::ptx

// A function made ready to execute: operands as slot numbers, names as
// addresses, branches with what they mean for loops. No strings are left, so
// that the inner loop only computes.
#pragma once

#include "ptx/execute/AddressMap.h"
#include "ptx/execute/Execute.h"
#include "ptx/flow/ControlFlow.h"
#include "ptx/flow/Induction.h"
#include "ptx/flow/Search.h"
#include "ptx/flow/Walk.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <set>

namespace restride::ptx {

/// What a special register holds; the rest of them are 0.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  WarpCount,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicShared,
  One,
  Zero,
  Unpredictable,
};

/// A slot that no instruction writes: an immediate, address or special register.
struct ConstantSlot {
  bool IsSpecial = false;
  Special Which = Special::Zero;
  uint64_t Value = 0;
};

/// Slot number: below the register count a register, from there on a constant;
/// -1: none.
using Slot = int;

struct MicroOp {
  Opcode Op = Opcode::Nop;
  Space Mem = Space::None;
  uint8_t Bits = 0, SrcBits = 0; ///< widths; results are kept zero-extended to Bits
  bool Signed = false, SrcSigned = false;
  bool Float = false, SrcFloat = false;
  Relation Compare = Relation::Equal; ///< Setp, Set
  uint8_t Variant = 0;                ///< meaning depends on Op, see Program.cpp
  uint8_t NegatedSources = 0;         ///< bit per source: predicate is inverted
  uint8_t DestCount = 0, SrcCount = 0;
  bool GuardNegated = false;
  bool IsPointer = false;   ///< loads: a 64-bit result is a pointer
  bool IsIdle = false;      ///< no memory, no jump, and nothing that is needed follows from it
  uint8_t ElementBytes = 0; ///< memory: of one vector element
  uint8_t Vector = 1;       ///< memory: elements
  Slot Guard = -1, Address = -1;
  int64_t Offset = 0;                   ///< of Address, bytes
  uint32_t FirstDest = 0, FirstSrc = 0; ///< in Program::Slots
};

/// Variant of Op::Setp and Op::Set: how the comparison joins a third operand.
enum class Join : uint8_t { None, And, Or, Xor };
/// Variant of Selp: 1 if it limits a value that its predicate compares.
/// Variant of Add and Sub.
enum CarryFlags : uint8_t { ReadsCarry = 1, WritesCarry = 2 };
/// Variant of Shf, Shfl, Vote, Redux, conversions and others with a mode suffix.
enum class Mode : uint8_t {
  None,
  Left,
  Right,
  Clamp,
  LeftClamp,
  RightClamp,
  Up,
  Down,
  Butterfly,
  Index,
  Any,
  All,
  Uniform,
  Ballot,
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  ToSpace,
  ShiftAmount,
  Nearest,
  TowardZero,
  Saturate,
};

/// A word that the launch gives: of the function's parameters, or of constant memory.
struct GivenWord {
  uint64_t Address = 0; ///< as AddressMap has it
  unsigned Bytes = 0;
};

/// The array that a number is an index of.
struct IndexTarget {
  static constexpr int16_t None = -1, Row = -2; ///< Row: a coordinate that others are added to after it was multiplied
  int16_t Position = None; ///< of the parameter behind which it lies; None: of none, or of several
  uint16_t Word = 0;       ///< in that parameter, the first pointer to it, in 8 bytes
};

/// A branch and the loop it leaves, if it does.
struct BranchInfo {
  uint32_t Taken = 0, Next = 0; ///< blocks; Next == block count: past the end
  int Loop = -1;                ///< innermost loop around it
  int ExitLoop = -1;            ///< innermost loop that one side leaves and the other does not
  bool TakenExits = false;
  int8_t Leaves = 0;      ///< 1: the taken side leaves the function, 2: the other one, 0: neither
  bool IsCounted = false; ///< it is the ExitTest of ExitLoop
  bool IsMerged = false;  ///< its predicate is set in several places, or from what is, by the path taken
  std::vector<int> Inner; ///< loops in ExitLoop that change what decides it: how much, their trips say
  /// `while (go && i < 2)`: registers that decide alone, each where it has this value, whatever the rest of the condition is.
  std::vector<std::pair<int, bool>> Deciders;
  /// Leaves != 0: those that the predicate follows from.
  std::vector<GivenWord> Given;
  bool LeavesBehindCount = false; ///< and the threads that leave are those whose number is not below one that all of them load
  /// It only asks whether a loop runs at all. 1: the taken side skips the loop,
  /// 2: the other one, 0: no such branch.
  int8_t SkipsLoop = 0;
  bool GoesOnAsIn = false; ///< and it asks what each trip asks before the next
  /// An `if`, not a loop's or a guard's, whose body is 1: the taken side, 2: the other one.
  int8_t Body = 0;
  IndexTarget Appends; ///< the list that Body appends to
  int Compare = -1; ///< the one Setp that decides it; -1: not as simple
  /// A test of the search that this loop is; -1: none.
  int SearchLoop = -1;
  unsigned SearchPlace = 0; ///< tests before it, one before the loop included
  bool TakenFinds = false;  ///< the taken side ends the search
};

/// Where a run of elements of another array begins or ends. Next: where the next one
/// begins, in the entry behind; in an array of records it is a member that says where it ends.
enum class RunBound : uint8_t { None, Begin, Next, OwnBegin, OwnEnd, OwnCount };

struct LoopInfo {
  LoopInductions Inductions;
  Slot Bound = -1;           ///< slot of ExitTest::Bound
  bool HasOtherExit = false; ///< more than one branch leaves it
  // Without a counter:
  std::optional<Search> Looks; ///< for something
  std::optional<Walk> Walks;   ///< or goes where it loads
  bool Marches = false;        ///< or through space
  bool ByStack = false;        ///< or down a tree
  // With a counter:
  bool Runs = false;           ///< from one of RunBounds to the next
  bool Window = false;         ///< both follow from one number with a fraction that is loaded: from x - r to x + r
  bool Tied = false;           ///< its bound follows from the data that its first value follows from: from x - 1 to x + 1
  uint64_t Unroll = 1;       ///< source trips per trip, guessed from the step
  std::vector<uint32_t> PlaceInParent; ///< per block of it: index in the parent's
};

class Program {
public:
  Program(const Function &F, const ControlFlow &C);

  const Function &F;
  const ControlFlow &C;
  AddressMap Addresses;
  unsigned Registers = 0;
  std::vector<ConstantSlot> Constants;       ///< slots from Registers on
  std::vector<MicroOp> Ops;                  ///< as Function::Body
  std::vector<Slot> Slots;                   ///< operand lists
  std::vector<IndexTarget> Targets; ///< as Slots, of what loads bring and conversions make
  std::vector<RunBound> RunBounds; ///< as Slots, of what loads bring
  /// As Slots: what loads bring is used as a floating-point value, whatever the load's type says.
  llvm::BitVector Reals;
  std::vector<BranchInfo> Branches;          ///< per block: its last instruction, if a Bra
  std::vector<std::vector<uint32_t>> Tables; ///< BrxIdx: target blocks, MicroOp::Offset indexes this
  std::vector<LoopInfo> Loops;
  std::vector<uint32_t> PlaceInLoop; ///< per block: index in its innermost loop
  /// Per block: place in the order of execution for diverged lanes. Control
  /// flow order, all blocks of a loop together.
  std::vector<uint32_t> Rank;
  /// Per register: only ever holds loaded or copied integers, so not negative.
  llvm::BitVector NonNegative;
  /// Per register: only ever holds a few low bits (x & 3): as likely to have one
  /// of their values as another.
  llvm::BitVector FewBits;
  /// Per instruction: in a loop that walks, where each lane goes its own way.
  llvm::BitVector InWalk;
  /// Per instruction: in a loop that goes down a tree by a stack; see Walk.h.
  llvm::BitVector ByStack;
  /// Per instruction: goes by places that are computed, though data chose among them; see Walk.h.
  llvm::BitVector Plain;
  bool isByStack(const MicroOp &Op) const { return ByStack[size_t(&Op - Ops.data())]; }
  bool isPlain(const MicroOp &Op) const { return Plain[size_t(&Op - Ops.data())]; }
  /// Per instruction: a comparison of keys by which a descent chooses where it goes on.
  llvm::BitVector Chooses;
  /// Per instruction: it compares which of two loaded numbers is greater.
  llvm::BitVector ComparesLoaded;
  /// Per instruction: `(int)(x / size) < cells`, a comparison of an integer that is made of a real with what only arguments
  /// say: which of its sources is the former.
  enum class PlaceSide : uint8_t { None, First, Second };
  std::vector<PlaceSide> PlaceSides;
  bool ElementsLieByRuns = false, MakesSubscriptsOfReals = false; ///< see WarpExecutor
  std::vector<std::string> Warnings;

private:
  Slot slot(const Operand &Op);
  Slot constant(uint64_t Value);
  MicroOp decode(unsigned Index, const llvm::BitVector &Pointers);
  /// What is copied from a register that a constant was moved to is that constant, whatever the register holds elsewhere.
  void copyConstants();
  void decodeBranches();
  void decodeLoops();
  void findChoices();
  void decodeSearches();
  /// Whether the instruction \p At compares which of two loaded numbers is greater.
  bool ordersLoaded(unsigned At) const;
  void orderBlocks();
  void findRanges();
  void findClamps();
  void findPlaces();
  /// Registers that are used so, themselves or what is copied from them.
  template <typename FnT> llvm::BitVector usedAs(FnT IsUse) const;
  void findReals();
  /// Narrow integers are loaded without a sign: whether they have one, their uses tell.
  void findSigned();
  void findTargets();
  void findSubscriptsOfReals();
  void findRuns();
  void findTied();
  void findOrderByRuns();
  void findAppends();
  /// A constant that threads have different values of, such as their numbers.
  bool isSpecial(Slot S) const { return S >= Slot(Registers) && Constants[size_t(S) - Registers].IsSpecial; }
  bool isUniform(Slot Address) const;
  bool leavesBehindCount(const BranchInfo &Info, bool Negated) const;
  /// A pointer that the function is given: its parameter, and the word in that.
  using GivenPointer = std::pair<int16_t, uint16_t>;
  /// The one that \p Op loads to \p Register; none: it loads no such.
  std::optional<GivenPointer> pointerOf(const MicroOp &Op, int Register) const;
  /// Those that \p Register is computed from.
  std::set<GivenPointer> pointersBehind(int Register) const;
  /// The parameters that pointers behind \p Register come from.
  std::set<int> parametersBehind(int Register) const;
  struct LoadedPart {
    const MicroOp *Load;
    size_t Dest; ///< in Slots
  };
  /// Loads that an index in \p Register is computed from.
  std::vector<LoadedPart> loadsBehind(int Register) const;
  /// Two loads that the index of one array follows from, as in a search from one to the other.
  struct Span {
    LoadedPart First, Second; ///< as they lie in the code
    GivenPointer Array;
  };
  std::vector<Span> Spans;
  bool areOfOneEntry(const MicroOp &A, const MicroOp &B) const;
  bool areMembersOfOneEntry(const MicroOp &A, const MicroOp &B) const;
  bool isCopied(Slot A) const;
  /// \p B loads the entry behind that of \p A.
  static bool isNextEntry(const LoadedPart &A, const LoadedPart &B);
  /// What \p A and \p B say of a run, if the one is its begin and the other its end.
  std::optional<std::pair<RunBound, RunBound>> boundsOf(const LoadedPart &A, const LoadedPart &B) const;
  std::optional<LoadedPart> beginOfCounted(unsigned Loop, const LoadedPart &Count) const;
  bool areAdded(Slot A, Slot B) const;
  bool leavesFunction(unsigned Block) const;
  /// Registers that \p Register is computed from, itself included; as far as a
  /// bounds check goes. As an index: not those of floating-point values, nor of what chooses between two.
  std::vector<int> registersBehind(int Register, bool AsIndex = false) const;
  /// Those of them that loads bring, and with \p Converted those that are made of floating-point values.
  std::vector<int> dataBehind(int Register, bool Converted) const;
  std::vector<GivenWord> givenBehind(int Register) const;
  /// Which of the destinations of \p Op the register \p R is.
  size_t partOf(const MicroOp &Op, int R) const { return size_t(llvm::find(destinations(Op), R) - destinations(Op).begin()); }
  llvm::ArrayRef<Slot> sources(const MicroOp &Op) const { return llvm::ArrayRef(Slots).slice(Op.FirstSrc, Op.SrcCount); }
  llvm::ArrayRef<Slot> destinations(const MicroOp &Op) const { return llvm::ArrayRef(Slots).slice(Op.FirstDest, Op.DestCount); }
  /// The parameter that \p Load, a LdParam, reads, and the offset in it; null: not plain to see.
  std::pair<const ParameterSlot *, uint64_t> parameterOf(const MicroOp &Load) const;
  bool isMultiplied(int Register) const;
  bool loadAlike(int A, int B) const;
  void findSkippedLoop(unsigned Block, BranchInfo &Info, int Guard) const;
  void findChanges(unsigned Block, BranchInfo &Info, int Guard) const;
  void findDeciders(unsigned Block, BranchInfo &Info, int Predicate, bool Value, bool Joined) const;
  int8_t bodyOf(unsigned Block, const BranchInfo &Info) const;

  llvm::DenseMap<uint64_t, Slot> LiteralSlot;
  std::vector<std::vector<unsigned>> Writes; ///< per register: instructions; only while decoding
};

} // namespace restride::ptx

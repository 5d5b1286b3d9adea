#include "ptx/flow/Induction.h"

#include "ptx/flow/LoopWrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace restride::ptx;

namespace {

/// r' = r + Added, or a plain copy.
struct Update {
  int From = -1;
  Step Added;
  unsigned Bits = 32;
};

class Finder {
public:
  Finder(const Function &F, const ControlFlow &C, const Loop &L);
  LoopInductions find();

private:
  /// Whether instruction \p A runs before \p B in the same trip.
  bool precedes(unsigned A, unsigned B) const;
  bool isInvariant(const Operand &Op) const;
  /// The one instruction of the loop that writes \p Reg, if it does so once in
  /// every trip; -1 otherwise.
  int onlyWrite(int Reg) const;
  std::optional<Update> update(int Reg) const;
  /// What a trip adds to \p Reg.
  std::optional<Step> stepOf(int Reg) const;
  bool readTest(unsigned Block, ExitTest &T, std::string &Why) const;
  void findCounter(ExitTest &T) const;
  bool testsAtTop(unsigned Block) const;

  const Function &F;
  const ControlFlow &C;
  const Loop &L;
  int LoopNumber;
  const LoopWrites Writes;
};

void add(Step &To, const Step &From) {
  To.Constant = int64_t(uint64_t(To.Constant) + uint64_t(From.Constant));
  llvm::append_range(To.Terms, From.Terms);
}

} // namespace

Finder::Finder(const Function &F, const ControlFlow &C, const Loop &L)
    : F(F), C(C), L(L), LoopNumber(int(&L - C.Loops.data())), Writes(writesIn(F, C, L)) {}

bool Finder::precedes(unsigned A, unsigned B) const {
  unsigned BlockA = C.blockOf(A), BlockB = C.blockOf(B);
  return BlockA == BlockB ? A < B : C.dominates(BlockA, BlockB);
}

bool Finder::isInvariant(const Operand &Op) const {
  if (Op.K == Operand::Immediate)
    return true;
  return Op.K == Operand::Register && Op.Reg >= 0 && !Writes.contains(Op.Reg);
}

int Finder::onlyWrite(int Reg) const {
  auto At = Writes.find(Reg);
  if (At == Writes.end() || At->second.size() != 1)
    return -1;
  unsigned I = At->second[0], B = C.blockOf(I);
  if (F.Body[I].Guard >= 0 || C.LoopOf[B] != LoopNumber)
    return -1;
  return llvm::all_of(L.Latches, [&](unsigned Latch) { return C.dominates(B, Latch); }) ? int(I) : -1;
}

std::optional<Update> Finder::update(int Reg) const {
  int At = onlyWrite(Reg);
  if (At < 0)
    return std::nullopt;
  const Instruction &I = F.Body[At];
  if (I.Dest.size() != 1 || I.Src.empty() || I.Ty.K == Type::Float || I.SrcTy.K == Type::Float)
    return std::nullopt;
  Update U;
  U.Bits = I.Ty.Bits;
  auto FromRegister = [&](const Operand &Op) {
    U.From = Op.K == Operand::Register ? Op.Reg : -1;
    return U.From >= 0;
  };
  if (I.Op == Opcode::Mov || I.Op == Opcode::Cvt || I.Op == Opcode::Cvta)
    return I.Src.size() == 1 && FromRegister(I.Src[0]) ? std::optional(U) : std::nullopt;
  if ((I.Op != Opcode::Add && I.Op != Opcode::Sub) || I.Src.size() != 2)
    return std::nullopt;
  const bool Subtract = I.Op == Opcode::Sub;
  const Operand *Variable = &I.Src[0], *Added = &I.Src[1];
  if (!Subtract && isInvariant(*Variable))
    std::swap(Variable, Added);
  if (!isInvariant(*Added) || !FromRegister(*Variable))
    return std::nullopt;
  if (Added->K == Operand::Immediate)
    U.Added.Constant = Subtract ? -Added->Imm : Added->Imm;
  else
    U.Added.Terms.push_back({Added->Reg, Subtract});
  return U;
}

std::optional<Step> Finder::stepOf(int Reg) const {
  // Follow copies and additions back until a register comes round again.
  llvm::SmallVector<std::pair<int, Step>, 8> Path;
  constexpr size_t MaxPath = 64;
  while (Path.size() < MaxPath) {
    auto Seen = llvm::find_if(Path, [&](const auto &P) { return P.first == Reg; });
    if (Seen != Path.end()) {
      Step Total;
      for (; Seen != Path.end(); ++Seen)
        add(Total, Seen->second);
      return Total;
    }
    std::optional<Update> U = update(Reg);
    if (!U)
      return std::nullopt;
    Path.emplace_back(Reg, U->Added);
    Reg = U->From;
  }
  return std::nullopt;
}

bool Finder::testsAtTop(unsigned Block) const {
  // Clang ends a loop with "@p bra exit; bra header": nothing runs after that test.
  for (unsigned Next : C.Blocks[Block].Succs) {
    if (!C.inLoop(Next, LoopNumber))
      continue;
    for (unsigned Hops = 0; Hops < C.Blocks.size() && Next != L.Header; ++Hops) {
      const struct Block &B = C.Blocks[Next];
      if (B.End - B.Begin > 1 || B.Succs.size() != 1 || (B.End > B.Begin && F.Body[B.Begin].Op != Opcode::Bra))
        return true;
      Next = B.Succs[0];
    }
    return Next != L.Header;
  }
  return false;
}

bool Finder::readTest(unsigned Block, ExitTest &T, std::string &Why) const {
  const struct Block &B = C.Blocks[Block];
  T.Branch = B.End - 1;
  const Instruction &Branch = F.Body[T.Branch];
  const bool TakenLeaves = !C.inLoop(B.Succs[0], LoopNumber);
  bool StayIfTrue = TakenLeaves == Branch.GuardNegated;

  int At = onlyWrite(Branch.Guard);
  for (unsigned Nots = 0; At >= 0 && F.Body[At].Op == Opcode::Not && Nots < 4; ++Nots) {
    StayIfTrue = !StayIfTrue;
    At = F.Body[At].Src.empty() ? -1 : onlyWrite(F.Body[At].Src[0].Reg);
  }
  const bool Plain = At >= 0 && F.Body[At].Op == Opcode::Setp && F.Body[At].Src.size() == 2 &&
                     F.Body[At].Dest.size() == 1 && precedes(unsigned(At), T.Branch);
  if (!Plain) {
    Why = "the exit is not decided by one comparison";
    return false;
  }
  T.Compare = unsigned(At);
  const Instruction &Setp = F.Body[At];
  bool Unsigned = false;
  std::optional<Relation> R = parseRelation(Setp.Compare, Unsigned);
  if (!R || Setp.SrcTy.K == Type::Float || Setp.SrcTy.K == Type::Pred) {
    Why = "the exit compares floating-point values";
    return false;
  }
  const bool Swapped = isInvariant(Setp.Src[0]);
  const Operand &Index = Setp.Src[Swapped ? 1 : 0];
  T.Bound = Setp.Src[Swapped ? 0 : 1];
  if (!isInvariant(T.Bound) || isInvariant(Index) || Index.K != Operand::Register || Index.Reg < 0) {
    Why = "the bound changes inside the loop";
    return false;
  }
  T.Index = Index.Reg;
  T.Stay = Swapped ? mirrored(*R) : *R;
  if (!StayIfTrue)
    T.Stay = opposite(T.Stay);
  T.Signed = Setp.SrcTy.K == Type::Signed && !Unsigned;
  T.Bits = Setp.SrcTy.Bits;
  std::optional<Step> By = stepOf(T.Index);
  if (!By || (By->Constant == 0 && By->Terms.empty())) {
    Why = "the compared register does not step by a fixed amount";
    return false;
  }
  T.By = *By;

  unsigned Write = unsigned(onlyWrite(T.Index));
  if (!precedes(Write, T.Compare) && precedes(Write, T.Branch))
    T.SinceCompare = T.By; // written once in a trip, also where that is a copy of the sum
  findCounter(T);
  T.TestsAtTop = testsAtTop(Block);
  return true;
}

void Finder::findCounter(ExitTest &T) const {
  int Reg = T.Index;
  unsigned Position = T.Compare;
  constexpr unsigned MaxHops = 64;
  for (unsigned Hop = 0; Hop < MaxHops; ++Hop) {
    int Write = onlyWrite(Reg);
    if (Write < 0 || !precedes(unsigned(Write), Position))
      break;
    std::optional<Update> U = update(Reg);
    if (!U)
      break;
    add(T.BeforeTest, U->Added);
    Reg = U->From;
    Position = unsigned(Write);
  }
  T.Counter = Reg;
}

LoopInductions Finder::find() {
  LoopInductions Out;
  for (const auto &[Reg, At] : Writes)
    if (At.size() == 1)
      if (std::optional<Step> By = stepOf(Reg); By && (By->Constant || !By->Terms.empty()))
        Out.Registers.push_back({Reg, update(Reg)->Bits, std::move(*By)});
  llvm::sort(Out.Registers, [](const Induction &A, const Induction &B) { return A.Reg < B.Reg; });

  Out.Why = "no conditional branch leaves the loop";
  for (unsigned B : L.Blocks) {
    const Block &Here = C.Blocks[B];
    if (C.LoopOf[B] != LoopNumber || Here.Begin == Here.End || Here.Succs.size() != 2)
      continue;
    const Instruction &Last = F.Body[Here.End - 1];
    if (Last.Op != Opcode::Bra || Last.Guard < 0 ||
        C.inLoop(Here.Succs[0], LoopNumber) == C.inLoop(Here.Succs[1], LoopNumber))
      continue;
    ExitTest T;
    if (!readTest(B, T, Out.Why))
      continue;
    // Of several counted exits, the one that every trip reaches last.
    if (!Out.Test || !T.TestsAtTop)
      Out.Test = std::move(T);
  }
  return Out;
}

LoopInductions restride::ptx::inductions(const Function &F, const ControlFlow &C, const Loop &L) {
  return Finder(F, C, L).find();
}

// What each branch of a function means to execution: which loop it leaves,
// whether it is a guard.
#include "ptx/execute/Program.h"

#include "ptx/flow/March.h"

#include "llvm/ADT/STLExtras.h"

using namespace restride::ptx;

bool Program::leavesFunction(unsigned Block) const {
  constexpr unsigned MaxHops = 4;
  for (unsigned Hop = 0; Hop < MaxHops; ++Hop) {
    if (Block >= C.Blocks.size())
      return true;
    const struct Block &B = C.Blocks[Block];
    for (unsigned I = B.Begin; I < B.End; ++I)
      if (F.Body[I].isMemory() || F.Body[I].Op == Opcode::CpAsync)
        return false;
    if (B.Succs.empty())
      return true;
    if (B.Succs.size() > 1)
      return false;
    Block = B.Succs[0];
  }
  return false;
}

std::vector<int> Program::registersBehind(int Register, bool AsIndex) const {
  std::vector<int> Out, Work{Register};
  llvm::BitVector Seen(Registers);
  constexpr unsigned MaxRegisters = 64;
  while (!Work.empty() && Out.size() < MaxRegisters) {
    const int R = Work.back();
    Work.pop_back();
    if (R < 0 || R >= int(Registers) || Seen[unsigned(R)])
      continue;
    Seen.set(unsigned(R));
    Out.push_back(R);
    for (unsigned At : Writes[size_t(R)]) {
      const MicroOp &Op = Ops[At];
      const bool IsFloat = Op.Op == Opcode::Cvt && Op.SrcFloat, Chooses = Op.Op == Opcode::Selp;
      if (Op.Op != Opcode::Ld && Op.Op != Opcode::LdParam && !(AsIndex && IsFloat))
        for (unsigned S = 0; S < (AsIndex && Chooses ? 2 : Op.SrcCount); ++S)
          Work.push_back(Slots[Op.FirstSrc + S]);
    }
  }
  return Out;
}

std::vector<int> Program::dataBehind(int Register, bool Converted) const {
  std::vector<int> Out = registersBehind(Register);
  llvm::erase_if(Out, [&](int R) {
    return llvm::none_of(Writes[size_t(R)], [&](unsigned At) { return Ops[At].Op == Opcode::Ld || (Converted && Ops[At].Op == Opcode::Cvt && Ops[At].SrcFloat); });
  });
  return Out;
}

std::vector<GivenWord> Program::givenBehind(int Register) const {
  std::vector<GivenWord> Out;
  for (int R : registersBehind(Register))
    for (unsigned At : Writes[size_t(R)]) {
      const MicroOp &Op = Ops[At];
      const bool Gives = Op.Op == Opcode::LdParam || (Op.Op == Opcode::Ld && Op.Mem == Space::Const);
      if (!Gives || Op.Address < Slot(Registers))
        continue;
      Out.push_back({Constants[size_t(Op.Address) - Registers].Value + uint64_t(Op.Offset) + partOf(Op, R) * Op.ElementBytes, Op.ElementBytes});
    }
  return Out;
}

/// Both registers are loaded from the same place behind one pointer, `node->leaf`, before and after it moves on.
bool Program::loadAlike(int A, int B) const {
  return llvm::any_of(Writes[size_t(A)], [&](unsigned First) {
    return Ops[First].Op == Opcode::Ld && llvm::any_of(Writes[size_t(B)], [&](unsigned Second) {
             const MicroOp &X = Ops[First], &Y = Ops[Second];
             return Y.Op == Opcode::Ld && X.Mem == Y.Mem && X.Address == Y.Address && X.Offset == Y.Offset && X.Bits == Y.Bits;
           });
  });
}

/// `if (start < end)` before a loop from start to end, `if (state == Alive)` before one that goes on while it is: one side
/// runs into the loop, the other to where both meet, and both ask of the same loaded data.
void Program::findSkippedLoop(unsigned Block, BranchInfo &Info, int Guard) const {
  if (Info.Next >= C.Blocks.size() || C.Ipdom[Block] < 0)
    return;
  const unsigned Meet = unsigned(C.Ipdom[Block]);
  if (Meet != Info.Taken && Meet != Info.Next)
    return;
  const unsigned Side = Meet == Info.Taken ? Info.Next : Info.Taken;
  const std::vector<int> Asked = dataBehind(Guard, /*Converted=*/false);
  auto decides = [&](const std::vector<int> &Loaded) {
    return llvm::any_of(Asked, [&](int R) { return llvm::any_of(Loaded, [&](int L) { return L == R || loadAlike(L, R); }); });
  };
  for (unsigned L = 0; L < C.Loops.size() && !Asked.empty(); ++L) {
    if (C.Loops[L].Parent != C.LoopOf[Block] || !C.dominates(Side, C.Loops[L].Header))
      continue;
    const std::optional<ExitTest> &Test = Loops[L].Inductions.Test;
    const bool Counts = Test && (decides(dataBehind(Test->Counter, false)) || decides(dataBehind(Loops[L].Bound, false)));
    Info.GoesOnAsIn = !Counts && llvm::any_of(C.Loops[L].Blocks, [&](unsigned B) {
      const Instruction &Last = F.Body[C.Blocks[B].End - 1];
      return Last.Op == Opcode::Bra && Last.Guard >= 0 && leavesLoop(C, C.Loops[L], B) && decides(dataBehind(Last.Guard, false));
    });
    if (Counts || Info.GoesOnAsIn)
      Info.SkipsLoop = Meet == Info.Taken ? 1 : 2;
    if (Info.SkipsLoop)
      return;
  }
}

/// `while (top > 0) { while (isNode(p)) stack[top++] = p; …; p = stack[--top]; }`
/// `while (top > 0) { --top; if (isNode(p)) top += children(p); }`
void Program::findChanges(unsigned Block, BranchInfo &Info, int Guard) const {
  for (int R : registersBehind(Guard)) {
    unsigned Inside = 0;
    for (unsigned At : Writes[size_t(R)]) {
      const unsigned Here = C.blockOf(At);
      if (!C.inLoop(Here, Info.ExitLoop))
        continue;
      Info.IsMerged |= ++Inside > 1 || !C.dominates(Here, Block);
      for (int L = C.LoopOf[Here]; L >= 0 && L != Info.ExitLoop; L = C.Loops[L].Parent)
        if (!llvm::is_contained(Info.Inner, L))
          Info.Inner.push_back(L);
    }
  }
}

/// That \p Predicate has \p Value decides \p Info's branch; \p Joined: whatever else it asks.
void Program::findDeciders(unsigned Block, BranchInfo &Info, int Predicate, bool Value, bool Joined) const {
  auto isSet = [&](Slot S) { return S >= 0 && unsigned(S) < Registers && Writes[size_t(S)].size() == 1; }; // and has not changed since
  if (!isSet(Predicate))
    return;
  const MicroOp &Op = Ops[Writes[size_t(Predicate)][0]];
  const bool Joins = Op.Op == (Value ? Opcode::Or : Opcode::And), Passes = Op.Op == Opcode::Not || (Op.Op == Opcode::Mov && Op.SrcCount == 1);
  if (Joins || (Passes && isSet(Slots[Op.FirstSrc]))) {
    for (unsigned S = 0; S < Op.SrcCount; ++S)
      findDeciders(Block, Info, Slots[Op.FirstSrc + S], Value != ((Op.Op == Opcode::Not) != bool(Op.NegatedSources >> S & 1)), Joined || Joins);
    return;
  }
  BranchInfo Alone;
  Alone.ExitLoop = Info.ExitLoop;
  findChanges(Block, Alone, Predicate);
  if (Joined && !Alone.IsMerged && Alone.Inner.empty())
    Info.Deciders.push_back({Predicate, Value});
}

/// The side that is not where both meet; of two such the one that comes first in the source.
int8_t Program::bodyOf(unsigned Block, const BranchInfo &Info) const {
  if (Info.Next >= C.Blocks.size() || Info.Taken >= C.Blocks.size())
    return 0;
  auto Meets = [&](unsigned Side) { // at once, or with nothing but a branch between
    const struct Block &B = C.Blocks[Side];
    const bool IsHop = B.End - B.Begin == 1 && B.Succs.size() == 1 && F.Body[B.Begin].Op == Opcode::Bra;
    return C.Ipdom[Block] == int(IsHop ? B.Succs[0] : Side) || C.Ipdom[Block] == int(Side);
  };
  if (Meets(Info.Taken) != Meets(Info.Next))
    return Meets(Info.Taken) ? 2 : 1;
  auto Line = [&](unsigned B) { return F.Body[C.Blocks[B].Begin].Loc.Line; };
  return Line(Info.Taken) < Line(Info.Next) ? 1 : 2;
}

/// `if (thread >= queue->count) return;`
bool Program::leavesBehindCount(const BranchInfo &Info, bool Negated) const {
  if (!Info.Leaves || Info.Compare < 0 || Ops[size_t(Info.Compare)].SrcFloat)
    return false;
  const MicroOp &Setp = Ops[size_t(Info.Compare)];
  auto isThread = [&](Slot S) {
    bool Counts = false;
    for (int R : registersBehind(S))
      for (unsigned At : Writes[size_t(R)]) {
        if (Ops[At].Op == Opcode::Ld || Ops[At].Op == Opcode::Atom)
          return false;
        Counts |= llvm::any_of(sources(Ops[At]), [&](Slot From) { return isSpecial(From); });
      }
    return Counts;
  };
  auto isCount = [&](Slot S) {
    if (S < 0 || S >= Slot(Registers) || Writes[size_t(S)].size() != 1)
      return false;
    const MicroOp &Load = Ops[Writes[size_t(S)][0]];
    return Load.Op == Opcode::Ld && Load.Mem != Space::Shared && Load.Mem != Space::Local && isUniform(Load.Address);
  };
  const Slot A = Slots[Setp.FirstSrc], B = Slots[Setp.FirstSrc + 1];
  const bool InOrder = isThread(A) && isCount(B);
  if (!InOrder && !(isThread(B) && isCount(A)))
    return false;
  const Relation Taken = Negated ? opposite(Setp.Compare) : Setp.Compare, Leaves = Info.Leaves == 1 ? Taken : opposite(Taken);
  const Relation OfThread = InOrder ? Leaves : mirrored(Leaves);
  return OfThread == Relation::Greater || OfThread == Relation::GreaterEqual;
}

void Program::decodeBranches() {
  const unsigned End = unsigned(C.Blocks.size());
  Branches.resize(End);
  for (unsigned B = 0; B < End; ++B) {
    const Block &Here = C.Blocks[B];
    BranchInfo &Info = Branches[B];
    Info.Taken = Info.Next = B + 1;
    if (Here.Begin == Here.End)
      continue;
    const Instruction &Last = F.Body[Here.End - 1];
    if (Last.Op == Opcode::BrxIdx) {
      std::vector<uint32_t> Table;
      for (const std::string &Target : Last.Targets)
        if (std::optional<unsigned> At = F.label(Target))
          Table.push_back(C.blockOf(*At));
      Ops[Here.End - 1].Offset = int64_t(Tables.size());
      Tables.push_back(std::move(Table));
      continue;
    }
    if (Last.Op != Opcode::Bra || Here.Succs.empty())
      continue;
    Info.Loop = C.LoopOf[B];
    Info.IsMerged = Last.Guard >= 0 && Writes[size_t(Last.Guard)].size() > 1;
    Info.Taken = Here.Succs[0];
    if (Here.Succs.size() < 2)
      continue;
    const bool TakenLeaves = leavesFunction(Info.Taken), NextLeaves = leavesFunction(Info.Next);
    if (TakenLeaves != NextLeaves)
      Info.Leaves = TakenLeaves ? 1 : 2;
    for (int L = C.LoopOf[B]; L >= 0 && Info.ExitLoop < 0; L = C.Loops[L].Parent) {
      const bool TakenStays = C.inLoop(Info.Taken, L), NextStays = C.inLoop(Info.Next, L);
      if (TakenStays == NextStays)
        continue;
      Info.ExitLoop = L;
      Info.TakenExits = !TakenStays;
      const std::optional<ExitTest> &Test = Loops[L].Inductions.Test;
      Info.IsCounted = Test && Test->Branch == Here.End - 1;
    }
    if (Info.ExitLoop >= 0 && Last.Guard >= 0 && !Info.IsCounted) {
      findChanges(B, Info, Last.Guard);
      for (bool Value : {false, true})
        findDeciders(B, Info, Last.Guard, Value, /*Joined=*/false);
    }
    if (Info.ExitLoop >= 0 || Last.Guard < 0)
      continue;
    if (Info.Leaves)
      Info.Given = givenBehind(Last.Guard);
    findSkippedLoop(B, Info, Last.Guard);
    if (!Info.Leaves && !Info.SkipsLoop)
      Info.Body = bodyOf(B, Info);
    const std::vector<unsigned> &Decided = Writes[size_t(Last.Guard)];
    if (Decided.size() == 1 && Ops[Decided[0]].Op == Opcode::Setp && Ops[Decided[0]].SrcCount == 2)
      Info.Compare = int(Decided[0]);
    Info.LeavesBehindCount = leavesBehindCount(Info, Last.GuardNegated);
  }
}

static uint32_t placeOf(const Loop &L, unsigned Block) {
  return uint32_t(llvm::lower_bound(L.Blocks, Block) - L.Blocks.begin());
}

bool Program::ordersLoaded(unsigned At) const {
  const MicroOp &Op = Ops[At];
  if (Op.Op != Opcode::Setp || Op.SrcFloat || Op.SrcCount < 2 || Op.Compare == Relation::Equal || Op.Compare == Relation::NotEqual)
    return false;
  return llvm::all_of(llvm::ArrayRef(Slots).slice(Op.FirstSrc, 2), [&](Slot S) { return !dataBehind(S, /*Converted=*/true).empty(); });
}

void Program::decodeLoops() {
  PlaceInLoop.resize(C.Blocks.size());
  InWalk.resize(F.Body.size());
  ByStack.resize(F.Body.size());
  Plain.resize(F.Body.size());
  for (unsigned B = 0; B < C.Blocks.size(); ++B)
    if (C.LoopOf[B] >= 0)
      PlaceInLoop[B] = placeOf(C.Loops[C.LoopOf[B]], B);
  for (unsigned Number = 0; Number < C.Loops.size(); ++Number) {
    const Loop &L = C.Loops[Number];
    LoopInfo &Info = Loops.emplace_back();
    if (L.Parent >= 0)
      for (unsigned B : L.Blocks)
        Info.PlaceInParent.push_back(placeOf(C.Loops[L.Parent], B));
    Info.Inductions = inductions(F, C, L);
    Info.Walks = walkOf(F, C, L);
    const bool Decides = Info.Walks && Info.Walks->Decides;
    if (!Decides)
      Info.Looks = searchOf(F, C, L, Info.Inductions);
    Info.Marches = !Info.Inductions.Test && marches(F, C, L);
    unsigned Exits = 0;
    for (unsigned B : L.Blocks)
      Exits += leavesLoop(C, L, B);
    Info.HasOtherExit = Exits > 1;
    // One that only a counter ends goes through a run; where data may end it before, that is a limit.
    if (!Decides && ((Info.Inductions.Test && !Info.HasOtherExit) || (Info.Looks && !Info.Looks->Chain)))
      Info.Walks.reset();
    Info.ByStack = !Info.Walks && walksByStack(F, C, L);
    if (Info.Walks || Info.ByStack)
      for (unsigned B : L.Blocks)
        (Info.Walks ? InWalk : ByStack).set(C.Blocks[B].Begin, C.Blocks[B].End);
    if (Decides)
      for (unsigned I : Info.Walks->Plain)
        Plain.set(I);
    if (!Info.Inductions.Test)
      continue;
    const ExitTest &T = *Info.Inductions.Test;
    Info.Bound = slot(T.Bound);
    // A counter that steps by 2 to 16 is more often unrolled than not; larger
    // steps are strides, and 64-bit counters are byte pointers.
    const int64_t By = T.By.Constant < 0 ? -T.By.Constant : T.By.Constant;
    if (T.Bits <= 32 && T.By.Terms.empty() && By >= 2 && By <= 16)
      Info.Unroll = uint64_t(By);
  }
}

void Program::findChoices() {
  Chooses.resize(F.Body.size());
  ComparesLoaded.resize(F.Body.size());
  for (unsigned I = 0; I < F.Body.size(); ++I)
    ComparesLoaded[I] = ordersLoaded(I);
  for (unsigned Number = 0; Number < C.Loops.size(); ++Number)
    if (Loops[Number].Walks && Loops[Number].Walks->Decides)
      for (unsigned B : C.Loops[Number].Blocks)
        for (unsigned I = C.Blocks[B].Begin; I < C.Blocks[B].End; ++I)
          if (!Plain[I] && ComparesLoaded[I])
            Chooses.set(I);
}

void Program::decodeSearches() {
  for (int L = 0; L < int(Loops.size()); ++L) {
    if (!Loops[L].Looks)
      continue;
    unsigned Place = 0;
    auto add = [&](const SearchTest &T) {
      BranchInfo &Info = Branches[T.Block];
      Info.SearchLoop = L;
      Info.SearchPlace = Place++;
      Info.TakenFinds = T.TakenEnds;
    };
    if (Loops[L].Looks->First)
      add(*Loops[L].Looks->First);
    llvm::for_each(Loops[L].Looks->Tests, add);
  }
}

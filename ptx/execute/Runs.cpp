// Runs of elements that loops go through: of an array in compressed rows, or of the
// particles of a cell. What says where they begin and end is loaded.
#include "ptx/execute/Program.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace restride::ptx;

/// Both are of one entry: the same offset is added to the begins of two arrays, or to one of records.
bool Program::areOfOneEntry(const MicroOp &A, const MicroOp &B) const {
  if (A.Address == B.Address)
    return true;
  auto sum = [&](Slot S) -> llvm::ArrayRef<Slot> {
    const bool IsRegister = S >= 0 && S < Slot(Registers) && Writes[size_t(S)].size() == 1;
    const MicroOp *Op = IsRegister ? &Ops[Writes[size_t(S)][0]] : nullptr;
    return Op && Op->Op == Opcode::Add ? sources(*Op) : llvm::ArrayRef<Slot>();
  };
  return A.Offset == B.Offset && llvm::any_of(sum(A.Address), [&](Slot S) {
    return S >= 0 && S < Slot(Registers) && llvm::is_contained(sum(B.Address), S);
  });
}

/// A begin and a number of elements need not lie as far from what is added to, in tiles and groups least of all.
bool Program::areMembersOfOneEntry(const MicroOp &A, const MicroOp &B) const {
  if (A.Address == B.Address)
    return true;
  const std::vector<int> Data = dataBehind(A.Address, /*Converted=*/true), Indices = registersBehind(B.Address, /*AsIndex=*/true);
  const bool Shares = llvm::any_of(registersBehind(A.Address, /*AsIndex=*/true), [&](int R) { return llvm::is_contained(Indices, R); });
  return Shares && Data == dataBehind(B.Address, true);
}

/// As a begin and a number of elements are, and a begin and an end are not.
bool Program::areAdded(Slot A, Slot B) const {
  return llvm::any_of(Ops, [&](const MicroOp &Op) {
    const auto Sources = sources(Op);
    return Op.Op == Opcode::Add && llvm::is_contained(Sources, A) && llvm::is_contained(Sources, B);
  });
}

std::vector<Program::LoadedPart> Program::loadsBehind(int Register) const {
  std::vector<LoadedPart> Out;
  for (int R : registersBehind(Register, /*AsIndex=*/true))
    for (unsigned At : Writes[size_t(R)])
      if (const MicroOp &Op = Ops[At]; Op.Op == Opcode::Ld && !Op.Float && Op.Address >= 0)
        for (size_t D = Op.FirstDest; D < Op.FirstDest + Op.DestCount; ++D)
          if (Slots[D] == R)
            Out.push_back({&Op, D});
  return Out;
}

/// `for (z = max(c - 1, 0); z <= min(c + 1, n - 1); ++z)`: whatever c is, that is three times.
/// `for (z = int((x - r) / h); z <= int((x + r) / h); ++z)`: as often, if cells are about as large as what is looked for.
void Program::findTied() {
  for (LoopInfo &L : Loops) {
    if (!L.Inductions.Test || L.Runs)
      continue;
    const std::vector<int> First = dataBehind(L.Inductions.Test->Counter, /*Converted=*/true), Bound = dataBehind(L.Bound, true);
    L.Tied = !Bound.empty() && llvm::all_of(Bound, [&](int R) { return llvm::is_contained(First, R); });
    if (L.Tied)
      continue;
    const std::vector<int> Loaded = dataBehind(L.Inductions.Test->Counter, /*Converted=*/false);
    L.Window = Loaded.size() == 1 && Loaded == dataBehind(L.Bound, false);
  }
}

bool Program::isNextEntry(const LoadedPart &A, const LoadedPart &B) {
  const bool IsAlone = A.Load->DestCount == 1 && B.Load->DestCount == 1;
  return IsAlone && A.Load->Address == B.Load->Address && B.Load->Offset == A.Load->Offset + A.Load->ElementBytes;
}

std::optional<std::pair<RunBound, RunBound>> Program::boundsOf(const LoadedPart &A, const LoadedPart &B) const {
  if (areAdded(Slots[A.Dest], Slots[B.Dest]))
    return areMembersOfOneEntry(*A.Load, *B.Load) ? std::optional(std::pair(RunBound::OwnBegin, RunBound::OwnCount)) : std::nullopt;
  if (isNextEntry(A, B))
    return std::pair(RunBound::Begin, RunBound::Next);
  return areOfOneEntry(*A.Load, *B.Load) ? std::optional(std::pair(RunBound::OwnBegin, RunBound::OwnEnd)) : std::nullopt;
}

/// As where a search begins is, and how many elements it goes through is not.
bool Program::isCopied(Slot A) const {
  return Writes[size_t(A)].size() > 1 || llvm::any_of(Ops, [&](const MicroOp &Op) { return Op.Op == Opcode::Mov && llvm::is_contained(sources(Op), A); });
}

/// The `first` of `for (k = 0; k < count; ++k)` over `p[first + k]`, for the loop's \p Count.
std::optional<Program::LoadedPart> Program::beginOfCounted(unsigned Loop, const LoadedPart &Count) const {
  const std::vector<Induction> &Inductions = Loops[Loop].Inductions.Registers;
  for (unsigned Block : C.Loops[Loop].Blocks)
    for (unsigned At = C.Blocks[Block].Begin; At < C.Blocks[Block].End; ++At) {
      const Slot Address = F.Body[At].isMemory() ? Ops[At].Address : -1;
      if (Address < 0 || Address >= Slot(Registers))
        continue;
      const std::vector<int> Behind = registersBehind(Address, /*AsIndex=*/true);
      if (llvm::none_of(Inductions, [&](const Induction &I) { return llvm::is_contained(Behind, I.Reg); }))
        continue;
      for (const LoadedPart &First : loadsBehind(Address))
        if (First.Dest != Count.Dest && Targets[First.Dest].Position >= 0 &&
            RunBounds[First.Dest] == RunBound::None && areMembersOfOneEntry(*First.Load, *Count.Load))
          return First;
    }
  return std::nullopt;
}

/// `for (i = starts[r]; i < starts[r + 1]; ...)`, `for (i = starts[r]; i < ends[r]; ...)`,
/// `for (i = starts[r]; i < starts[r] + counts[r]; ...)` and `for (k = 0; k < counts[r]; ...)` with
/// `i = starts[r] + k`, where i is an index of another array; and searches from starts[r] on.
void Program::findRuns() {
  RunBounds.assign(Slots.size(), RunBound::None);
  auto isNew = [&](const LoadedPart &A, const LoadedPart &B) {
    const bool AreAlike = A.Load->ElementBytes == B.Load->ElementBytes || areAdded(Slots[A.Dest], Slots[B.Dest]); // a count may have fewer bytes
    return AreAlike && A.Dest != B.Dest && RunBounds[A.Dest] == RunBound::None && RunBounds[B.Dest] == RunBound::None;
  };
  using Bounds = std::pair<RunBound, RunBound>;
  auto mark = [&](const LoadedPart &A, const LoadedPart &B, Bounds Are) {
    Targets[A.Dest] = Targets[B.Dest] = Targets[Targets[A.Dest].Position >= 0 ? A.Dest : B.Dest];
    std::tie(RunBounds[A.Dest], RunBounds[B.Dest]) = Are;
  };
  for (unsigned Loop = 0; Loop < Loops.size(); ++Loop) {
    LoopInfo &L = Loops[Loop];
    if (!L.Inductions.Test)
      continue;
    std::vector<LoadedPart> Behind = loadsBehind(L.Inductions.Test->Counter); // a loop that counts down has all behind its bound
    llvm::append_range(Behind, loadsBehind(L.Bound));
    for (const LoadedPart &A : Behind)
      for (const LoadedPart &B : Behind) {
        const bool IsIndex = Targets[A.Dest].Position >= 0, IsOther = Targets[B.Dest].Position >= 0;
        const std::optional<Bounds> Are = (IsIndex || IsOther) && isNew(A, B) ? boundsOf(A, B) : std::nullopt;
        if (Are && (Are->second == RunBound::Next || (IsIndex && !IsOther)))
          mark(A, B, *Are), L.Runs = true;
      }
    const bool IsCount = Behind.size() == 1 && Targets[Behind[0].Dest].Position < 0 && RunBounds[Behind[0].Dest] == RunBound::None;
    if (const std::optional<LoadedPart> First = IsCount ? beginOfCounted(Loop, Behind[0]) : std::nullopt)
      mark(*First, Behind[0], {RunBound::OwnBegin, RunBound::OwnCount}), L.Runs = true;
  }
  for (const Span &S : Spans) {
    if (!isNew(S.First, S.Second))
      continue;
    const bool IsCount = areAdded(Slots[S.First.Dest], Slots[S.Second.Dest]);
    const bool Swaps = IsCount ? !isCopied(Slots[S.First.Dest]) && isCopied(Slots[S.Second.Dest]) : isNextEntry(S.Second, S.First);
    const auto [A, B] = Swaps ? std::pair(S.Second, S.First) : std::pair(S.First, S.Second);
    if (const std::optional<Bounds> Are = boundsOf(A, B)) {
      Targets[A.Dest] = {S.Array.first, S.Array.second};
      mark(A, B, *Are);
    }
  }
}

std::optional<Program::GivenPointer> Program::pointerOf(const MicroOp &Op, int Register) const {
  if (Op.Op != Opcode::LdParam || Op.ElementBytes != 8)
    return std::nullopt;
  const auto [P, Offset] = parameterOf(Op);
  return P && (P->IsPointer || Op.IsPointer) ? std::optional(GivenPointer(P->Position, Offset / 8 + partOf(Op, Register))) : std::nullopt;
}

std::set<Program::GivenPointer> Program::pointersBehind(int Register) const {
  std::set<GivenPointer> Out;
  for (int R : registersBehind(Register, /*AsIndex=*/true))
    for (unsigned At : Writes[size_t(R)])
      if (const std::optional<GivenPointer> Pointer = pointerOf(Ops[At], R))
        Out.insert(*Pointer);
  return Out;
}

std::set<int> Program::parametersBehind(int Register) const {
  std::set<int> Out;
  for (const auto &[Position, Word] : pointersBehind(Register))
    Out.insert(Position);
  return Out;
}

/// `cell = cells[cellOf(particles[i].position)]; for (j = cell.begin; j < cell.end; ++j) … particles[j]`.
void Program::findOrderByRuns() {
  for (const MicroOp &Bound : Ops)
    for (size_t D = Bound.FirstDest; Bound.Op == Opcode::Ld && D < Bound.FirstDest + Bound.DestCount; ++D) {
      if ((RunBounds[D] != RunBound::Begin && RunBounds[D] != RunBound::OwnBegin) || Targets[D].Position < 0)
        continue;
      for (int R : dataBehind(Bound.Address, /*Converted=*/false))
        for (unsigned At : Writes[size_t(R)])
          ElementsLieByRuns |= Ops[At].Op == Opcode::Ld && dataBehind(Ops[At].Address, true).empty() &&
                               parametersBehind(Ops[At].Address) == std::set{int(Targets[D].Position)};
    }
}

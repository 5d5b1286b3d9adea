// Runs of elements that loops go through: of an array in compressed rows, or of the
// particles of a cell. What says where they begin and end is loaded.
#include "ptx/execute/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace restride::ptx;

/// Both are of one entry: the same offset is added to the begins of two arrays, or to one of records.
bool Program::areOfOneEntry(const MicroOp &A, const MicroOp &B) const {
  if (A.Address == B.Address)
    return true;
  auto sum = [&](Slot S) -> llvm::ArrayRef<Slot> {
    const bool IsRegister = S >= 0 && S < Slot(Registers) && Writes[size_t(S)].size() == 1;
    const MicroOp *Op = IsRegister ? &Ops[Writes[size_t(S)][0]] : nullptr;
    return Op && Op->Op == Opcode::Add ? llvm::ArrayRef(Slots).slice(Op->FirstSrc, Op->SrcCount) : llvm::ArrayRef<Slot>();
  };
  return A.Offset == B.Offset && llvm::any_of(sum(A.Address), [&](Slot S) {
    return S >= 0 && S < Slot(Registers) && llvm::is_contained(sum(B.Address), S);
  });
}

/// As a begin and a number of elements are, and a begin and an end are not.
bool Program::areAdded(Slot A, Slot B) const {
  return llvm::any_of(Ops, [&](const MicroOp &Op) {
    const auto Sources = llvm::ArrayRef(Slots).slice(Op.FirstSrc, Op.SrcCount);
    return Op.Op == Opcode::Add && llvm::is_contained(Sources, A) && llvm::is_contained(Sources, B);
  });
}

std::vector<Program::LoadedPart> Program::loadsBehind(int Register) const {
  std::vector<LoadedPart> Out;
  for (int R : registersBehind(Register))
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

/// `for (i = starts[r]; i < starts[r + 1]; ...)`, `for (i = starts[r]; i < ends[r]; ...)` and
/// `for (i = starts[r]; i < starts[r] + counts[r]; ...)`, where i is an index of another array.
void Program::findRuns() {
  RunBounds.assign(Slots.size(), RunBound::None);
  for (LoopInfo &L : Loops) {
    if (!L.Inductions.Test)
      continue;
    auto mark = [&](const LoadedPart &A, RunBound Begins, const LoadedPart &B, RunBound Ends) {
      Targets[A.Dest] = Targets[B.Dest] = Targets[Targets[A.Dest].Position >= 0 ? A.Dest : B.Dest];
      RunBounds[A.Dest] = Begins;
      RunBounds[B.Dest] = Ends;
      L.Runs = true;
    };
    std::vector<LoadedPart> Behind = loadsBehind(L.Inductions.Test->Counter); // a loop that counts down has all behind its bound
    llvm::append_range(Behind, loadsBehind(L.Bound));
    for (const LoadedPart &A : Behind)
      for (const LoadedPart &B : Behind) {
        const bool IsNew = RunBounds[A.Dest] == RunBound::None && RunBounds[B.Dest] == RunBound::None;
        if (A.Dest == B.Dest || A.Load->ElementBytes != B.Load->ElementBytes || !IsNew)
          continue;
        const bool IsCount = areAdded(Slots[A.Dest], Slots[B.Dest]), IsAlone = A.Load->DestCount == 1 && B.Load->DestCount == 1;
        if (IsAlone && A.Load->Address == B.Load->Address && B.Load->Offset == A.Load->Offset + A.Load->ElementBytes && !IsCount &&
            (Targets[A.Dest].Position >= 0 || Targets[B.Dest].Position >= 0))
          mark(A, RunBound::Begin, B, RunBound::Next);
        else if (Targets[A.Dest].Position >= 0 && Targets[B.Dest].Position < 0 && areOfOneEntry(*A.Load, *B.Load)) // the begin is an index
          mark(A, RunBound::OwnBegin, B, IsCount ? RunBound::OwnCount : RunBound::OwnEnd);
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
  for (int R : registersBehind(Register, /*ThroughFloats=*/false))
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

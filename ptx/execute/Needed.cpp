// Backwards from where values show: addresses, guards, branches, loop counters,
// and what is stored where a load may read it back. By registers and not by
// definitions: a register that is needed anywhere is computed everywhere.
#include "ptx/execute/Needed.h"

#include "ptx/execute/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace restride::ptx;

namespace {

class NeededSearch {
public:
  explicit NeededSearch(const Program &P) : P(P), Needed(P.Registers), Writers(P.Registers) {
    for (auto [I, Op] : llvm::enumerate(P.Ops))
      for (Slot To : destinations(Op))
        if (isRegister(To))
          Writers[size_t(To)].push_back(unsigned(I));
  }

  llvm::BitVector run() {
    for (const MicroOp &Op : P.Ops)
      roots(Op);
    for (const LoopInfo &L : P.Loops)
      roots(L);
    while (!Work.empty())
      for (unsigned At : Writers[size_t(Work.pop_back_val())])
        if (P.Ops[At].Op != Opcode::Ld) // its address is needed anyway
          addSources(P.Ops[At]);
    return std::move(Needed);
  }

  llvm::ArrayRef<Slot> destinations(const MicroOp &Op) const {
    return llvm::ArrayRef(P.Slots).slice(Op.FirstDest, Op.DestCount);
  }

private:
  bool isRegister(Slot S) const { return S >= 0 && unsigned(S) < P.Registers; }

  void add(Slot S) {
    if (!isRegister(S) || Needed[unsigned(S)])
      return;
    Needed.set(unsigned(S));
    Work.push_back(S);
  }

  void addSources(const MicroOp &Op) {
    for (Slot S : llvm::ArrayRef(P.Slots).slice(Op.FirstSrc, Op.SrcCount))
      add(S);
  }

  void roots(const MicroOp &Op) {
    add(Op.Guard);
    add(Op.Address);
    switch (Op.Op) {
    case Opcode::BrxIdx:
    case Opcode::StParam:
      return addSources(Op);
    case Opcode::St:
      if (Op.Mem != Space::Global)
        addSources(Op);
      return;
    case Opcode::Add:
    case Opcode::Sub:
      if (Op.Variant) { // a carry is no register
        addSources(Op);
        for (Slot To : destinations(Op))
          add(To);
      }
      return;
    default:
      return;
    }
  }

  void roots(const LoopInfo &L) {
    add(L.Bound);
    for (const Induction &I : L.Inductions.Registers) {
      add(I.Reg);
      steps(I.By);
    }
    if (const std::optional<ExitTest> &T = L.Inductions.Test) {
      add(T->Index);
      add(T->Counter);
      for (const Step *S : {&T->By, &T->SinceCompare, &T->BeforeTest})
        steps(*S);
    }
  }

  void steps(const Step &S) {
    for (const Step::Term &T : S.Terms)
      add(T.Reg);
  }

  const Program &P;
  llvm::BitVector Needed; ///< per register
  std::vector<std::vector<unsigned>> Writers;
  llvm::SmallVector<Slot, 64> Work;
};

} // namespace

/// Whether \p Op does something beside setting registers.
static bool actsItself(const MicroOp &Op) {
  switch (Op.Op) {
  case Opcode::Ld:
  case Opcode::St:
  case Opcode::Atom:
  case Opcode::Red:
  case Opcode::CpAsync:
  case Opcode::LdParam:
  case Opcode::StParam:
  case Opcode::Bra:
  case Opcode::BrxIdx:
  case Opcode::Call:
  case Opcode::Ret:
  case Opcode::Exit:
  case Opcode::Trap:
    return true;
  default:
    return false;
  }
}

void restride::ptx::dropUnneeded(Program &P) {
  NeededSearch S(P);
  const llvm::BitVector Needed = S.run();
  auto isUnneeded = [&](Slot To) { return To < 0 || (unsigned(To) < P.Registers && !Needed[unsigned(To)]); };
  for (MicroOp &Op : P.Ops) {
    bool All = true;
    for (Slot &To : llvm::MutableArrayRef(P.Slots).slice(Op.FirstDest, Op.DestCount))
      if (isUnneeded(To))
        To = -1;
      else
        All = false;
    if (All)
      Op.DestCount = 0;
    Op.IsIdle = All && !actsItself(Op);
  }
}

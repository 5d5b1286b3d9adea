#include "ptx/flow/ControlFlow.h"

#include "ptx/flow/FlowGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace restride::ptx;

unsigned ControlFlow::blockOf(unsigned Instruction) const {
  auto After = llvm::upper_bound(Blocks, Instruction, [](unsigned I, const Block &B) { return I < B.Begin; });
  return After == Blocks.begin() ? 0 : unsigned(After - Blocks.begin()) - 1;
}

bool ControlFlow::inLoop(unsigned Block, int Wanted) const {
  int L = LoopOf[Block];
  while (L >= 0 && L != Wanted)
    L = Loops[L].Parent;
  return L >= 0;
}

bool restride::ptx::leavesLoop(const ControlFlow &C, const Loop &L, unsigned Block) {
  return !llvm::all_of(C.Blocks[Block].Succs, [&](unsigned S) { return llvm::is_contained(L.Blocks, S); });
}

static bool endsBlock(const Instruction &I) {
  switch (I.Op) {
  case Opcode::Bra:
  case Opcode::BrxIdx:
  case Opcode::Ret:
  case Opcode::Exit:
  case Opcode::Trap:
    return true;
  default:
    return false;
  }
}

namespace {

/// Branch targets of a function, by name.
class Targets {
public:
  explicit Targets(const Function &F) {
    for (const auto &[Name, Index] : F.Labels)
      IndexOf.try_emplace(Name, Index);
  }
  /// Instructions that \p I may jump to. A label that the function lacks, as
  /// only hand-made values can have, is left out.
  std::vector<unsigned> of(const Instruction &I) const {
    std::vector<unsigned> Out;
    if (I.Op == Opcode::Bra)
      add(I.Target, Out);
    if (I.Op == Opcode::BrxIdx)
      for (const std::string &Target : I.Targets)
        add(Target, Out);
    return Out;
  }

private:
  void add(llvm::StringRef Name, std::vector<unsigned> &Out) const {
    auto At = IndexOf.find(Name);
    if (At != IndexOf.end())
      Out.push_back(At->second);
  }
  llvm::StringMap<unsigned> IndexOf;
};

} // namespace

static std::vector<Block> splitBlocks(const Function &F, const Targets &T) {
  // Only labels that something jumps to start a block: compilers print many
  // more, to mark debug ranges.
  const unsigned Size = unsigned(F.Body.size());
  std::vector<bool> Starts(Size + 1);
  Starts[0] = true;
  for (unsigned I = 0; I < Size; ++I) {
    for (unsigned Target : T.of(F.Body[I]))
      Starts[std::min(Target, Size)] = true;
    if (endsBlock(F.Body[I]) && I + 1 < Size)
      Starts[I + 1] = true;
  }
  std::vector<Block> Blocks;
  for (unsigned I = 0; I <= Size; ++I) {
    if (!Starts[I])
      continue;
    if (!Blocks.empty())
      Blocks.back().End = I;
    Blocks.push_back({I, Size, {}, {}});
  }
  return Blocks;
}

static void connect(const Function &F, const Targets &T, ControlFlow &C) {
  auto Connect = [&](unsigned From, unsigned To) {
    if (llvm::is_contained(C.Blocks[From].Succs, To))
      return;
    C.Blocks[From].Succs.push_back(To);
    C.Blocks[To].Preds.push_back(From);
  };
  for (unsigned B = 0; B < C.Blocks.size(); ++B) {
    const Block &Here = C.Blocks[B];
    const Instruction *Last = Here.Begin == Here.End ? nullptr : &F.Body[Here.End - 1];
    if (Last)
      for (unsigned Target : T.of(*Last))
        Connect(B, C.blockOf(Target));
    const bool Stops = Last && endsBlock(*Last) && Last->Guard < 0;
    if (!Stops && B + 1 < C.Blocks.size()) {
      // A jump to the next instruction is one edge, and a fall-through.
      std::erase(C.Blocks[B].Succs, B + 1);
      std::erase(C.Blocks[B + 1].Preds, B);
      Connect(B, B + 1);
    }
  }
}

ControlFlow restride::ptx::controlFlow(const Function &F) {
  ControlFlow C;
  const Targets T(F);
  C.Blocks = splitBlocks(F, T);
  connect(F, T, C);
  for (const Instruction &I : F.Body)
    if (I.Op == Opcode::Call && I.Target.empty()) {
      C.Warnings.push_back("a call through a register: its callee is not followed");
      break;
    }
  findDominatorsAndLoops(C);
  return C;
}

std::string restride::ptx::dump(const Function &F, const ControlFlow &C) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OS << F.Name << '\n';
  for (unsigned B = 0; B < C.Blocks.size(); ++B) {
    const Block &Here = C.Blocks[B];
    OS << "  block " << B << " [" << Here.Begin << ", " << Here.End << ") ->";
    for (unsigned S : Here.Succs)
      OS << ' ' << S;
    OS << " idom " << C.Idom[B] << " ipdom " << C.Ipdom[B] << " loop " << C.LoopOf[B] << '\n';
  }
  for (unsigned L = 0; L < C.Loops.size(); ++L) {
    const Loop &Here = C.Loops[L];
    OS << "  loop " << L << " header " << Here.Header << " depth " << Here.Depth << " parent " << Here.Parent
       << " blocks";
    for (unsigned B : Here.Blocks)
      OS << ' ' << B;
    const TripCount Trips = tripCount(F, C, Here);
    if (Trips.K == TripCount::Constant)
      OS << " trips " << *Trips.Trips << " step " << Trips.Step;
    else if (Trips.K == TripCount::Parametric)
      OS << " trips by register " << F.Registers[Trips.InductionRegister] << " step " << Trips.Step;
    else
      OS << " trips unknown: " << Trips.Why;
    OS << '\n';
  }
  for (const std::string &W : C.Warnings)
    OS << "  warning: " << W << '\n';
  return Text;
}

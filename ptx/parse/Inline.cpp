#include "ptx/parse/Inline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace restride::ptx;

namespace {

class Inliner {
public:
  Inliner(const Module &M, unsigned MaxInstructions) : MaxInstructions(MaxInstructions) {
    for (const Function &F : M.Functions)
      FunctionNamed.try_emplace(F.Name, &F);
  }
  Function run(const Function &F);

private:
  /// How the names of one expanded body read in the result.
  struct Names {
    std::string Prefix; ///< of labels; empty: the outermost function
    int FirstRegister = 0;
    llvm::StringMap<std::string> Renamed; ///< parameters, results, local variables
  };
  void expand(const Function &F, const Instruction *Call, Names &N);
  const Function *callee(const Instruction &I) const;
  Names bind(const Function &Callee, const Instruction &Call, const Names &Caller);
  void addVariables(const Function &F, Names &N);
  static void rename(Operand &Op, const Names &N);
  static void rename(Instruction &I, const Names &N);

  const unsigned MaxInstructions;
  llvm::StringMap<const Function *> FunctionNamed;
  std::vector<const Function *> Stack;
  Function Out;
  unsigned Expansions = 0;
};

} // namespace

const Function *Inliner::callee(const Instruction &I) const {
  if (I.Op != Opcode::Call || I.Guard >= 0)
    return nullptr;
  const Function *F = FunctionNamed.lookup(I.Target);
  if (!F || llvm::is_contained(Stack, F) || Out.Body.size() + F->Body.size() > MaxInstructions)
    return nullptr;
  auto IsName = [](const Operand &Op) { return Op.K == Operand::Symbol; };
  const bool Binds = I.Src.size() == F->Params.size() && I.Dest.size() == F->Results.size() &&
                     llvm::all_of(I.Src, IsName) && llvm::all_of(I.Dest, IsName);
  return Binds ? F : nullptr;
}

void Inliner::rename(Operand &Op, const Names &N) {
  if (Op.Reg >= 0)
    Op.Reg += N.FirstRegister;
  if (Op.Name.empty())
    return;
  if (auto At = N.Renamed.find(Op.Name); At != N.Renamed.end())
    Op.Name = At->second;
}

void Inliner::rename(Instruction &I, const Names &N) {
  for (Operand &Op : I.Dest)
    rename(Op, N);
  for (Operand &Op : I.Src)
    rename(Op, N);
  if (I.Addr)
    rename(*I.Addr, N);
  if (I.Guard >= 0)
    I.Guard += N.FirstRegister;
  if (I.Op == Opcode::Bra)
    I.Target = N.Prefix + I.Target;
  for (std::string &Target : I.Targets)
    Target = N.Prefix + Target;
}

Inliner::Names Inliner::bind(const Function &Callee, const Instruction &Call, const Names &Caller) {
  Names N;
  N.Prefix = Callee.Name + "@" + std::to_string(++Expansions) + ":";
  // The call's blocks are the callee's parameters and results.
  auto Map = [&](const std::vector<Parameter> &Formal, const std::vector<Operand> &Actual) {
    for (size_t I = 0; I < Formal.size(); ++I) {
      auto At = Caller.Renamed.find(Actual[I].Name);
      N.Renamed[Formal[I].Name] = At == Caller.Renamed.end() ? Actual[I].Name : At->second;
    }
  };
  Map(Callee.Params, Call.Src);
  Map(Callee.Results, Call.Dest);
  return N;
}

void Inliner::addVariables(const Function &F, Names &N) {
  N.FirstRegister = int(Out.Registers.size());
  for (const std::string &Register : F.Registers)
    Out.Registers.push_back(N.Prefix + Register);
  for (Variable V : F.Variables) {
    if (V.Mem == Space::Local || V.Mem == Space::Param) {
      // Each expansion has its own; shared and global ones are one per module.
      std::string Own = N.Prefix + V.Name;
      N.Renamed[V.Name] = Own;
      V.Name = std::move(Own);
    } else if (llvm::any_of(Out.Variables, [&](const Variable &Old) { return Old.Name == V.Name; })) {
      continue;
    }
    Out.Variables.push_back(std::move(V));
  }
}

void Inliner::expand(const Function &F, const Instruction *Call, Names &N) {
  Stack.push_back(&F);
  addVariables(F, N);
  const std::string End = N.Prefix + "end";
  size_t Label = 0;
  for (size_t Index = 0; Index <= F.Body.size(); ++Index) {
    for (; Label < F.Labels.size() && F.Labels[Label].second <= Index; ++Label)
      Out.Labels.emplace_back(N.Prefix + F.Labels[Label].first, unsigned(Out.Body.size()));
    if (Index == F.Body.size())
      break;
    const Instruction &Original = F.Body[Index];
    if (const Function *Callee = callee(Original)) {
      Names Inner = bind(*Callee, Original, N);
      Instruction Site = Original;
      if (Call) {
        Site.InlinedAt.push_back(Call->Loc);
        llvm::append_range(Site.InlinedAt, Call->InlinedAt);
      }
      expand(*Callee, &Site, Inner);
      continue;
    }
    Instruction I = Original;
    rename(I, N);
    if (Call) {
      I.InlinedAt.push_back(Call->Loc);
      llvm::append_range(I.InlinedAt, Call->InlinedAt);
    }
    if (Call && I.Op == Opcode::Ret) {
      if (Index + 1 == F.Body.size() && I.Guard < 0)
        continue; // falls out of the body anyway
      I.Op = Opcode::Bra;
      I.Mnemonic = "bra";
      I.Target = End;
    }
    Out.Body.push_back(std::move(I));
  }
  if (Call)
    Out.Labels.emplace_back(End, unsigned(Out.Body.size()));
  Stack.pop_back();
}

Function Inliner::run(const Function &F) {
  if (llvm::none_of(F.Body, [](const Instruction &I) { return I.Op == Opcode::Call; }))
    return F;
  Out = Function();
  Out.Name = F.Name;
  Out.IsEntry = F.IsEntry;
  Out.Params = F.Params;
  Out.Results = F.Results;
  Out.MaxThreads = F.MaxThreads;
  Out.MinBlocks = F.MinBlocks;
  Out.MaxRegs = F.MaxRegs;
  Names N;
  expand(F, nullptr, N);
  return std::move(Out);
}

Function restride::ptx::inlineCalls(const Module &M, const Function &F, unsigned MaxInstructions) {
  return Inliner(M, MaxInstructions).run(F);
}

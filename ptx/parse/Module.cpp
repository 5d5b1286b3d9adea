#include "ptx/parse/Module.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace restride::ptx;
using llvm::StringRef;

std::optional<unsigned> Function::label(StringRef Wanted) const {
  for (const auto &[LabelName, Index] : Labels)
    if (LabelName == Wanted)
      return Index;
  return std::nullopt;
}

const Function *Module::find(StringRef Wanted) const {
  auto At = llvm::find_if(Functions, [&](const Function &F) { return F.Name == Wanted; });
  return At == Functions.end() ? nullptr : &*At;
}

static void print(llvm::raw_ostream &OS, const Function &F, const Operand &Op) {
  if (Op.Negated)
    OS << '!';
  switch (Op.K) {
  case Operand::Register:
    OS << (Op.Reg < 0 ? "_" : F.Registers[Op.Reg]);
    return;
  case Operand::Immediate:
    OS << Op.Imm;
    return;
  case Operand::FloatImmediate:
    OS << "0f" << llvm::utohexstr(uint64_t(Op.Imm));
    return;
  case Operand::Symbol:
    OS << Op.Name;
    if (Op.Imm)
      OS << '+' << Op.Imm;
    return;
  case Operand::Address:
    OS << '[' << (Op.Reg < 0 ? Op.Name : F.Registers[Op.Reg]);
    if (Op.Imm)
      OS << (Op.Imm > 0 ? "+" : "") << Op.Imm;
    OS << ']';
  }
}

static void print(llvm::raw_ostream &OS, const Function &F, llvm::ArrayRef<Operand> Ops) {
  llvm::interleaveComma(Ops, OS, [&](const Operand &Op) { print(OS, F, Op); });
}

static void print(llvm::raw_ostream &OS, const SourceLocation &Loc) {
  OS << Loc.File << ':' << Loc.Line << ':' << Loc.Column;
}

static void print(llvm::raw_ostream &OS, const Function &F, const Instruction &I) {
  if (I.Guard >= 0)
    OS << '@' << (I.GuardNegated ? "!" : "") << F.Registers[I.Guard] << ' ';
  if (I.Op == Opcode::Unknown)
    OS << "? ";
  OS << I.Mnemonic;
  if (!I.Dest.empty()) {
    OS << ' ';
    print(OS, F, I.Dest);
    OS << " <-";
  }
  if (I.Addr) {
    OS << ' ';
    print(OS, F, *I.Addr);
  }
  if (!I.Src.empty()) {
    OS << ' ';
    print(OS, F, I.Src);
  }
  if (!I.Targets.empty())
    OS << " -> " << llvm::join(I.Targets, ", ");
  else if (!I.Target.empty())
    OS << " -> " << I.Target;
  if (I.Loc.Line) {
    OS << " ; ";
    print(OS, I.Loc);
    for (const SourceLocation &Site : I.InlinedAt) {
      OS << " @ ";
      print(OS, Site);
    }
  }
}

static StringRef spelling(Space S) {
  switch (S) {
  case Space::None:
    return "none";
  case Space::Param:
    return "param";
  case Space::Global:
    return "global";
  case Space::Shared:
    return "shared";
  case Space::Local:
    return "local";
  case Space::Const:
    return "const";
  case Space::Generic:
    return "generic";
  }
  return "";
}

static void print(llvm::raw_ostream &OS, const Variable &V) {
  OS << spelling(V.Mem) << ' ' << V.Name << ' ' << V.Bytes << " bytes, align " << V.Align << '\n';
}

static void print(llvm::raw_ostream &OS, llvm::ArrayRef<Parameter> Params) {
  llvm::interleaveComma(Params, OS, [&](const Parameter &P) { OS << P.Name << ':' << P.Bytes; });
}

std::string restride::ptx::dump(const Module &M) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OS << "target " << M.Target << '\n';
  for (size_t I = 1; I < M.Files.size(); ++I)
    OS << "file " << I << ' ' << M.Files[I] << '\n';
  for (const Variable &V : M.Variables)
    print(OS, V);
  for (const Function &F : M.Functions) {
    OS << (F.IsEntry ? "entry " : "func ") << F.Name << '(';
    print(OS, F.Params);
    OS << ')';
    if (!F.Results.empty()) {
      OS << " -> ";
      print(OS, F.Results);
    }
    if (F.MaxThreads || F.MinBlocks || F.MaxRegs)
      OS << " threads " << F.MaxThreads << " blocks " << F.MinBlocks << " registers " << F.MaxRegs;
    OS << '\n';
    for (const Variable &V : F.Variables) {
      OS << "  ";
      print(OS, V);
    }
    size_t Label = 0;
    for (size_t I = 0; I <= F.Body.size(); ++I) {
      for (; Label < F.Labels.size() && F.Labels[Label].second <= I; ++Label)
        OS << F.Labels[Label].first << ":\n";
      if (I == F.Body.size())
        break;
      OS << "  " << I << ": ";
      print(OS, F, F.Body[I]);
      OS << '\n';
    }
  }
  for (const std::string &W : M.Warnings)
    OS << "warning: " << W << '\n';
  return Text;
}

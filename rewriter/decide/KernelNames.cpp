#include "rewriter/decide/KernelNames.h"
#include "analysis/program/Assemble.h"
#include "rewriter/write/HelperCode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"

namespace restride {

std::string kernelName(llvm::StringRef Mangled) {
  std::string Full = llvm::demangle(Mangled);
  size_t End = Full.size();
  int Depth = 0;
  for (size_t I = 0; I < Full.size(); ++I) {
    Depth += (Full[I] == '<') - (Full[I] == '>');
    if (Full[I] == '(' && Depth == 0 && !llvm::StringRef(Full).substr(I).starts_with("(anonymous namespace)")) {
      End = I;
      break;
    }
  }
  llvm::StringRef Name = llvm::StringRef(Full).take_front(End);
  Name.consume_front("void ");
  return Name.str();
}

/// The arguments in "256, Pair<int, float>>".
static std::vector<llvm::StringRef> templateArguments(llvm::StringRef List) {
  std::vector<llvm::StringRef> Out;
  int Depth = 0;
  size_t Begin = 0;
  for (size_t I = 0; I < List.size() && Depth >= 0; ++I) {
    Depth += (List[I] == '<' || List[I] == '(') - (List[I] == '>' || List[I] == ')');
    if (Depth < 0 || (Depth == 0 && List[I] == ',')) {
      Out.push_back(List.slice(Begin, I).trim());
      Begin = I + 1;
    }
  }
  return Out;
}

/// What \p Name, "geo::clear<P, 256>", is called where it is written for its record alone: "geo::clear<256>".
static std::string nameForRecord(llvm::StringRef Name, const FunctionInstances &F) {
  auto [Function, List] = Name.split('<');
  std::vector<std::string> Kept;
  for (auto [I, Argument] : llvm::enumerate(templateArguments(List)))
    if (!llvm::is_contained(F.Made->Positions, I))
      Kept.push_back(Argument.str());
  std::string Out = F.Made->NewName.empty() ? Function.str() : Function.drop_back(F.Name.size()).str() + F.Made->NewName;
  return Kept.empty() ? Out : Out + "<" + llvm::join(Kept, ", ") + ">";
}

static bool hasWord(llvm::StringRef Text, llvm::StringRef Word) {
  auto IsPart = [](char C) { return llvm::isAlnum(C) || C == '_'; };
  for (size_t At = Text.find(Word); At != llvm::StringRef::npos; At = Text.find(Word, At + 1))
    if ((At == 0 || !IsPart(Text[At - 1])) && (At + Word.size() == Text.size() || !IsPart(Text[At + Word.size()])))
      return true;
  return false;
}

/// Another type takes the place of its record.
static bool moves(const Program &P, const Plan &Layouts, size_t I) { return Layouts[I] != catalogue().front() && !alignsInPlace(P, Layouts, I); }

/// The name that a template's kernel has in this plan.
static std::string kernelNameIn(const Launch &L, const Program &P, const Plan &Layouts) {
  std::string Name = kernelName(L.Kernel);
  for (const FunctionInstances &F : P.Functions)
    if (F.Made && llvm::is_contained(F.Instances, L.Instance))
      for (size_t I = 0; I < P.Candidates.size(); ++I)
        if (moves(P, Layouts, I) && respelledIn(P.Candidates[I], F))
          return nameForRecord(Name, F);
  return Name;
}

/// Types of the arrays that \p L gets and which moved.
static std::vector<std::string> handles(const Launch &L, const Program &P, const Plan &Layouts) {
  std::vector<std::string> Out;
  for (size_t I = 0; I < P.Candidates.size(); ++I) {
    const Candidate &C = P.Candidates[I];
    if (C.declared()) // no parameter
      continue;
    bool Takes = llvm::any_of(C.Kernels, [&](const KernelParameter &K) {
      return K.Kernel == L.Kernel && (K.Instance == L.Instance || !K.Instance || !L.Instance);
    });
    if (Takes && moves(P, Layouts, I))
      Out.push_back(handleName(C.Type, *Layouts[I], P.Identifiers));
  }
  return Out;
}

std::string functionOf(const Launch &L, const ptx::Module &M, const Program &P, const Plan &Layouts) {
  std::vector<std::string> Handles = handles(L, P, Layouts);
  std::string Name = kernelNameIn(L, P, Layouts);
  std::vector<std::string> Same, Fit;
  for (const ptx::Function &F : M.Functions)
    if (F.IsEntry && kernelName(F.Name) == Name)
      Same.push_back(F.Name);
  for (const std::string &F : Same) {
    std::string Full = llvm::demangle(F);
    if (llvm::all_of(Handles, [&](const std::string &H) { return hasWord(Full, llvm::StringRef(H).rsplit(':').second.empty() ? H : llvm::StringRef(H).rsplit(':').second); }))
      Fit.push_back(F);
  }
  if (llvm::is_contained(Same, L.Kernel) && (Handles.empty() || Fit.empty()))
    return L.Kernel; // also where the array comes inside of a struct
  const std::vector<std::string> &Left = Fit.empty() ? Same : Fit;
  // Overloads keep their order.
  size_t Nth = 0;
  std::string Before;
  for (const Launch &Other : P.Launches) {
    if (Other.Kernel == L.Kernel)
      break;
    Nth += kernelName(Other.Kernel) == Name && Other.Kernel != Before;
    Before = Other.Kernel;
  }
  if (Left.empty())
    return "";
  return Nth < Left.size() ? Left[Nth] : Left.size() == 1 ? Left.front() : "";
}

} // namespace restride

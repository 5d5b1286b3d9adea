#include "rewriter/views/ScoreTable.h"
#include "rewriter/views/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace restride {
using namespace llvm;

static constexpr size_t MaxCell = 20;   // columns; longer kernel names are cut
static constexpr size_t KernelCellMin = 12;

static std::string cut(std::string Name) {
  if (Name.size() > MaxCell)
    Name = Name.substr(0, MaxCell - 2) + "..";
  return Name;
}

static const Report::Kernel *find(const Report::Variant &V, StringRef Kernel) {
  for (const Report::Kernel &K : V.Kernels)
    if (K.Name == Kernel)
      return &K;
  return nullptr;
}

/// The kernels that get a column of their own, in the order of the source.
static std::vector<std::string> columns(const Report::Candidate &C, bool &Others) {
  std::vector<std::pair<double, std::string>> ByCost;
  for (const Report::Kernel &K : C.Variants.front().Kernels)
    ByCost.push_back({K.Cycles * K.Calls, K.Name});
  stable_sort(ByCost, [](const auto &A, const auto &B) { return A.first > B.first; });

  size_t Left = MaxWidth - 50; // layout, copies, total, speedup, others and gaps
  std::vector<std::string> Chosen;
  for (const auto &[Cost, Name] : ByCost) {
    size_t Width = std::max(KernelCellMin, cut(Name).size()) + 2;
    if (Width > Left)
      break;
    Left -= Width;
    Chosen.push_back(Name);
  }
  Others = Chosen.size() < ByCost.size();
  std::vector<std::string> Result;
  for (const Report::Kernel &K : C.Variants.front().Kernels)
    if (is_contained(Chosen, K.Name))
      Result.push_back(K.Name);
  return Result;
}

static std::vector<std::string> cells(const Report::Variant &V, const Report::Candidate &C,
                                      ArrayRef<std::string> Kernels, bool Others) {
  std::vector<std::string> Row = {(V.Layout == C.Winner ? "* " : "  ") + V.Layout};
  double Rest = V.PredictedCycles;
  for (const std::string &Name : Kernels) {
    const Report::Kernel *K = find(V, Name);
    Row.push_back(K ? spellCount(K->Cycles * K->Calls) + " " + K->BoundBy : "?");
    Rest -= K ? K->Cycles * K->Calls : 0;
  }
  if (Others)
    Row.push_back(spellCount(std::max(0.0, Rest)));
  double Total = V.PredictedCycles + V.ConversionCycles;
  const Report::Variant &Source = C.Variants.front();
  double Speedup = (Source.PredictedCycles + Source.ConversionCycles) / Total;
  Row.push_back(spellCount(V.ConversionCycles));
  Row.push_back(spellCount(Total));
  Row.push_back(std::isfinite(Speedup) ? formatv("{0:f2}x", Speedup).str() : "?");
  return Row;
}

void printScoreTable(const Report::Candidate &C, raw_ostream &OS) {
  if (C.Variants.empty())
    return;
  bool Others = false;
  std::vector<std::string> Kernels = columns(C, Others);
  Table T;
  std::vector<std::string> Head = {"  layout"};
  for (const std::string &Name : Kernels)
    Head.push_back(cut(Name));
  if (Others)
    Head.push_back("others");
  Head.insert(Head.end(), {"copies", "total", "speedup"});
  T.row(Head);
  for (const Report::Variant &V : C.Variants)
    T.row(cells(V, C, Kernels, Others));
  OS << "  predicted cycles, all launches, and what bounds them:\n";
  T.print(OS);
}

} // namespace restride

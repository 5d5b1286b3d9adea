#include "rewriter/views/Explanation.h"
#include "rewriter/views/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <array>
#include <map>
#include <set>

namespace restride {
using namespace llvm;

namespace {

/// One kernel in one layout.
struct Column {
  const Report::Variant *V;
  const Report::Kernel *K;
};

/// What the warps of a kernel ask for in one line of the source.
struct LineUse {
  double Requests = 0; ///< per warp
  double Sectors = 0;  ///< per warp
  double Loads = 0, FromL1 = 0, FromL2 = 0, FromDram = 0;

  void add(const Report::Access &A) {
    Requests += A.RequestsPerWarp;
    Sectors += A.RequestsPerWarp * A.SectorsPerRequest;
    if (A.FromL1 + A.FromL2 + A.FromDram == 0)
      return;
    Loads += A.RequestsPerWarp;
    FromL1 += A.RequestsPerWarp * A.FromL1;
    FromL2 += A.RequestsPerWarp * A.FromL2;
    FromDram += A.RequestsPerWarp * A.FromDram;
  }
};

/// File, line and kind of accesses, in the order of the source.
struct LineKey {
  std::string File;
  unsigned Line;
  std::string Kind;
  auto operator<=>(const LineKey &) const = default;
};

using Term = std::pair<const char *, double Report::Terms::*>;

} // namespace

static constexpr std::array<Term, 5> AllTerms = {{{"issue", &Report::Terms::Issue},
                                                  {"l1", &Report::Terms::L1},
                                                  {"l2", &Report::Terms::L2},
                                                  {"dram", &Report::Terms::Dram},
                                                  {"latency", &Report::Terms::Latency}}};

static bool hasTerms(const Report::Kernel &K) {
  return any_of(AllTerms, [&](const Term &T) { return K.Parts.*T.second != 0; });
}

/// Kernel \p I of the source layout in all layouts that have it.
static std::vector<Column> columns(const Report::Candidate &C, size_t I) {
  StringRef Name = C.Variants.front().Kernels[I].Name;
  std::vector<Column> Out;
  for (const Report::Variant &V : C.Variants)
    if (I < V.Kernels.size() && V.Kernels[I].Name == Name)
      Out.push_back({&V, &V.Kernels[I]});
  return Out;
}

static std::string marked(const Report::Variant &V, const Report::Candidate &C) {
  return (V.Layout == C.Winner ? "* " : "  ") + V.Layout;
}

static void printTerms(const Report::Candidate &C, ArrayRef<Column> Columns, raw_ostream &OS) {
  Table T;
  std::vector<std::string> Head = {"  layout"};
  for (const Term &Each : AllTerms)
    Head.push_back(Each.first);
  Head.insert(Head.end(), {"cycles", "bound by", "L2 B", "DRAM B", "occupancy"});
  T.row(Head);
  for (const auto &[V, K] : Columns) {
    std::vector<std::string> Row = {marked(*V, C)};
    for (const Term &Each : AllTerms)
      Row.push_back(spellCount(K->Parts.*Each.second));
    Row.insert(Row.end(), {spellCount(K->Cycles), K->BoundBy, spellCount(K->L2Bytes), spellCount(K->DramBytes)});
    const Report::Residency &R = K->Resident;
    StringRef Limit = R.LimitedBy == "shared memory" ? "shared" : R.LimitedBy == "registers" ? "regs" : StringRef(R.LimitedBy);
    Row.push_back(R.Blocks ? formatv("{0:f0}% {1}", R.Occupancy * 100, Limit).str() : "?");
    T.row(Row);
  }
  T.print(OS);
}

/// The layouts that a reader compares: the source's, the winner or whoever comes
/// next, and structure of arrays.
static std::vector<Column> compared(const Report::Candidate &C, ArrayRef<Column> All) {
  static constexpr size_t Most = 3; // fit in a line
  std::vector<Column> Rest(All.drop_front());
  stable_sort(Rest, [&](const Column &A, const Column &B) {
    auto rank = [&](const Column &X) {
      return std::pair(X.V->Layout == C.Winner ? 0 : X.V->Layout == "soa" ? 1 : 2, X.K->Cycles);
    };
    return rank(A) < rank(B);
  });
  Rest.insert(Rest.begin(), All.front());
  Rest.resize(std::min(Rest.size(), Most));
  return Rest;
}

static std::string spellUse(const LineUse &U) {
  if (U.Requests == 0)
    return "-";
  std::string Out = spellCount(U.Requests) + " x " + formatv("{0:f1}", U.Sectors / U.Requests).str();
  if (U.Loads > 0)
    Out += formatv(" {0:f0}/{1:f0}/{2:f0}", 100 * U.FromL1 / U.Loads, 100 * U.FromL2 / U.Loads, 100 * U.FromDram / U.Loads);
  return Out;
}

/// Fields, cut to what a column holds.
static std::string spellFields(ArrayRef<std::string> Fields) {
  static constexpr size_t Widest = 14;
  std::string Out = join(Fields, " ");
  return Out.size() <= Widest ? Out : Out.substr(0, Widest - 2) + "..";
}

/// Lines of the source against layouts; empty if no access is known.
static Table accessTable(ArrayRef<Column> Columns) {
  std::map<LineKey, std::vector<LineUse>> Lines;
  std::map<LineKey, std::vector<std::string>> Fields;
  std::set<std::string> Files;
  for (auto [I, Column] : enumerate(Columns))
    for (const Report::Access &A : Column.K->Accesses) {
      LineKey Key{A.File, A.Line, A.Kind};
      std::vector<LineUse> &Uses = Lines[Key];
      Uses.resize(Columns.size());
      Uses[I].add(A);
      Files.insert(A.File);
      if (!A.Field.empty() && !is_contained(Fields[Key], A.Field))
        Fields[Key].push_back(A.Field);
    }
  Table T(/*Left=*/3);
  if (Lines.empty())
    return T;
  std::vector<std::string> Head = {"  line", "", "fields"};
  for (const Column &Each : Columns)
    Head.push_back(Each.V->Layout);
  T.row(Head);
  for (const auto &[Key, Uses] : Lines) {
    std::string Line = Key.Line ? std::to_string(Key.Line) : "?";
    if (Files.size() > 1 && Key.Line)
      Line = sys::path::filename(Key.File).substr(0, 14).str() + ":" + Line;
    std::vector<std::string> Row = {"  " + Line, Key.Kind, spellFields(Fields[Key])};
    for (const LineUse &U : Uses)
      Row.push_back(spellUse(U));
    T.row(Row);
  }
  return T;
}

static void printAccesses(ArrayRef<Column> Columns, raw_ostream &OS) {
  Table T = accessTable(Columns);
  while (T.width() > MaxWidth && Columns.size() > 1) {
    Columns = Columns.drop_back();
    T = accessTable(Columns);
  }
  if (T.width() == 0)
    return;
  OS << "    requests per warp x sectors (32 B) per request, % found in L1/L2/DRAM:\n";
  T.print(OS);
}

/// Why structure of arrays, which people expect to win, does not.
static void printWhySoaLost(const Report::Candidate &C, ArrayRef<Column> Columns, raw_ostream &OS) {
  auto named = [&](StringRef Layout) {
    return find_if(Columns, [&](const Column &Each) { return Each.V->Layout == Layout; });
  };
  const Column *Soa = named("soa"), *Winner = named(C.Winner);
  if (Soa == Columns.end() || Winner == Columns.end() || Soa->K->Cycles <= 1.03 * Winner->K->Cycles)
    return;
  auto more = [&](const Term &T) { return Soa->K->Parts.*T.second - Winner->K->Parts.*T.second; };
  Term Most = *std::max_element(AllTerms.begin(), AllTerms.end(), [&](const Term &A, const Term &B) { return more(A) < more(B); });
  OS << formatv("    soa takes {0:f2} times as long as {1}: {2} is {3} instead of {4}\n", Soa->K->Cycles / Winner->K->Cycles,
                C.Winner, Most.first, spellCount(Soa->K->Parts.*Most.second), spellCount(Winner->K->Parts.*Most.second));
}

/// A paragraph that fits the report's width.
static void printWrapped(StringRef Indent, StringRef Text, raw_ostream &OS) {
  std::string Line;
  StringRef Gap = Indent;
  for (StringRef Word : split(Text, ' ')) {
    if (!Line.empty() && Line.size() + 1 + Word.size() > MaxWidth) {
      OS << Line << '\n';
      Line = "  ";
      Gap = Indent;
    }
    Line += Gap.str() + Word.str();
    Gap = " ";
  }
  OS << Line << '\n';
}

static void printKernel(const Report::Candidate &C, ArrayRef<Column> Columns, raw_ostream &OS) {
  const Report::Kernel &K = *Columns.front().K;
  const Report::Residency &R = K.Resident;
  auto counted = [](double N, StringRef What) { return spellCount(N) + " " + What.str() + (N == 1 ? "" : What.ends_with("h") ? "es" : "s"); };
  std::string Head = "kernel " + K.Name + ", " + counted(K.Calls, "launch");
  if (R.Blocks)
    Head += " of " + counted(double(R.GridBlocks), "block") + " of " + counted(R.WarpsPerBlock, "warp") + ", " +
            counted(R.ThreadRegisters, "register") + " per thread" + (R.RegistersEstimated ? " (estimated)" : "");
  printWrapped("  ", Head + "; cycles of one launch by what could bind it, and joined:", OS);
  printTerms(C, Columns, OS);
  printAccesses(compared(C, Columns), OS);
  printWhySoaLost(C, Columns, OS);
  if (!K.Notes.empty())
    printWrapped("    ", "assumed: " + join(K.Notes, "; "), OS);
}

void printExplanation(const Report::Candidate &C, raw_ostream &OS) {
  if (C.Variants.empty())
    return;
  ArrayRef<Report::Kernel> Kernels = C.Variants.front().Kernels;
  for (size_t I = 0; I < Kernels.size(); ++I) {
    bool Again = any_of(Kernels.take_front(I), [&](const Report::Kernel &Other) { // launched elsewhere, with the same facts
      return Other.Name == Kernels[I].Name && Other.Cycles == Kernels[I].Cycles;
    });
    if (hasTerms(Kernels[I]) && !Again)
      printKernel(C, columns(C, I), OS);
  }
}

} // namespace restride

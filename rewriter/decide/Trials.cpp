#include "rewriter/decide/Trials.h"
#include "rewriter/decide/SizeNotes.h"
#include "rewriter/decide/VariantFiles.h"

#include "llvm/Support/ThreadPool.h"

namespace restride {

cost::Model modelOf(const Options &O) {
  return O.Model == CostModel::Thesis ? cost::Model::Thesis : cost::Model::Throughput;
}

double leastGain(const Options &O) { return O.Project.MinSpeedup.value_or(cost::DefaultMinSpeedup); }

std::vector<std::string> affectedKernels(const Program &P, size_t I) {
  std::vector<std::string> Out;
  for (const Candidate &C : P.Candidates)
    if (C.Where == P.Candidates[I].Where)
      for (const KernelParameter &K : C.Kernels)
        if (!llvm::is_contained(Out, K.Kernel))
          Out.push_back(K.Kernel);
  return Out;
}

void runTrial(Trial &T, size_t I, const DecideInput &In, VariantCompiler &Compiler, llvm::ArrayRef<std::string> Kernels) {
  const Candidate &C = In.P.Candidates[I];
  auto Refuse = [&](llvm::Error E, llvm::StringRef What) {
    T.Refused = Refusal{T.L->name().str(), C.Where, (What + llvm::toString(std::move(E))).str()};
  };
  llvm::Expected<Rewritten> Text = writeVariant(In.P, T.Layouts);
  if (!Text)
    return Refuse(Text.takeError(), "");
  T.Text = std::move(*Text);
  llvm::Expected<Compiled> Code = Compiler.compile(T.Text);
  if (!Code)
    return Refuse(Code.takeError(), T.L == catalogue().front() ? "it does not compile: " : "the rewritten program does not compile: ");
  T.Code = std::move(*Code);
  llvm::Expected<cost::Score> Score = scorePlan(In.P, T.Layouts, Kernels, T.Code, In.Gpu, modelOf(In.O));
  if (!Score)
    return Refuse(Score.takeError(), "it cannot be scored: ");
  T.Score = std::move(*Score);
}

Trial trial(size_t I, const Layout &L, const Plan &Base, const DecideInput &In) {
  Trial T;
  T.L = &L;
  T.Layouts = Base;
  T.Layouts[I] = &L;
  if (&L != catalogue().front())
    T.Refused = refusalOf(In.P.Candidates[I], L);
  if (T.Refused)
    T.Refused->Layout = L.name().str();
  return T;
}

static bool isAsked(llvm::StringRef Layout, const Options &O) {
  if (!O.Layout.empty() && O.EmitVariants.empty())
    return O.Layout == Layout;
  return O.Project.Layouts.empty() || llvm::is_contained(O.Project.Layouts, Layout);
}

static bool isTried(llvm::StringRef Layout, const DecideInput &In) {
  return isAsked(Layout, In.O) && (In.Only.empty() || llvm::is_contained(In.Only, Layout));
}

/// The groupings to try, once it is known how kernels use the fields.
static std::vector<Trial> groupedTrials(size_t I, const Plan &Base, const DecideInput &In, const Trial &Original) {
  std::vector<Trial> Out;
  const Record &R = In.P.Candidates[I].Type;
  if (isTried("grouped", In))
    for (const Grouping &G : groupings(R, fieldUse(In.P, Original.Score, Original.Text)))
      Out.push_back(trial(I, groupedLayout(R, G), Base, In));
  return Out;
}

/// Groupings that differ by less count as equal: the earlier is the simpler one.
static constexpr double EqualGroupings = 1.02;

/// The best of all groupings; one that is refused, where all are. The one that
/// the array has stays beside it.
static void keepBestGrouping(std::vector<Trial> &All, size_t First, const Layout *Found) {
  if (First == All.size())
    return;
  auto Best = std::min_element(All.begin() + First, All.end(), [](const Trial &L, const Trial &R) {
    return std::pair(L.Refused.has_value(), L.Score.total()) < std::pair(R.Refused.has_value(), R.Score.total());
  });
  auto Choice = std::find_if(All.begin() + First, All.end(), [&](const Trial &T) {
    return T.Refused.has_value() == Best->Refused.has_value() && T.Score.total() <= Best->Score.total() * EqualGroupings;
  });
  std::swap(All[First], *Choice);
  for (size_t I = All.size(); I-- > First + 1;)
    if (All[I].L != Found)
      All.erase(All.begin() + I);
}

const Layout *foundLayout(const DecideInput &In, size_t I) {
  auto At = In.Found.find(In.P.Candidates[I].Name);
  return At == In.Found.end() ? catalogue().front() : At->second;
}

/// The layout that the array has comes first, among groupings that count as equal too.
static void putFoundFirst(std::vector<Trial> &All, const Layout *Found) {
  auto At = llvm::find_if(All, [&](const Trial &T) { return T.L == Found && !T.Refused; });
  if (At == All.end())
    return;
  std::rotate(All.begin(), At, At + 1);
  double Cycles = All.front().Score.total();
  for (size_t I = All.size(); Found->name() == "grouped" && I-- > 1;)
    if (All[I].L->name() == Found->name() && (All[I].Refused || Cycles <= All[I].Score.total() * EqualGroupings))
      All.erase(All.begin() + I);
}

/// The layouts to try for candidate \p I, the original first.
static std::vector<Trial> trials(size_t I, const Plan &Base, const DecideInput &In) {
  std::vector<Trial> Out;
  for (const Layout *L : catalogue())
    if (L == catalogue().front() || L == foundLayout(In, I) || isTried(L->name(), In))
      Out.push_back(trial(I, *L, Base, In));
  return Out;
}

std::vector<Trial> tryLayouts(const DecideInput &In, size_t I, const Plan &Base, VariantCompiler &Compiler) {
  std::vector<std::string> Kernels = affectedKernels(In.P, I);
  std::vector<Trial> All = trials(I, Base, In);
  // The first compile of a text is the slowest, and the others need its verdict.
  runTrial(All.front(), I, In, Compiler, Kernels);
  if (All.front().Refused) {
    All.resize(1);
    return All;
  }
  size_t FirstGrouping = All.size();
  llvm::append_range(All, groupedTrials(I, Base, In, All.front()));
  const Layout *Found = foundLayout(In, I);
  if (llvm::none_of(All, [&](const Trial &T) { return T.L == Found; })) { // another grouping
    All.insert(All.begin() + FirstGrouping, trial(I, *Found, Base, In));
    ++FirstGrouping;
  }
  llvm::DefaultThreadPool Pool(llvm::hardware_concurrency(In.O.Jobs));
  for (Trial &T : llvm::MutableArrayRef(All).drop_front())
    if (!T.Refused)
      Pool.async([&T, &In, &Compiler, &Kernels, I] { runTrial(T, I, In, Compiler, Kernels); });
  Pool.wait();
  keepBestGrouping(All, FirstGrouping, Found);
  putFoundFirst(All, Found);
  noteSizes(All, leastGain(In.O));
  return All;
}

void addTrials(Report::Candidate &To, llvm::ArrayRef<Trial> Trials, const DecideInput &In, size_t I) {
  To.Refusals.clear();
  for (const Trial &T : Trials) {
    if (T.Refused) {
      To.Refusals.push_back(describe(*T.Refused, In.Names));
      continue;
    }
    Report::Variant V = describe(In.P.Candidates[I], In.P, *T.L, T.Score, T.Text, In.Names);
    if (!In.O.EmitVariants.empty())
      V.Files = variantFiles(In.P, In.Units, T.Text, T.Code);
    To.Variants.push_back(std::move(V));
  }
}

} // namespace restride

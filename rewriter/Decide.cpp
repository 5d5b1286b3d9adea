#include "rewriter/Decide.h"
#include "rewriter/EmitVariants.h"
#include "rewriter/SizeNotes.h"
#include "rewriter/Unread.h"

#include "analysis/program/Generated.h"

#include "llvm/Support/ThreadPool.h"

namespace restride {

/// With or without the record's namespace.
static bool isNamed(const Candidate &C, llvm::StringRef Name) {
  llvm::StringRef Record = C.Type.Name;
  return Name == Record || Name == C.Name || Record.ends_with(("::" + Name).str());
}

bool isWanted(const Candidate &C, const Options &O) {
  if (O.Structs.empty())
    return true;
  return llvm::any_of(O.Structs, [&](const std::string &S) { return isNamed(C, S); });
}

static bool isTakenBy(llvm::StringRef Kernel, const Candidate &C, const Program &P) {
  return llvm::any_of(P.Launches, [&](const Launch &L) {
    return L.Name == Kernel && llvm::any_of(C.Kernels, [&](const KernelParameter &K) { return K.Kernel == L.Kernel; });
  });
}

/// Candidate \p C is what an earlier run made of the parallel arrays that \p R names.
static bool isFoldOf(const ArrayRule &R, const Candidate &C, const Program &P) {
  return P.Text.text().contains(FoldedMark) && C.Type.Fields.size() == R.Members.size() && isTakenBy(R.Kernel, C, P) &&
         llvm::all_of(C.Type.Fields, [&](const Field &F) { return llvm::is_contained(R.Members, F.Name); });
}

/// Candidate \p I is what a kernel of that name gets as one of these parameters.
static bool isMeant(const ArrayRule &R, size_t I, const Program &P) {
  return isTakenBy(R.Kernel, P.Candidates[I], P) && llvm::any_of(P.Declarations, [&](const Declaration &D) {
    return llvm::any_of(D.Declarators, [&](const Declarator &One) {
      return One.Candidate == int(I) && !One.Slot.empty() && llvm::is_contained(R.Members, P.Text.text(One.Name));
    });
  });
}

/// What the configuration wants of this array, or of all arrays of its record;
/// nothing where the command line asks for something.
static std::optional<StructRule> ruleFor(size_t I, const DecideInput &In) {
  const Options &O = In.O;
  const Candidate &C = In.P.Candidates[I];
  if (O.List || !O.Layout.empty() || !O.EmitVariants.empty())
    return std::nullopt;
  for (const ArrayRule &R : O.Project.Arrays)
    if (isMeant(R, I, In.P))
      return StructRule{C.Name, R.Layout, R.At};
    else if (isFoldOf(R, C, In.P))
      return StructRule{C.Name, "keep", R.At};
  auto At = llvm::find_if(O.Project.Structs, [&](const StructRule &R) { return isNamed(C, R.Record); });
  return At == O.Project.Structs.end() ? std::nullopt : std::optional(*At);
}

/// A layout that the configuration forces cannot be had.
static llvm::Error illegal(const StructRule &Rule, llvm::ArrayRef<Report::Refusal> Refusals) {
  std::string Message = Rule.At + ": '" + Rule.Record + "' cannot be " + Rule.Layout;
  for (const Report::Refusal &R : Refusals)
    if (R.Layout.empty() || R.Layout == Rule.Layout)
      return llvm::createStringError(Message + ": " + R.At.File + ":" + std::to_string(R.At.Line) + ":" + std::to_string(R.At.Column) + ": " + R.Reason);
  return llvm::createStringError(Message);
}

cost::Model modelOf(const Options &O) {
  return O.Model == CostModel::Thesis ? cost::Model::Thesis : cost::Model::Throughput;
}

/// Kernels whose time can differ when \p I moves: those that take it, and those
/// that take another array of its record, which an alignment in place changes too.
static std::vector<std::string> affectedKernels(const Program &P, size_t I) {
  std::vector<std::string> Out;
  for (const Candidate &C : P.Candidates)
    if (C.Where == P.Candidates[I].Where)
      for (const KernelParameter &K : C.Kernels)
        if (!llvm::is_contained(Out, K.Kernel))
          Out.push_back(K.Kernel);
  return Out;
}

/// Writes, compiles and scores; what does not compile is a refusal of this layout.
static void runTrial(Trial &T, size_t I, const DecideInput &In, VariantCompiler &Compiler, llvm::ArrayRef<std::string> Kernels) {
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

static Trial trial(size_t I, const Layout &L, const Plan &Base, const DecideInput &In) {
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

static double leastGain(const Options &O) { return O.Project.MinSpeedup.value_or(cost::DefaultMinSpeedup); }

static cost::Choice fastest(llvm::ArrayRef<cost::Score> Scores, const Options &O) { return cost::choose(Scores, 0, leastGain(O)); }

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

/// The layout that \p I has on disk.
static const Layout *foundLayout(const DecideInput &In, size_t I) {
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

static const Trial *choose(const std::vector<Trial> &All, const Options &O, Report::Candidate &Out) {
  std::vector<const Trial *> Good;
  std::vector<cost::Score> Scores;
  for (const Trial &T : All)
    if (!T.Refused) {
      Good.push_back(&T);
      Scores.push_back(T.Score);
    }
  if (!O.Layout.empty()) {
    for (size_t I = 0; I < Good.size(); ++I)
      if (Good[I]->L->name() == O.Layout) {
        Out.Outcome = I == 0 ? Report::Status::Kept : Report::Status::Forced;
        Out.PredictedSpeedup = Scores[I].total() > 0 ? Scores[0].total() / Scores[I].total() : 1;
        return Good[I];
      }
    Out.Outcome = Report::Status::Refused;
    return nullptr;
  }
  cost::Choice Choice = fastest(Scores, O);
  Out.Outcome = Choice.Winner == 0 ? Report::Status::Kept : Report::Status::Rewritten;
  Out.PredictedSpeedup = Choice.Winner == 0 ? 1 : Choice.Speedup;
  return Good[Choice.Winner];
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

/// Some kernel takes both.
static bool shareKernel(const Candidate &A, const Candidate &B) {
  return llvm::any_of(A.Kernels, [&](const KernelParameter &K) {
    return llvm::any_of(B.Kernels, [&](const KernelParameter &Other) { return Other.Kernel == K.Kernel; });
  });
}

/// Candidate \p I again, where all others have the layouts of \p Found: what it has there, or better.
static void lookAgain(size_t I, Plan &Found, Report::Candidate &Described, const DecideInput &In, VariantCompiler &Compiler) {
  Plan Base = Found;
  Base[I] = catalogue().front();
  std::vector<Trial> All = tryLayouts(In, I, Base, Compiler);
  if (All.front().Refused)
    return;
  auto Has = llvm::find_if(All, [&](const Trial &T) { return T.L == Found[I]; });
  if (Has == All.end()) { // another grouping is the best one now
    All.push_back(trial(I, *Found[I], Base, In));
    Has = std::prev(All.end());
    runTrial(*Has, I, In, Compiler, affectedKernels(In.P, I));
  }
  if (Has->Refused)
    return;
  std::vector<cost::Score> Scores{Has->Score};
  std::vector<const Trial *> Good{&*Has};
  for (const Trial &T : All)
    if (!T.Refused) {
      Scores.push_back(T.Score);
      Good.push_back(&T);
    }
  const Trial &Winner = *Good[fastest(Scores, In.O).Winner];
  if (Winner.L == Found[I])
    return;
  Found = Winner.Layouts;
  bool Stays = Winner.L == foundLayout(In, I);
  Described.Outcome = Stays ? Report::Status::Kept : Report::Status::Rewritten;
  Described.Winner = Winner.L->name().str();
  Described.PredictedSpeedup = Stays || Winner.Score.total() <= 0 ? 1 : All.front().Score.total() / Winner.Score.total();
  Described.Variants.clear();
  addTrials(Described, All, In, I);
}

llvm::Expected<Decision> decide(const DecideInput &In, VariantCompiler &Compiler) {
  Decision Out;
  Out.Layouts.assign(In.P.Candidates.size(), catalogue().front());
  for (size_t I = 0; I < In.P.Candidates.size(); ++I)
    if (auto At = In.Settled.find(In.P.Candidates[I].Type.Name); At != In.Settled.end())
      Out.Layouts[I] = At->second;
  std::map<size_t, size_t> Tried; // candidate to its place in the report
  for (size_t I = 0; I < In.P.Candidates.size(); ++I) {
    const Candidate &C = In.P.Candidates[I];
    const Layout *Found = foundLayout(In, I);
    if (!isWanted(C, In.O) || In.Settled.count(C.Type.Name)) {
      if (Found != catalogue().front())
        Out.Layouts[I] = Found;
      continue;
    }
    Report::Candidate Described = describe(C, In.Names);
    Described.SourceLayout = Found->name().str();
    // What another configuration needs is not broken unasked.
    bool Refused = C.refused() || (C.OtherConfiguration && In.O.Layout.empty() && In.O.EmitVariants.empty());
    if (C.OtherConfiguration) {
      Report::Refusal R = describe(*C.OtherConfiguration, In.Names);
      if (Refused)
        Described.Refusals.push_back(R);
      else
        Out.Warnings.push_back(R.At.File + ":" + std::to_string(R.At.Line) + ": " + R.Reason + ", and stays as it is there");
    }
    std::optional<StructRule> Rule = ruleFor(I, In);
    if (Rule && Rule->Layout == "keep") {
      Out.Layouts[I] = Found;
      Described.Winner = Found->name().str();
      Out.Candidates.push_back(std::move(Described));
      continue;
    }
    if (Refused || In.O.List) {
      Out.Layouts[I] = Found;
      Described.Outcome = Refused ? Report::Status::Refused : Report::Status::Kept;
      if (!Refused)
        for (const Layout *L : catalogue().drop_front())
          if (std::optional<Refusal> R = refusalOf(C, *L)) {
            R->Layout = L->name().str();
            Report::Refusal New = describe(*R, In.Names);
            if (llvm::none_of(Described.Refusals, [&](const Report::Refusal &Old) { return Old.Layout == New.Layout && Old.Reason == New.Reason; }))
              Described.Refusals.push_back(std::move(New));
          }
      if (Rule)
        return illegal(*Rule, Described.Refusals);
      Out.Candidates.push_back(std::move(Described));
      continue;
    }
    Options Own = In.O;
    if (Rule)
      Own.Layout = Rule->Layout;
    DecideInput Mine{In.P, In.Units, In.Names, Own, In.Gpu, In.Settled, In.Found, In.Only};
    std::vector<Trial> All = tryLayouts(Mine, I, Out.Layouts, Compiler);
    if (All.front().Refused)
      return llvm::make_error<Unread>("'" + In.Units.front().Command.SpelledFile + "' for " + In.Gpu.Arch + ": " + All.front().Refused->Reason);
    addTrials(Described, All, In, I);
    for (const Trial &T : All)
      for (const std::string &W : T.Score.Warnings)
        if (!T.Refused && !llvm::is_contained(Out.Warnings, W))
          Out.Warnings.push_back(W);
    if (const Trial *Winner = choose(All, Own, Described)) {
      Described.Winner = Winner->L->name().str();
      Out.Layouts = Winner->Layouts;
    } else if (Rule) {
      return illegal(*Rule, Described.Refusals);
    } else {
      Out.Layouts[I] = Found;
    }
    if (!Rule)
      Tried[I] = Out.Candidates.size();
    Out.Candidates.push_back(std::move(Described));
  }
  // What came later changed the kernels of what was decided before.
  for (const auto &[I, Place] : Tried) {
    bool Changed = false;
    for (const auto &[Later, Unused] : Tried)
      Changed |= Later > I && Out.Layouts[Later] != foundLayout(In, Later) && shareKernel(In.P.Candidates[I], In.P.Candidates[Later]);
    if (Changed && In.O.Layout.empty() && In.O.EmitVariants.empty())
      lookAgain(I, Out.Layouts, Out.Candidates[Place], In, Compiler);
  }
  return Out;
}

} // namespace restride

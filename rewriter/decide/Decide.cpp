#include "rewriter/decide/Decide.h"
#include "rewriter/command/Unread.h"
#include "rewriter/decide/Fastest.h"
#include "rewriter/decide/LayoutRules.h"

namespace restride {

bool isWanted(const Candidate &C, const Options &O) {
  if (O.Structs.empty())
    return true;
  return llvm::any_of(O.Structs, [&](const std::string &S) { return isNamed(C, S); });
}

/// A layout that the configuration forces cannot be had.
static llvm::Error illegal(const StructRule &Rule, llvm::ArrayRef<Report::Refusal> Refusals) {
  std::string Message = Rule.At + ": '" + Rule.Record + "' cannot be " + Rule.Layout;
  for (const Report::Refusal &R : Refusals)
    if (R.Layout.empty() || R.Layout == Rule.Layout)
      return llvm::createStringError(Message + ": " + R.At.File + ":" + std::to_string(R.At.Line) + ":" + std::to_string(R.At.Column) + ": " + R.Reason);
  return llvm::createStringError(Message);
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
  cost::Choice Choice = fastest(Good, Scores, leastGain(O), modelOf(O));
  Out.Outcome = Choice.Winner == 0 ? Report::Status::Kept : Report::Status::Rewritten;
  Out.PredictedSpeedup = Choice.Winner == 0 ? 1 : Choice.Speedup;
  return Good[Choice.Winner];
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
  const Trial &Winner = *Good[fastest(Good, Scores, leastGain(In.O), modelOf(In.O)).Winner];
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

namespace {

/// A candidate that was decided about.
struct Decided {
  size_t Place; ///< in the report
  Plan Beside;  ///< the layouts that the others had
};

} // namespace

/// What came later, or changed since, changed the kernels of what was decided before.
static void settle(std::map<size_t, Decided> &All, Decision &Out, const DecideInput &In, VariantCompiler &Compiler) {
  constexpr unsigned MostRounds = 3; // two arrays might want to change for each other for ever
  for (unsigned Round = 0; Round < MostRounds; ++Round) {
    bool Changed = false;
    for (auto &[I, D] : All) {
      bool Outdated = false;
      for (const auto &[Other, Unused] : All)
        Outdated |= Other != I && D.Beside[Other] != Out.Layouts[Other] && shareKernel(In.P.Candidates[I], In.P.Candidates[Other]);
      if (!Outdated)
        continue;
      Changed = true;
      D.Beside = Out.Layouts;
      lookAgain(I, Out.Layouts, Out.Candidates[D.Place], In, Compiler);
    }
    if (!Changed)
      return;
  }
}

llvm::Expected<Decision> decide(const DecideInput &In, VariantCompiler &Compiler) {
  Decision Out;
  // Each is judged beside the others as the file has them, so that what was written is judged as it was before.
  for (size_t I = 0; I < In.P.Candidates.size(); ++I) {
    Out.Layouts.push_back(foundLayout(In, I));
    if (auto At = In.Settled.find(In.P.Candidates[I].Type.Name); At != In.Settled.end() && Out.Layouts[I] == catalogue().front())
      Out.Layouts[I] = At->second;
  }
  std::map<size_t, Decided> Tried;
  for (size_t I = 0; I < In.P.Candidates.size(); ++I) {
    const Candidate &C = In.P.Candidates[I];
    const Layout *Found = foundLayout(In, I);
    if (!isWanted(C, In.O) || In.Settled.count(C.Type.Name))
      continue;
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
    std::optional<StructRule> Rule = ruleFor(I, In.P, In.O);
    if (Rule && Rule->Layout == "keep") {
      Described.Winner = Found->name().str();
      Out.Candidates.push_back(std::move(Described));
      continue;
    }
    if (Refused || In.O.List) {
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
    }
    if (!Rule)
      Tried[I] = {Out.Candidates.size(), Out.Layouts};
    Out.Candidates.push_back(std::move(Described));
  }
  if (In.O.Layout.empty())
    settle(Tried, Out, In, Compiler);
  return Out;
}

} // namespace restride

#include "rewriter/FoldArrays.h"
#include "rewriter/Fold.h"

#include "analysis/program/Assemble.h"

namespace restride {

namespace {

/// A group in its best layout.
struct FoldTrial {
  ParallelGroup Group;
  Report::Candidate Described;
  std::optional<Rewritten> Text; ///< of the plain records; nothing if it cannot be folded
  std::optional<ProgramReading> Reading;
  std::string Record;
  const Layout *Winner = nullptr; ///< null: the arrays stay
  bool Silent = false; ///< refused, but no layout could do better anyway
};

} // namespace

/// The arrays of \p G as a program of their own.
static Program onlyGroup(const ArrayProgram &A, const ParallelGroup &G) {
  Program Out = A.P;
  Out.Candidates.clear();
  Out.Declarations.clear();
  for (size_t I : G.Arrays)
    Out.Candidates.push_back(A.P.Candidates[I]);
  return Out;
}

static std::vector<std::string> kernelsOf(const Program &P) {
  std::vector<std::string> Out;
  for (const Candidate &C : P.Candidates)
    for (const KernelParameter &K : C.Kernels)
      if (!llvm::is_contained(Out, K.Kernel))
        Out.push_back(K.Kernel);
  return Out;
}

/// Every request of the kernels moves what it asks for and no more, so that no
/// layout could do better.
static bool isCoalesced(const cost::Score &S) {
  for (const cost::KernelCost &K : S.Kernels)
    for (const cost::AccessCost &A : K.Accesses)
      if (A.SectorsPerRequest > A.Bytes * 1.01 || A.SectorsPerRequest < A.Bytes * 0.99)
        return false;
  return true;
}

static Rewritten unchanged(const Program &P) {
  llvm::Expected<Rewritten> Text = applyEdits(P.Text, {});
  return std::move(*Text); // nothing to go wrong
}

static std::vector<ptx::SourceText> changedFiles(const Rewritten &Text, const Sources &OnDisk) {
  std::vector<ptx::SourceText> Out;
  for (size_t I = 0; I < OnDisk.files().size(); ++I)
    if (const SourceFile &F = OnDisk.files()[I]; Text.file(I) != OnDisk.text(F.Text))
      Out.push_back({F.Path, Text.file(I).str()});
  return Out;
}

/// What is known of the group before it is tried.
static Report::Candidate describeGroup(const ArrayProgram &A, const ParallelGroup &G, const FoldNames &Names, const FileNames &Files) {
  Report::Candidate Out;
  Out.Name = Names.Record;
  Out.SourceLayout = "parallel";
  Out.Fields = Names.Fields;
  for (size_t I : G.Arrays) {
    const Candidate &C = A.P.Candidates[I];
    Out.Array += (Out.Array.empty() ? "" : ", ") + C.Array;
    Out.RecordBytes += C.Type.Size;
  }
  if (!G.Parts.empty()) {
    Out.Name = Out.Array;
    Out.Fields = G.Parts;
  }
  Out.At = Out.ArrayAt = Files.place(A.P.Candidates[G.Arrays.front()].ArrayWhere);
  return Out;
}

/// The arrays as they are.
static llvm::Expected<cost::Score> scoreOriginal(const Program &Group, VariantCompiler &Compiler, Report::Candidate &Out, const FoldInput &In) {
  Rewritten Text = unchanged(Group);
  llvm::Expected<Compiled> Code = Compiler.compile(Text);
  if (!Code)
    return Code.takeError();
  Plan AsIs(Group.Candidates.size(), catalogue().front());
  llvm::Expected<cost::Score> Score = scorePlan(Group, AsIs, kernelsOf(Group), *Code, In.Gpu, modelOf(In.O));
  if (!Score)
    return Score.takeError();
  Report::Variant V = describe(Group.Candidates.front(), Group, *catalogue().front(), *Score, Text, In.Names);
  V.Layout = "parallel";
  V.Groups.clear();
  for (const std::string &F : Out.Fields)
    V.Groups.push_back({F});
  Out.Variants.push_back(std::move(V));
  return Score;
}

/// Folding changes every line that names the arrays. On an H200 predicted gains
/// below a tenth came out on either side of one (samples/idw_sep.cu: 1.05
/// predicted, 0.93 measured).
static double leastSpeedup(const Options &O) { return O.Model == CostModel::Throughput ? 1.1 : 1.03; }

static void refuse(FoldTrial &T, std::vector<Report::Refusal> Why) {
  T.Described.Outcome = Report::Status::Refused;
  T.Described.Variants.clear();
  T.Described.Refusals = std::move(Why);
}

/// Folds the group and tries all layouts of its record.
static llvm::Error tryGroup(FoldTrial &T, const ArrayProgram &A, const FoldInput &In) {
  const Options &O = In.O;
  bool Asked = !O.Layout.empty() || !O.EmitVariants.empty();
  Folded F{foldNames(A, T.Group), {}, {}};
  std::vector<Refusal> Refusals = T.Group.Refusals;
  if (Refusals.empty())
    F = fold(A, T.Group);
  if (F.Refused)
    Refusals.push_back(*F.Refused);
  T.Record = F.Names.Record;
  T.Described = describeGroup(A, T.Group, F.Names, In.Names);
  std::vector<Report::Refusal> Why;
  for (const Refusal &R : Refusals)
    Why.push_back(describe(R, In.Names));
  if (!Why.empty() && (Asked || O.List))
    refuse(T, std::move(Why));
  if (O.List || T.Described.Outcome == Report::Status::Refused)
    return llvm::Error::success();
  if (llvm::Error E = In.CreateCompilers())
    return E;
  Program Group = onlyGroup(A, T.Group);
  VariantCompiler Before(In.OnDisk, In.Units);
  llvm::Expected<cost::Score> Original = scoreOriginal(Group, Before, T.Described, In);
  if (!Original)
    return Original.takeError();
  if (!Asked && isCoalesced(*Original)) { // nothing to gain, and nothing to say
    T.Silent = !Why.empty();
    return llvm::Error::success();
  }
  if (!Why.empty()) {
    refuse(T, std::move(Why));
    return llvm::Error::success();
  }

  llvm::Expected<ProgramReading> Reading = In.Read(changedFiles(F.Text, In.OnDisk));
  if (!Reading) {
    refuse(T, {{"", T.Described.At, llvm::toString(Reading.takeError())}});
    return llvm::Error::success();
  }
  Program P = assemble(ProgramFacts(Reading->Records));
  In.Check(P);
  auto At = llvm::find_if(P.Candidates, [&](const Candidate &C) { return C.Type.Name == T.Record; });
  if (At == P.Candidates.end() || At->refused() || (At->OtherConfiguration && !Asked)) {
    FileNames Names = In.Names;
    Names.follow(A.P.Text, F.Text);
    refuse(T, {{"", T.Described.At, "the arrays cannot be one array of structs"}});
    if (At != P.Candidates.end())
      for (const Refusal &R : At->Refusals)
        T.Described.Refusals.push_back(describe(R, Names));
    return llvm::Error::success();
  }
  FileNames Names = In.Names;
  Names.follow(A.P.Text, F.Text);
  DecideInput Decide{P, In.Units, Names, O, In.Gpu};
  VariantCompiler Compiler(In.OnDisk, In.Units);
  size_t I = At - P.Candidates.begin();
  std::vector<Trial> All = tryLayouts(Decide, I, Plan(P.Candidates.size(), catalogue().front()), Compiler);
  Report::Candidate Tried;
  addTrials(Tried, All, Decide, I);
  llvm::append_range(T.Described.Variants, std::move(Tried.Variants));
  T.Described.Refusals = std::move(Tried.Refusals);
  std::vector<cost::Score> Scores{*Original};
  std::vector<const Trial *> Good;
  for (const Trial &One : All)
    if (!One.Refused && (O.Layout.empty() || One.L->name() == O.Layout)) {
      Scores.push_back(One.Score);
      Good.push_back(&One);
    }
  if (Good.empty()) {
    T.Described.Outcome = Report::Status::Refused;
    return llvm::Error::success();
  }
  const Trial *Winner = nullptr;
  if (!O.Layout.empty()) {
    Winner = Good.front();
    T.Described.Outcome = Report::Status::Forced;
    T.Described.PredictedSpeedup = Winner->Score.total() > 0 ? Original->total() / Winner->Score.total() : 1;
  } else if (cost::Choice Choice = cost::choose(Scores, 0, leastSpeedup(O)); Choice.Winner > 0) {
    Winner = Good[Choice.Winner - 1];
    T.Described.Outcome = Report::Status::Rewritten;
    T.Described.PredictedSpeedup = Choice.Speedup;
  }
  T.Described.Winner = Winner ? Winner->L->name().str() : "parallel";
  if (Winner) {
    T.Winner = Winner->L;
    T.Text = std::move(F.Text);
    T.Reading = std::move(*Reading);
  }
  return llvm::Error::success();
}

static bool overlaps(const FoldTrial &A, const FoldTrial &B) {
  return llvm::any_of(A.Group.Arrays, [&](size_t I) { return llvm::is_contained(B.Group.Arrays, I); });
}

static bool isWantedRecord(const Report::Candidate &C, const Options &O) {
  return O.Structs.empty() || llvm::is_contained(O.Structs, C.Name);
}

llvm::Expected<FoldedProgram> foldArrays(ProgramReading Reading, const FoldInput &In) {
  FoldedProgram Out;
  for (;;) {
    ArrayProgram A = assembleArrays(std::move(Reading.Arrays));
    std::vector<FoldTrial> Trials;
    for (ParallelGroup &G : parallelGroups(A)) {
      FoldTrial T{std::move(G), {}, {}, {}, "", nullptr, false};
      if (llvm::Error E = tryGroup(T, A, In))
        return E;
      if (isWantedRecord(T.Described, In.O) && !T.Silent)
        Trials.push_back(std::move(T));
    }
    // The one that gains most; where layouts are forced, the first.
    llvm::stable_sort(Trials, [&](const FoldTrial &L, const FoldTrial &R) {
      if (bool(L.Winner) != bool(R.Winner))
        return bool(L.Winner);
      return In.O.Layout.empty() && L.Described.PredictedSpeedup > R.Described.PredictedSpeedup;
    });
    if (Trials.empty() || !Trials.front().Winner) {
      // What is left: each array in one remark.
      for (size_t I = 0; I < Trials.size(); ++I)
        if (!In.O.EmitVariants.empty() ||
            llvm::none_of(llvm::ArrayRef(Trials).take_front(I), [&](const FoldTrial &T) { return overlaps(T, Trials[I]); }))
          Out.Candidates.push_back(std::move(Trials[I].Described));
      break;
    }
    FoldTrial &Best = Trials.front();
    if (!In.O.EmitVariants.empty()) // every group once, as it is in the user's program
      for (FoldTrial &T : llvm::MutableArrayRef(Trials).drop_front())
        if (overlaps(T, Best))
          Out.Candidates.push_back(T.Described);
    Out.Settled[Best.Record] = Best.Winner;
    Out.Candidates.push_back(std::move(Best.Described));
    In.Names.follow(A.P.Text, *Best.Text);
    Reading = std::move(*Best.Reading);
  }
  Out.P = assemble(std::move(Reading.Records));
  In.Check(Out.P);
  return Out;
}

} // namespace restride

#include "rewriter/fold/FoldTrial.h"

#include "analysis/program/Assemble.h"
#include "ptx/execute/AddressMap.h"

#include "llvm/ADT/bit.h"

#include <set>

namespace restride {

FoldBase foldBase(ProgramReading Reading, FileNames Names, std::map<std::string, const Layout *> Settled, const FoldInput &In,
                  std::shared_ptr<VariantCompiler> Compiler) {
  FoldBase Out{assembleArrays(std::move(Reading.Arrays)), assemble(std::move(Reading.Records)), std::move(Names), std::move(Settled), std::move(Compiler)};
  In.Check(Out.Records);
  return Out;
}

/// On an H200 predicted gains below a tenth came out on either side of one
/// (samples/idw_sep.cu: 1.05 predicted, 0.93 measured).
double leastSpeedup(const Options &O) {
  return std::max(O.Model == CostModel::Throughput ? 1.1 : 1.03, O.Project.MinSpeedup.value_or(1));
}

/// Records that were folded have their layouts, and the others the one they have.
static Plan settledPlan(const Program &P, const std::map<std::string, const Layout *> &Settled) {
  Plan Out(P.Candidates.size(), catalogue().front());
  for (size_t I = 0; I < P.Candidates.size(); ++I)
    if (auto At = Settled.find(P.Candidates[I].Type.Name); At != Settled.end())
      Out[I] = At->second;
  return Out;
}

static std::vector<std::string> kernelsOf(llvm::ArrayRef<Candidate> Candidates) {
  std::vector<std::string> Out;
  for (const Candidate &C : Candidates)
    for (const KernelParameter &K : C.Kernels)
      if (!llvm::is_contained(Out, K.Kernel))
        Out.push_back(K.Kernel);
  return Out;
}

/// Bytes of a request, with those of its other half: Clang copies a float4 in two.
static unsigned bytesOf(const cost::KernelCost &K, const cost::AccessCost &A) {
  unsigned Same = llvm::count_if(K.Accesses, [&](const cost::AccessCost &B) {
    return A.Line && B.Line == A.Line && B.Column == A.Column && B.Bytes == A.Bytes && B.IsStore == A.IsStore && B.File == A.File;
  });
  return A.Bytes == 8 && Same == 2 ? 16 : A.Bytes;
}

/// Arrays that the lanes of one request go to: more than one where a compiler
/// joins the last stores of two branches.
static unsigned arraysOf(const cost::AccessCost &A) {
  std::set<uint64_t> Ranges;
  for (unsigned L = 0; L < A.Lanes.size(); ++L)
    if (A.Mask >> L & 1)
      Ranges.insert(A.Lanes[L] >> ptx::RangeBits);
  return std::max<unsigned>(1, Ranges.size());
}

/// Every request of the group's arrays moves what it asks for and no more, so that
/// no layout could do better. \p Own has the fields of requests that are the
/// group's, \p Any of those that are some array's; whose the others are is not known.
static bool isCoalesced(const Report::Variant &Own, const Report::Variant &Any, const cost::Score &S) {
  for (size_t K = 0; K < S.Kernels.size(); ++K)
    for (size_t I = 0; I < S.Kernels[K].Accesses.size(); ++I) {
      const cost::AccessCost &A = S.Kernels[K].Accesses[I];
      bool Foreign = Own.Kernels[K].Accesses[I].Field.empty() && !Any.Kernels[K].Accesses[I].Field.empty();
      // Less than all where branches leave lanes out; far less than its lanes ask for is a broadcast.
      double Lanes = A.Mask ? llvm::popcount(A.Mask) : 32, Asked = std::max(1.0, Lanes * A.Bytes / 32); // sectors
      double Most = bytesOf(S.Kernels[K], A) * arraysOf(A) * 1.01;
      bool Whole = A.SectorsPerRequest <= Most && A.SectorsPerRequest >= Asked * 0.75;
      if (!Foreign && !Whole && A.RequestsPerWarp > 0)
        return false;
    }
  return true;
}

Report::Candidate describeGroup(const FoldBase &Base, const ParallelGroup &G, const FoldNames &Names) {
  Report::Candidate Out;
  Out.Name = Names.Record;
  Out.SourceLayout = "parallel";
  Out.Fields = Names.Fields;
  for (size_t I : G.Arrays) {
    const Candidate &C = Base.Arrays.P.Candidates[I];
    Out.Array += (Out.Array.empty() ? "" : ", ") + C.Array;
    Out.RecordBytes += C.Type.Size;
  }
  if (!G.Parts.empty()) {
    Out.Name = Out.Array;
    Out.Fields = G.Parts;
  }
  Out.At = Out.ArrayAt = Base.Names.place(Base.Arrays.P.Candidates[G.Arrays.front()].ArrayWhere);
  return Out;
}

/// The arrays as they are, beside the records in the layouts they have by now.
static llvm::Error scoreBefore(FoldTrial &T, const FoldBase &Base, const FoldInput &In) {
  std::vector<Candidate> Arrays;
  for (size_t I : T.Group.Arrays)
    Arrays.push_back(Base.Arrays.P.Candidates[I]);
  Plan Layouts = settledPlan(Base.Records, Base.Settled);
  llvm::Expected<Rewritten> Text = writeVariant(Base.Records, Layouts);
  if (!Text)
    return Text.takeError();
  llvm::Expected<Compiled> Code = Base.Compiler->compile(*Text);
  if (!Code)
    return Code.takeError();
  Program P = Base.Records;
  llvm::append_range(P.Candidates, Arrays);
  Layouts.resize(P.Candidates.size(), catalogue().front());
  llvm::Expected<cost::Score> Score = scorePlan(P, Layouts, kernelsOf(Arrays), *Code, In.Gpu, modelOf(In.O));
  if (!Score)
    return Score.takeError();
  T.Before = std::move(*Score);
  Program Own = Base.Arrays.P;
  Own.Candidates = Arrays;
  Report::Variant V = describe(Arrays.front(), Own, *catalogue().front(), T.Before, *Text, Base.Names);
  Program All = Base.Arrays.P;
  llvm::append_range(All.Candidates, Base.Records.Candidates);
  Report::Variant Any = describe(Arrays.front(), All, *catalogue().front(), T.Before, *Text, Base.Names);
  T.Idle = isCoalesced(V, Any, T.Before);
  V.Layout = "parallel";
  V.Groups.clear();
  for (const std::string &F : T.Described.Fields)
    V.Groups.push_back({F});
  T.Described.Variants.push_back(std::move(V));
  return llvm::Error::success();
}

static void refuse(FoldTrial &T, std::vector<Report::Refusal> Why) {
  T.Described.Outcome = Report::Status::Refused;
  T.Described.Variants.clear();
  T.Described.Refusals = std::move(Why);
}

/// Side by side in memory is what parallel arrays are not. Where none of these is
/// faster by this much, the layouts between them and the arrays are not either.
static constexpr llvm::StringRef FirstLook[] = {"aos-align8", "aos-align16", "grouped"};
static constexpr double WorthASecondLook = 1.02;
/// The smallest tiles are the most like records, and these are still like them. Where
/// neither is the fastest by now, larger tiles and separate arrays are not either.
static constexpr llvm::StringRef SecondLook[] = {"asta8", "asta32"};

static const Trial *fastest(llvm::ArrayRef<Trial> All) {
  const Trial *Best = nullptr;
  for (const Trial &One : All)
    if (!One.Refused && (!Best || One.Score.total() < Best->Score.total()))
      Best = &One;
  return Best;
}

/// The record's layouts, in the catalogue's order.
static std::vector<Trial> layoutsOf(DecideInput Decide, size_t I, const FoldTrial &T, const Plan &Layouts, const VariantCompiler &Like) {
  VariantCompiler Compiler(Like);
  std::vector<Trial> All;
  auto Try = [&](llvm::ArrayRef<llvm::StringRef> Names) {
    Decide.Only.assign(Names.begin(), Names.end());
    std::vector<Trial> More = tryLayouts(Decide, I, Layouts, Compiler);
    All.insert(All.end(), std::make_move_iterator(More.begin() + !All.empty()), std::make_move_iterator(More.end()));
  };
  if (!Decide.O.Layout.empty() || !Decide.O.EmitVariants.empty()) {
    Try({});
    return All;
  }
  Try(FirstLook);
  const Trial *First = fastest(All);
  if (!First || First->Score.total() * WorthASecondLook >= T.Before.total())
    return All;
  double Cycles = First->Score.total();
  Try(SecondLook);
  std::vector<llvm::StringRef> Others;
  for (const Layout *L : catalogue())
    if (!llvm::is_contained(FirstLook, L->name()) && !llvm::is_contained(SecondLook, L->name()))
      Others.push_back(L->name());
  if (fastest(All)->Score.total() < Cycles)
    Try(Others);
  llvm::stable_sort(All, [](const Trial &L, const Trial &R) {
    auto Position = [](const Trial &T) { return llvm::find(catalogue(), T.L) - catalogue().begin(); };
    return Position(L) < Position(R);
  });
  return All;
}

/// The best of the layouts, and whether it is good enough.
static void chooseLayout(FoldTrial &T, llvm::ArrayRef<Trial> All, const Options &O) {
  const Trial *Best = nullptr;
  for (const Trial &One : All)
    if (!One.Refused && (O.Layout.empty() || One.L->name() == O.Layout) && (!Best || One.Score.total() < Best->Score.total()))
      Best = &One;
  if (!Best) {
    T.Described.Outcome = Report::Status::Refused;
    return;
  }
  T.Best = Best->L;
  T.After = Best->Score;
  double Speedup = T.After.total() > 0 ? T.Before.total() / T.After.total() : 1;
  if (O.Layout.empty() && Speedup < leastSpeedup(O)) {
    T.Described.Winner = "parallel";
    return;
  }
  T.Described.Outcome = O.Layout.empty() ? Report::Status::Rewritten : Report::Status::Forced;
  T.Described.PredictedSpeedup = Speedup;
  T.Described.Winner = T.Best->name().str();
}

llvm::Expected<FoldTrial> tryGroup(const FoldBase &Base, ParallelGroup Group, const FoldInput &In) {
  const Options &O = In.O;
  bool Asked = !O.Layout.empty() || !O.EmitVariants.empty();
  FoldTrial T;
  T.Group = std::move(Group);
  Folded F{foldNames(Base.Arrays, T.Group), {}, {}};
  std::vector<Refusal> Refusals = T.Group.Refusals;
  if (Refusals.empty())
    F = fold(Base.Arrays, T.Group);
  if (F.Refused)
    Refusals.push_back(*F.Refused);
  T.Record = F.Names.Record;
  T.Described = describeGroup(Base, T.Group, F.Names);
  std::vector<Report::Refusal> Why;
  for (const Refusal &R : Refusals)
    Why.push_back(describe(R, Base.Names));
  if (!Why.empty() && (Asked || O.List))
    refuse(T, std::move(Why));
  if (O.List || T.Described.Outcome == Report::Status::Refused)
    return T;
  if (llvm::Error E = In.CreateCompilers())
    return E;
  if (llvm::Error E = scoreBefore(T, Base, In))
    return E;
  if (!Asked && T.Idle) { // nothing to gain, and nothing to say
    T.Silent = true;
    return T;
  }
  if (!Why.empty()) {
    refuse(T, std::move(Why));
    return T;
  }

  llvm::Expected<ProgramReading> Reading = In.Read(changedFiles(F.Text, In.OnDisk));
  if (!Reading) {
    refuse(T, {{"", T.Described.At, llvm::toString(Reading.takeError())}});
    return T;
  }
  Program P = assemble(ProgramFacts(Reading->Records));
  In.Check(P);
  FileNames Names = Base.Names;
  Names.follow(Base.Arrays.P.Text, F.Text);
  auto At = llvm::find_if(P.Candidates, [&](const Candidate &C) { return C.Type.Name == T.Record; });
  if (At == P.Candidates.end() || At->refused() || (At->OtherConfiguration && !Asked)) {
    refuse(T, {{"", T.Described.At, "the arrays cannot be one array of structs"}});
    if (At != P.Candidates.end())
      for (const Refusal &R : At->Refusals)
        T.Described.Refusals.push_back(describe(R, Names));
    return T;
  }
  DecideInput Decide{P, In.Units, Names, O, In.Gpu};
  size_t I = At - P.Candidates.begin();
  std::vector<Trial> All = layoutsOf(Decide, I, T, settledPlan(P, Base.Settled), *Base.Compiler);
  Report::Candidate Tried;
  addTrials(Tried, All, Decide, I);
  llvm::append_range(T.Described.Variants, std::move(Tried.Variants));
  T.Described.Refusals = std::move(Tried.Refusals);
  chooseLayout(T, All, O);
  if (T.moves() || (T.Best && T.saved() > 0)) {
    T.Text = std::move(F.Text);
    T.Reading = std::move(*Reading);
  }
  return T;
}

} // namespace restride

#include "rewriter/fold/FoldArrays.h"
#include "rewriter/decide/LayoutRules.h"
#include "rewriter/fold/FoldNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

namespace restride {

/// Groups that save about as much count as equal: the smallest changes least.
static constexpr double EqualGains = 1.02;
/// Each is a parse and some compiles.
static constexpr unsigned MaxPairs = 6;

using GroupKey = std::vector<std::string>;

/// The same for a group before and after others were folded.
static GroupKey keyOf(const FoldBase &Base, const ParallelGroup &G) {
  GroupKey Out;
  for (size_t I : G.Arrays) {
    const Candidate &C = Base.Arrays.P.Candidates[I];
    Report::Place At = Base.Names.place(C.ArrayWhere);
    Out.push_back(C.Array + "@" + At.File + ":" + std::to_string(At.Line) + ":" + std::to_string(At.Column));
  }
  for (const std::string &Part : G.Parts)
    Out.push_back(Part);
  return Out;
}

/// By the names that do not change when parameters do.
static std::set<std::string> kernelNames(const FoldBase &Base, const ParallelGroup &G) {
  std::set<std::string> Out;
  for (const Launch &L : Base.Arrays.P.Launches)
    for (size_t I : G.Arrays)
      for (const KernelParameter &K : Base.Arrays.P.Candidates[I].Kernels)
        if (K.Kernel == L.Kernel)
          Out.insert(L.Name);
  return Out;
}

static bool shareKernel(const FoldBase &Base, const FoldTrial &A, const FoldTrial &B) {
  std::set<std::string> Of = kernelNames(Base, A.Group);
  return llvm::any_of(kernelNames(Base, B.Group), [&](const std::string &K) { return Of.count(K); });
}

static bool overlap(const FoldTrial &A, const FoldTrial &B) {
  return llvm::any_of(A.Group.Arrays, [&](size_t I) { return llvm::is_contained(B.Group.Arrays, I); });
}

static bool isWantedRecord(const Report::Candidate &C, const Options &O) {
  return O.Structs.empty() || llvm::is_contained(O.Structs, C.Name);
}

namespace {

/// Groups that an earlier round left alone: without another look if nothing of
/// them can change, else until one of their kernels does.
class Remembered {
public:
  const FoldTrial *find(const GroupKey &Key) const {
    auto At = Known.find(Key);
    return At == Known.end() ? nullptr : &At->second.Trial;
  }
  void add(GroupKey Key, std::set<std::string> Kernels, const FoldTrial &T) {
    if (T.moves() || (T.Best && T.saved() > 0))
      return; // its turn comes, or it gains beside others
    FoldTrial Left;
    Left.Described = T.Described, Left.Idle = T.Idle, Left.Silent = T.Silent;
    Known.insert_or_assign(std::move(Key), Entry{std::move(Left), std::move(Kernels)});
  }
  void changed(const std::set<std::string> &Kernels) {
    std::erase_if(Known, [&](const auto &One) {
      return !One.second.Trial.Idle && llvm::any_of(One.second.Kernels, [&](const std::string &K) { return Kernels.count(K); });
    });
  }

private:
  struct Entry {
    FoldTrial Trial;
    std::set<std::string> Kernels;
  };
  std::map<GroupKey, Entry> Known;
};

/// Two groups, the second folded after the first.
struct Pair {
  FoldTrial First, Second;
  double Speedup = 1; ///< of all kernels of either
  size_t arrays() const { return First.Group.Arrays.size() + Second.Group.Arrays.size(); }
};

class ArrayFolder {
public:
  ArrayFolder(ProgramReading Reading, const FoldInput &In) : In(In), Base(foldBase(std::move(Reading), In.Names, {}, In, std::make_shared<VariantCompiler>(In.OnDisk, In.Units))) {}

  llvm::Expected<FoldedProgram> run() {
    if (!In.O.List && In.O.Layout.empty() && In.O.EmitVariants.empty())
      for (const ArrayRule &R : In.O.Project.Arrays)
        if (R.Members.size() > 1 && R.Layout != "keep")
          if (llvm::Error E = force(R))
            return E;
    for (;;) {
      llvm::Expected<std::vector<FoldTrial>> Trials = tryAll();
      if (!Trials)
        return Trials.takeError();
      if (FoldTrial *One = best(*Trials)) {
        if (!In.O.EmitVariants.empty()) // every group once, as it is in the user's program
          for (FoldTrial &T : *Trials)
            if (&T != One && overlap(T, *One))
              Out.Candidates.push_back(T.Described);
        take(std::move(*One));
        continue;
      }
      llvm::Expected<std::optional<Pair>> Two = bestPair(*Trials);
      if (!Two)
        return Two.takeError();
      if (!*Two) {
        rest(*Trials);
        break;
      }
      take(std::move((*Two)->First));
      take(std::move((*Two)->Second));
    }
    Out.P = std::move(Base.Records);
    Out.Settled = std::move(Base.Settled);
    In.Names = std::move(Base.Names);
    return std::move(Out);
  }

private:
  /// What the configuration asks for, or why it cannot be had.
  llvm::Error force(const ArrayRule &R) {
    if (llvm::none_of(Base.Arrays.P.Launches, [&](const Launch &L) { return L.Name == R.Kernel; }))
      return llvm::Error::success(); // another program's
    Options Own = In.O;
    Own.Layout = R.Layout;
    std::string Who = R.At + ": '" + llvm::join(R.Members, ", ") + "' of kernel '" + R.Kernel + "'";
    for (ParallelGroup &G : parallelGroups(Base.Arrays)) {
      if (meantOf(G, R, Base.Arrays) != R.Members.size() || G.Arrays.size() != R.Members.size())
        continue;
      llvm::Expected<FoldTrial> T = tryGroup(Base, std::move(G), {In.Units, In.Names, Own, In.Gpu, In.OnDisk, In.CreateCompilers, In.Read, In.Check});
      if (!T)
        return T.takeError();
      if (T->moves()) {
        take(std::move(*T));
        return llvm::Error::success();
      }
      for (const Report::Refusal &Why : T->Described.Refusals)
        if (Why.Layout.empty() || Why.Layout == R.Layout)
          return llvm::createStringError(Who + " cannot be " + R.Layout + ": " + Why.At.File + ":" + std::to_string(Why.At.Line) + ":" +
                                         std::to_string(Why.At.Column) + ": " + Why.Reason);
      return llvm::createStringError(Who + " cannot be " + R.Layout);
    }
    bool Records = llvm::any_of(llvm::seq(Base.Records.Candidates.size()), [&](size_t I) { return isMeant(R, I, Base.Records); });
    if (Records || isDone(R, Base.Arrays.P)) // arrays of structs are decided later
      return llvm::Error::success();
    return llvm::createStringError(Who + " are no arrays of numbers that are allocated beside each other with one size");
  }

  bool isKept(const ParallelGroup &G) const {
    return llvm::any_of(In.O.Project.Arrays, [&](const ArrayRule &R) { return R.Layout == "keep" && meantOf(G, R, Base.Arrays); });
  }

  /// A layout is forced: whatever can take it does.
  bool takesFirst() const { return !In.O.Layout.empty() && In.O.EmitVariants.empty(); }

  /// All groups; where the first is taken, up to it.
  llvm::Expected<std::vector<FoldTrial>> tryAll() {
    std::vector<FoldTrial> Trials;
    for (ParallelGroup &G : parallelGroups(Base.Arrays)) {
      if (isKept(G) || !isWantedRecord(describeGroup(Base, G, foldNames(Base.Arrays, G)), In.O))
        continue;
      GroupKey Key = keyOf(Base, G);
      if (const FoldTrial *Left = Known.find(Key)) {
        FoldTrial T;
        T.Described = Left->Described, T.Group = std::move(G);
        if (!Left->Silent)
          Trials.push_back(std::move(T));
        continue;
      }
      std::set<std::string> Kernels = kernelNames(Base, G);
      llvm::Expected<FoldTrial> T = tryGroup(Base, std::move(G), In);
      if (!T)
        return T.takeError();
      Known.add(std::move(Key), std::move(Kernels), *T);
      bool Taken = takesFirst() && T->moves();
      if (!T->Silent)
        Trials.push_back(std::move(*T));
      if (Taken)
        break;
    }
    return Trials;
  }

  /// The one that saves most; where layouts are forced, the first.
  FoldTrial *best(std::vector<FoldTrial> &Trials) const {
    double Most = 0;
    for (const FoldTrial &T : Trials)
      if (T.moves())
        Most = std::max(Most, T.saved());
    FoldTrial *Best = nullptr;
    for (FoldTrial &T : Trials) {
      if (!T.moves())
        continue;
      if (!In.O.Layout.empty())
        return &T;
      auto Size = [](const FoldTrial &One) { return std::pair(One.Group.Arrays.size(), -One.saved()); };
      if (T.saved() * EqualGains >= Most && (!Best || Size(T) < Size(*Best)))
        Best = &T;
    }
    return Best;
  }

  /// Groups that share a kernel and no array, those that save most by themselves first.
  std::vector<std::pair<const FoldTrial *, const FoldTrial *>> pairsOf(const std::vector<FoldTrial> &Trials) const {
    std::vector<std::pair<const FoldTrial *, const FoldTrial *>> Out;
    for (const FoldTrial &A : Trials)
      for (const FoldTrial &B : llvm::ArrayRef(Trials).drop_front(&A - Trials.data() + 1))
        if (A.Reading && B.Reading && !overlap(A, B) && shareKernel(Base, A, B))
          Out.emplace_back(&A, &B);
    auto Saved = [](const auto &P) { return P.first->saved() + P.second->saved(); };
    llvm::stable_sort(Out, [&](const auto &L, const auto &R) { return Saved(L) > Saved(R); });
    Out.resize(std::min<size_t>(Out.size(), MaxPairs));
    return Out;
  }

  /// Groups of one kernel, of which each gains a little: what binds the kernel
  /// may be both of them.
  llvm::Expected<std::optional<Pair>> bestPair(const std::vector<FoldTrial> &Trials) {
    std::vector<Pair> Good;
    double Most = 0;
    for (auto [A, B] : pairsOf(Trials)) {
      llvm::Expected<std::optional<Pair>> Two = tryPair(*A, *B);
      if (!Two)
        return Two.takeError();
      if (!*Two || (*Two)->Speedup < leastSpeedup(In.O))
        continue;
      Most = std::max(Most, (*Two)->Speedup);
      Good.push_back(std::move(**Two));
    }
    std::optional<Pair> Best;
    for (Pair &P : Good)
      if (P.Speedup * EqualGains >= Most && (!Best || P.arrays() < Best->arrays()))
        Best = std::move(P);
    return Best;
  }

  llvm::Expected<std::optional<Pair>> tryPair(const FoldTrial &A, const FoldTrial &B) {
    GroupKey Key = keyOf(Base, B.Group);
    FoldBase Next = after(A);
    for (ParallelGroup &G : parallelGroups(Next.Arrays)) {
      if (keyOf(Next, G) != Key)
        continue;
      llvm::Expected<FoldTrial> Second = tryGroup(Next, std::move(G), In);
      if (!Second)
        return Second.takeError();
      if (!Second->Reading)
        return std::nullopt;
      double Before = A.Before.total();
      for (const cost::KernelCost &K : B.Before.Kernels)
        if (llvm::none_of(A.Before.Kernels, [&](const cost::KernelCost &Other) { return Other.Name == K.Name; }))
          Before += K.Cycles * K.Calls;
      double Saved = A.saved() + Second->saved();
      Pair Out{A, std::move(*Second), Saved < Before ? Before / (Before - Saved) : 1};
      for (FoldTrial *T : {&Out.First, &Out.Second}) {
        T->Described.Outcome = Report::Status::Rewritten;
        T->Described.PredictedSpeedup = Out.Speedup;
        T->Described.Winner = T->Best->name().str();
      }
      return Out;
    }
    return std::nullopt;
  }

  /// The program with \p T folded.
  FoldBase after(const FoldTrial &T) const {
    FileNames Names = Base.Names;
    Names.follow(Base.Arrays.P.Text, *T.Text);
    std::map<std::string, const Layout *> Settled = Base.Settled;
    Settled[T.Record] = T.Best;
    return foldBase(*T.Reading, std::move(Names), std::move(Settled), In, std::make_shared<VariantCompiler>(*Base.Compiler));
  }

  void take(FoldTrial T) {
    if (!T.Group.Arrays.empty())
      Known.changed(kernelNames(Base, T.Group));
    Base = after(T);
    Out.Candidates.push_back(std::move(T.Described));
  }

  /// What is left: each array in one remark.
  void rest(std::vector<FoldTrial> &Trials) {
    for (size_t I = 0; I < Trials.size(); ++I)
      if (!In.O.EmitVariants.empty() ||
          llvm::none_of(llvm::ArrayRef(Trials).take_front(I), [&](const FoldTrial &T) { return overlap(T, Trials[I]); }))
        Out.Candidates.push_back(std::move(Trials[I].Described));
  }

  const FoldInput &In;
  FoldBase Base;
  Remembered Known;
  FoldedProgram Out;
};

} // namespace

llvm::Expected<FoldedProgram> foldArrays(ProgramReading Reading, const FoldInput &In) { return ArrayFolder(std::move(Reading), In).run(); }

} // namespace restride

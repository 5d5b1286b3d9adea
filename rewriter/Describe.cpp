#include "rewriter/Describe.h"
#include "rewriter/SiteEdits.h"

#include "llvm/Support/Path.h"

#include <map>

namespace restride {

static Report::Place place(const Location &L, llvm::StringRef File, llvm::StringRef Spelled) {
  return {L.File == File ? Spelled.str() : L.File, L.Line, L.Column};
}

Report::Refusal describe(const Refusal &R, llvm::StringRef File, llvm::StringRef Spelled) {
  return {R.Layout, place(R.Where, File, Spelled), R.Reason};
}

Report::Candidate describe(const Candidate &C, llvm::StringRef File, llvm::StringRef Spelled) {
  Report::Candidate Out;
  Out.Name = C.Name;
  Out.Array = C.Array;
  Out.At = place(C.Where, File, Spelled);
  Out.ArrayAt = place(C.ArrayWhere, File, Spelled);
  for (const Field &F : C.Type.Fields)
    Out.Fields.push_back(F.Name);
  Out.RecordBytes = C.Type.Size;
  for (const Refusal &R : C.Refusals)
    Out.Refusals.push_back(describe(R, File, Spelled));
  return Out;
}

/// Fields that lie together in one element of a layout's memory.
static std::vector<std::vector<std::string>> groups(const Record &R, const Layout &L) {
  std::vector<std::vector<std::string>> Out;
  for (const Field &F : R.Fields)
    if (L.elementIsRecord() && !Out.empty())
      Out.back().push_back(F.Name);
    else
      Out.push_back({F.Name});
  return Out;
}

namespace {

/// Offsets of lines in a text.
class Lines {
public:
  explicit Lines(llvm::StringRef Text) {
    Begins.push_back(0);
    for (size_t I = 0; I < Text.size(); ++I)
      if (Text[I] == '\n')
        Begins.push_back(I + 1);
  }
  unsigned offset(unsigned Line, unsigned Column) const {
    return Line == 0 || Line > Begins.size() ? 0 : Begins[Line - 1] + (Column ? Column - 1 : 0);
  }
  std::pair<unsigned, unsigned> lineAndColumn(unsigned Offset) const {
    auto At = std::upper_bound(Begins.begin(), Begins.end(), Offset);
    return {unsigned(At - Begins.begin()), Offset - *std::prev(At) + 1};
  }

private:
  std::vector<unsigned> Begins;
};

} // namespace

static std::string fieldName(const Access &A) {
  std::string Out;
  for (const Step &S : A.Path)
    Out += (Out.empty() ? "" : ".") + S.Member;
  return Out.empty() ? "*" : Out;
}

/// The smallest access of any candidate around \p Offset, or the one on the left
/// of the assignment operator there. "*" for whole elements.
static std::string fieldAt(const Program &P, unsigned Offset, llvm::StringRef Source) {
  const Access *Best = nullptr;
  for (const Candidate &C : P.Candidates)
    for (const Access &A : C.Accesses) {
      bool Assigned = A.Whole.End <= Offset && Source.slice(A.Whole.End, Offset).trim().empty();
      bool Around = A.Whole.Begin <= Offset && Offset < A.Whole.End;
      if ((Around || Assigned) && (!Best || A.Whole.End - A.Whole.Begin < Best->Whole.End - Best->Whole.Begin))
        Best = &A;
    }
  return Best ? fieldName(*Best) : "";
}

Report::Variant describe(const Candidate &C, const Program &P, const Layout &L, const cost::Score &S, const Rewritten &Text,
                         llvm::StringRef Source) {
  Report::Variant Out;
  Out.Layout = L.name().str();
  Out.Groups = groups(C.Type, L);
  Out.PredictedCycles = S.Cycles;
  Out.ConversionCycles = S.ConversionCycles;
  Lines New(Text.Text), Old(Source);
  for (const cost::KernelCost &K : S.Kernels) {
    Report::Kernel Kernel;
    Kernel.Name = kernelName(K.Name);
    Kernel.Calls = K.Calls;
    Kernel.Cycles = K.Cycles;
    Kernel.BoundBy = K.BoundBy;
    Kernel.Parts = {K.Parts.Issue, K.Parts.L1, K.Parts.L2, K.Parts.Dram, K.Parts.Latency};
    Kernel.Notes = K.Notes;
    for (const cost::AccessCost &A : K.Accesses) {
      Report::Access Access;
      Access.Bytes = A.Bytes;
      Access.SectorsPerRequest = A.SectorsPerRequest;
      if (A.Line && llvm::sys::path::filename(A.File) == llvm::sys::path::filename(P.File)) {
        unsigned At = Text.original(New.offset(A.Line, A.Column));
        std::tie(Access.Line, Access.Column) = Old.lineAndColumn(At);
        Access.Field = fieldAt(P, At, Source);
      }
      Kernel.Accesses.push_back(std::move(Access));
    }
    Out.Kernels.push_back(std::move(Kernel));
  }
  return Out;
}

} // namespace restride

#include "rewriter/decide/Describe.h"
#include "rewriter/decide/KernelNames.h"
#include "rewriter/write/SiteEdits.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <map>
#include <set>

namespace restride {

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

FileNames::FileNames(llvm::ArrayRef<const SourceCommand *> Commands) {
  for (const SourceCommand *C : Commands) {
    Known.push_back({C->File, C->SpelledFile});
    llvm::SmallString<256> Real;
    if (!llvm::sys::fs::real_path(C->File, Real))
      Known.push_back({Real.str().str(), C->SpelledFile});
  }
}

std::string FileNames::spell(llvm::StringRef Path) const {
  for (const auto &[File, Spelled] : Known)
    if (File == Path)
      return Spelled;
  llvm::SmallString<256> Here;
  if (!llvm::sys::fs::current_path(Here) && Path.starts_with((Here + "/").str()))
    return Path.substr(Here.size() + 1).str();
  return Path.str();
}

struct FileNames::Step {
  Step(const Sources &Before, const Rewritten &Now) : Before(Before), Now(Now) {
    for (size_t I = 0; I < Before.files().size(); ++I) {
      Old.emplace_back(Before.text(Before.files()[I].Text));
      New.emplace_back(Now.file(I));
    }
  }
  Sources Before;
  Rewritten Now;
  std::vector<Lines> Old, New; ///< of each file
};

void FileNames::follow(const Sources &Before, const Rewritten &Now) { Steps.push_back(std::make_shared<Step>(Before, Now)); }

Report::Place FileNames::place(const Location &L) const {
  unsigned Line = L.Line, Column = L.Column;
  for (const std::shared_ptr<const Step> &S : llvm::reverse(Steps))
    for (size_t I = 0; I < S->Before.files().size(); ++I)
      if (const SourceFile &F = S->Before.files()[I]; F.Path == L.File && Line) {
        unsigned Old = S->Now.original(S->Now.Files[I].Begin + S->New[I].offset(Line, Column));
        Old = std::clamp(Old, F.Text.Begin, F.Text.End);
        std::tie(Line, Column) = S->Old[I].lineAndColumn(Old - F.Text.Begin);
        break;
      }
  return {spell(L.File), Line, Column};
}

Report::Refusal describe(const Refusal &R, const FileNames &Names) { return {R.Layout, Names.place(R.Where), R.Reason}; }

Report::Candidate describe(const Candidate &C, const FileNames &Names) {
  Report::Candidate Out;
  Out.Name = C.Name;
  Out.Array = C.Array;
  Out.At = Names.place(C.Where);
  Out.ArrayAt = Names.place(C.ArrayWhere);
  for (const Field &F : C.Type.Fields)
    Out.Fields.push_back(F.Name);
  Out.RecordBytes = C.Type.Size;
  for (const Refusal &R : C.Refusals)
    Out.Refusals.push_back(describe(R, Names));
  return Out;
}

/// Fields that lie together in one element of a layout's memory.
static std::vector<std::vector<std::string>> groups(const Record &R, const Layout &L) {
  std::vector<std::vector<std::string>> Out;
  if (const Grouped *G = L.name() == "grouped" ? static_cast<const Grouped *>(&L) : nullptr) {
    for (const FieldGroup &One : G->groups())
      Out.push_back(One.Names);
    return Out;
  }
  for (const Field &F : R.Fields)
    if (L.elementIsRecord() && !Out.empty())
      Out.back().push_back(F.Name);
    else
      Out.push_back({F.Name});
  return Out;
}

static std::string fieldName(const Access &A) {
  std::string Out;
  for (const Step &S : A.Path)
    Out += (Out.empty() ? "" : ".") + S.Member;
  return Out.empty() ? "*" : Out;
}

/// The smallest access of any candidate around \p Offset, or the one on the left
/// of the assignment operator there. "*" for whole elements.
static std::string fieldAt(const Program &P, unsigned Offset) {
  const Access *Best = nullptr;
  for (const Candidate &C : P.Candidates)
    for (const Access &A : C.Accesses) {
      bool Assigned = A.Whole.End <= Offset && P.Text.text().slice(A.Whole.End, Offset).trim().empty();
      bool Around = A.Whole.Begin <= Offset && Offset < A.Whole.End;
      if ((Around || Assigned) && (!Best || A.Whole.End - A.Whole.Begin < Best->Whole.End - Best->Whole.Begin))
        Best = &A;
    }
  return Best ? fieldName(*Best) : "";
}

/// The file of \p P that the compiler calls \p Name, which may be relative or
/// lead through links.
static std::optional<size_t> fileNamed(llvm::StringRef Name, const Program &P) {
  std::optional<size_t> Best;
  llvm::StringRef Tail = Name;
  while (Tail.consume_front("./") || Tail.consume_front("../"))
    ;
  for (size_t I = 0; I < P.Text.files().size(); ++I) {
    llvm::StringRef Path = P.Text.files()[I].Path;
    if (Path == Name)
      return I;
    if (Path.ends_with(("/" + Tail).str()) && !Best)
      Best = I;
  }
  if (llvm::SmallString<256> Real; !Best && !llvm::sys::fs::real_path(Name, Real) && Real != Name)
    return fileNamed(Real, P);
  return Best;
}

namespace {

/// Where the accesses of a score stand in the program.
class AccessPlaces {
public:
  AccessPlaces(const Program &P, const Rewritten &Text) : P(P), Text(Text) {}

  /// The file and the offset in the program's text.
  std::optional<std::pair<size_t, unsigned>> operator()(const cost::AccessCost &A) { return (*this)(A.File, A.Line, A.Column); }
  std::optional<std::pair<size_t, unsigned>> operator()(llvm::StringRef File, unsigned Line, unsigned Column) {
    if (!Line)
      return std::nullopt;
    auto [Named, IsNew] = Names.try_emplace(File);
    if (IsNew)
      Named->second = fileNamed(File, P);
    std::optional<size_t> I = Named->second;
    if (!I)
      return std::nullopt;
    Range Old = P.Text.files()[*I].Text;
    auto At = Known.find(*I);
    if (At == Known.end())
      At = Known.try_emplace(*I, Lines(Text.file(*I))).first;
    unsigned Offset = Text.original(Text.Files[*I].Begin + At->second.offset(Line, Column));
    if (Offset < Old.Begin || Old.End < Offset)
      return std::nullopt;
    return {{*I, Offset}};
  }

private:
  const Program &P;
  const Rewritten &Text;
  llvm::StringMap<std::optional<size_t>> Names; // of files, in the compiler's words
  std::map<size_t, Lines> Known;                // of a file's new text
};

} // namespace

FieldUse fieldUse(const Program &P, const cost::Score &S, const Rewritten &Text) {
  FieldUse Out;
  AccessPlaces Places(P, Text);
  llvm::StringRef Source = P.Text.text();
  auto FirstName = [](const std::string &Field) { return Field.substr(0, Field.find('.')); };
  for (const cost::KernelCost &K : S.Kernels) {
    FieldUse Beside; // fields in the same line, equally: several loads of one expression may share a place
    for (const cost::AccessCost &A : K.Accesses) {
      auto At = Places(A);
      if (!At)
        continue;
      double Requests = A.RequestsPerWarp * K.Calls;
      auto add = [&](KernelUse &Use, double Requests) {
        Use.Requests += Requests;
        Use.Writes |= A.IsStore || A.IsAtomic;
      };
      if (std::string Field = fieldAt(P, At->second); !Field.empty())
        add(Out[FirstName(Field)][K.Name], Requests);
      Range Line{unsigned(Source.rfind('\n', At->second) + 1), unsigned(std::min(Source.find('\n', At->second), Source.size()))};
      std::set<std::string> InLine;
      for (const Candidate &C : P.Candidates)
        for (const restride::Access &One : C.Accesses)
          if (Line.contains(One.Whole))
            InLine.insert(FirstName(fieldName(One)));
      for (const std::string &Field : InLine)
        add(Beside[Field][K.Name], Requests / double(InLine.size()));
    }
    for (const auto &[Field, Use] : Beside)
      Out[Field].insert(Use.begin(), Use.end());
  }
  return Out;
}

Report::Variant describe(const Candidate &C, const Program &P, const Layout &L, const cost::Score &S, const Rewritten &Text,
                         const FileNames &Names) {
  Report::Variant Out;
  Out.Layout = L.name().str();
  Out.Groups = groups(C.Type, L);
  Out.PredictedCycles = S.Cycles;
  Out.ConversionCycles = S.ConversionCycles;
  AccessPlaces Places(P, Text);
  auto Place = [&](std::pair<size_t, unsigned> At) {
    const SourceFile &File = P.Text.files()[At.first];
    auto [Line, Column] = Lines(P.Text.text(File.Text)).lineAndColumn(At.second - File.Text.Begin);
    return Names.place({File.Path, Line, Column});
  };
  for (const cost::KernelCost &K : S.Kernels) {
    Report::Kernel Kernel;
    Kernel.Name = kernelName(K.Name);
    Kernel.Calls = K.Calls;
    Kernel.Cycles = K.Cycles;
    Kernel.BoundBy = K.BoundBy;
    Kernel.Parts = {K.Parts.Issue, K.Parts.L1, K.Parts.L2, K.Parts.Dram, K.Parts.Latency};
    Kernel.Notes = K.Notes;
    for (const cost::PlacedNote &N : K.LoopNotes) {
      auto At = Places(N.File, N.Line, N.Column);
      std::string Note = (At ? "the loop at line " + std::to_string(Place(*At).Line) : "a loop") + " " + N.Text;
      if (!llvm::is_contained(Kernel.Notes, Note))
        Kernel.Notes.push_back(std::move(Note));
    }
    Kernel.L2Bytes = K.L2Bytes, Kernel.DramBytes = K.DramBytes;
    const cost::Residency &R = K.Resident;
    Kernel.Resident = {R.GridBlocks, R.WarpsPerBlock, R.Blocks, R.Occupancy, R.LimitedBy, R.ThreadRegisters, R.RegistersEstimated};
    for (const cost::AccessCost &A : K.Accesses) {
      Report::Access Access;
      Access.Bytes = A.Bytes;
      Access.SectorsPerRequest = A.SectorsPerRequest;
      Access.RequestsPerWarp = A.RequestsPerWarp;
      Access.Kind = A.IsAtomic ? "atomic" : A.IsStore ? "store" : "load";
      Access.Indirect = A.Indirect;
      Access.FromL1 = A.From.L1, Access.FromL2 = A.From.L2, Access.FromDram = A.From.Dram;
      Access.Lanes = A.Lanes, Access.Mask = A.Mask;
      if (auto At = Places(A)) {
        Report::Place Where = Place(*At);
        Access.File = Where.File, Access.Line = Where.Line, Access.Column = Where.Column;
        Access.Field = fieldAt(P, At->second);
      }
      Kernel.Accesses.push_back(std::move(Access));
    }
    for (const cost::FlowNode &N : K.Flow) {
      Report::FlowNode Node{{}, N.Weight, N.Cost, N.Instructions, N.Accesses, N.Trips, N.Counted, N.Next};
      cost::AccessCost Where;
      Where.Line = N.Line, Where.Column = N.Column, Where.File = N.File;
      if (auto At = Places(Where)) {
        const SourceFile &File = P.Text.files()[At->first];
        auto [Line, Column] = Lines(P.Text.text(File.Text)).lineAndColumn(At->second - File.Text.Begin);
        Node.At = Names.place({File.Path, Line, Column});
      }
      Kernel.Flow.push_back(std::move(Node));
    }
    Out.Kernels.push_back(std::move(Kernel));
  }
  return Out;
}

} // namespace restride

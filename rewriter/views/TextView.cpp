#include "rewriter/views/TextView.h"

#include "rewriter/views/Explanation.h"
#include "rewriter/views/GainNotes.h"
#include "rewriter/views/ScoreTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

namespace restride {
using namespace llvm;

static void printPlace(const Report::Place &At, raw_ostream &OS) {
  if (At.File.empty())
    return;
  WithColor Bold(OS, raw_ostream::SAVEDCOLOR, /*Bold=*/true);
  Bold << At.File << ':';
  if (At.Line)
    Bold << At.Line << ':';
  if (At.Line && At.Column)
    Bold << At.Column << ':';
  Bold << ' ';
}

static void printDiagnostic(const Report::Place &At, StringRef Level, raw_ostream::Colors Color, const Twine &Text,
                            raw_ostream &OS) {
  printPlace(At, OS);
  WithColor(OS, Color, /*Bold=*/true) << Level << ": ";
  OS << Text << '\n';
}

/// Why a candidate that could be laid out anew keeps its layout.
static std::string reasonToStay(const Report::Candidate &C, StringRef Gpu) {
  if (C.Variants.size() == 1)
    return "no other layout is asked for, or legal";
  auto total = [](const Report::Variant &V) { return V.PredictedCycles + V.ConversionCycles; };
  const Report::Variant &Fastest =
      *min_element(C.Variants, [&](const Report::Variant &A, const Report::Variant &B) { return total(A) < total(B); });
  double Speedup = total(Fastest) > 0 ? total(C.Variants.front()) / total(Fastest) : 1;
  if (Speedup < 1.005) // 1.00x in the table
    return ("no layout is predicted to be faster on " + Gpu).str();
  return formatv("{0} is predicted {1:f2}x on {2}, less than MinSpeedup or than what launches vary by", Fastest.Layout, Speedup, Gpu);
}

/// What became of a candidate, as the end of "array of 'P' ('p') ...".
static std::string outcome(const Report::Candidate &C, StringRef Gpu) {
  std::string Speedup = formatv("predicted {0:f2}x on {1}", C.PredictedSpeedup, Gpu);
  switch (C.Outcome) {
  case Report::Status::Kept:
    if (C.Variants.empty() && !C.Winner.empty())
      return "is kept as the configuration says";
    return C.Variants.empty() ? "can be laid out anew" : "stays as it is: " + reasonToStay(C, Gpu);
  case Report::Status::Rewritten:
    return "is faster as " + C.Winner + ": " + Speedup;
  case Report::Status::Forced:
    return "becomes " + C.Winner + " as asked: " + Speedup;
  case Report::Status::Refused:
    return "is left alone";
  }
  return "";
}

/// The same of parallel arrays.
static std::string groupOutcome(const Report::Candidate &C, StringRef Gpu) {
  std::string Speedup = formatv("predicted {0:f2}x on {1}", C.PredictedSpeedup, Gpu), As = " one array of '" + C.Name + "' in " + C.Winner;
  switch (C.Outcome) {
  case Report::Status::Kept:
    return C.Variants.empty() ? "can be one array of '" + C.Name + "'"
                              : "stay as they are: " + reasonToStay(C, Gpu);
  case Report::Status::Rewritten:
    return "are faster as" + As + ": " + Speedup;
  case Report::Status::Forced:
    return "become" + As + " as asked: " + Speedup;
  case Report::Status::Refused:
    return "are left alone";
  }
  return "";
}

/// One note for all layouts that are refused at one place for one reason.
static void printRefusals(const std::vector<Report::Refusal> &Refusals, raw_ostream &OS) {
  for (size_t I = 0; I < Refusals.size(); ++I) {
    auto SameAsThis = [&](const Report::Refusal &R) {
      return R.Reason == Refusals[I].Reason && R.At.File == Refusals[I].At.File && R.At.Line == Refusals[I].At.Line &&
             R.At.Column == Refusals[I].At.Column;
    };
    if (any_of(ArrayRef(Refusals).take_front(I), SameAsThis))
      continue;
    std::vector<std::string> Layouts;
    for (const Report::Refusal &R : make_filter_range(ArrayRef(Refusals).drop_front(I), SameAsThis))
      if (!R.Layout.empty())
        Layouts.push_back(R.Layout);
    std::string Who = Layouts.empty() ? "" : join(Layouts, ", ") + " ";
    printDiagnostic(Refusals[I].At, "note", raw_ostream::BLACK, Who + "refused: " + Refusals[I].Reason, OS);
  }
}

std::string finding(const Report::Candidate &C, StringRef Gpu) {
  if (C.SourceLayout == "parallel")
    return "parallel arrays '" + C.Array + "' " + groupOutcome(C, Gpu);
  return "array of '" + C.Name + "'" + (C.Array.empty() ? "" : " ('" + C.Array + "')") + " " + outcome(C, Gpu);
}

void printText(const Report &R, raw_ostream &OS) {
  for (const Report::Candidate &C : R.Candidates) {
    printDiagnostic(C.At, "remark", raw_ostream::BLUE, finding(C, R.Gpu) + " [restride]", OS);
    if (C.Outcome != Report::Status::Refused)
      for (const auto &[At, Text] : gainNotes(C))
        printDiagnostic(At, "note", raw_ostream::BLACK, Text, OS);
    printRefusals(C.Refusals, OS);
    printScoreTable(C, OS);
    printExplanation(C, OS);
  }
  for (const std::string &Warning : R.Warnings)
    printDiagnostic({}, "warning", raw_ostream::MAGENTA, Warning, OS);
}

} // namespace restride

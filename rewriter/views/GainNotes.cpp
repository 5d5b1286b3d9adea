#include "rewriter/views/GainNotes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

namespace restride {
using namespace llvm;

/// More would hide the table.
static constexpr size_t MostNotes = 3;
/// Fewer sectors by less than this are no gain worth a line.
static constexpr double WorthANote = 1.1;

namespace {

/// The accesses of one kind in one line, all kernels and launches.
struct LineTraffic {
  double Requests = 0, Sectors = 0;
  unsigned Column = 0;
  std::vector<std::string> Fields;
  double perRequest() const { return Requests > 0 ? Sectors / Requests : 0; }
};

using LineKey = std::tuple<std::string, unsigned, std::string>; // file, line, kind

} // namespace

static std::map<LineKey, LineTraffic> trafficOf(const Report::Variant &V) {
  std::map<LineKey, LineTraffic> Out;
  for (const Report::Kernel &K : V.Kernels)
    for (const Report::Access &A : K.Accesses) {
      if (!A.Line || A.Field.empty())
        continue;
      LineTraffic &T = Out[{A.File, A.Line, A.Kind}];
      double Requests = A.RequestsPerWarp * K.Calls;
      T.Requests += Requests;
      T.Sectors += Requests * A.SectorsPerRequest;
      T.Column = T.Column ? std::min(T.Column, A.Column) : A.Column;
      std::string Name = A.Field == "*" ? "whole elements" : "'" + A.Field + "'";
      if (!is_contained(T.Fields, Name))
        T.Fields.push_back(Name);
    }
  return Out;
}

std::vector<std::pair<Report::Place, std::string>> gainNotes(const Report::Candidate &C) {
  std::vector<std::pair<Report::Place, std::string>> Out;
  auto Winner = find_if(C.Variants, [&](const Report::Variant &V) { return V.Layout == C.Winner; });
  if (Winner == C.Variants.end() || Winner == C.Variants.begin())
    return Out;
  std::map<LineKey, LineTraffic> Before = trafficOf(C.Variants.front()), After = trafficOf(*Winner);
  std::vector<std::pair<double, LineKey>> BySaved;
  for (const auto &[Key, Old] : Before)
    if (auto New = After.find(Key); New != After.end() && Old.Sectors > New->second.Sectors * WorthANote)
      BySaved.push_back({New->second.Sectors - Old.Sectors, Key});
  sort(BySaved);
  for (const auto &[Saved, Key] : ArrayRef(BySaved).take_front(MostNotes)) {
    const LineTraffic &Old = Before[Key], &New = After[Key];
    auto [File, Line, Kind] = Key;
    std::string Text = formatv("{0} of {1}: {2:f1} sectors per request as {3}, {4:f1} as {5}", Kind, join(Old.Fields, ", "), Old.perRequest(),
                               C.Variants.front().Layout, New.perRequest(), C.Winner);
    if (New.Requests * WorthANote < Old.Requests)
      Text += formatv(", in {0:f2} times as many requests", New.Requests / Old.Requests);
    Out.push_back({{File, Line, Old.Column}, std::move(Text)});
  }
  return Out;
}

} // namespace restride

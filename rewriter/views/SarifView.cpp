#include "rewriter/views/SarifView.h"

#include "rewriter/views/TextView.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace restride {
using namespace llvm;

/// A path as a URI reference, which names the file from the root of the checkout
/// where it is relative.
static std::string uriOf(StringRef Path) {
  std::string Out = Path.starts_with("/") ? "file://" : "";
  for (char C : Path)
    if (isAlnum(C) || StringRef("/-._~").contains(C))
      Out += C;
    else
      Out += "%" + toHex(StringRef(&C, 1));
  return Out;
}

static json::Object locationOf(const Report::Place &P) {
  json::Object Physical{{"artifactLocation", json::Object{{"uri", uriOf(P.File)}}}};
  if (P.Line) {
    json::Object Region{{"startLine", P.Line}};
    if (P.Column)
      Region["startColumn"] = P.Column;
    Physical["region"] = std::move(Region);
  }
  return json::Object{{"physicalLocation", std::move(Physical)}};
}

static json::Object messageOf(StringRef Text) { return json::Object{{"text", json::fixUTF8(Text)}}; }

static json::Object resultOf(const Report::Candidate &C, StringRef Gpu) {
  bool Refused = C.Outcome == Report::Status::Refused;
  std::string Text = finding(C, Gpu);
  json::Array Related;
  for (const Report::Refusal &R : C.Refusals) {
    if (!Refused)
      break;
    json::Object Place = locationOf(R.At);
    Place["message"] = messageOf(R.Reason);
    Related.push_back(std::move(Place));
    if (Related.size() == 1)
      Text += ": " + R.Reason;
  }
  json::Object Out{{"ruleId", Refused ? "refused" : "layout"},
                   {"level", Refused ? "note" : "warning"},
                   {"message", messageOf(Text)},
                   {"locations", json::Array{locationOf(C.At)}}};
  if (!Related.empty())
    Out["relatedLocations"] = std::move(Related);
  return Out;
}

static json::Object rule(StringRef Id, StringRef What) {
  return json::Object{{"id", Id}, {"shortDescription", messageOf(What)}};
}

void printSarif(const Report &R, raw_ostream &OS) {
  json::Array Results;
  for (const Report::Candidate &C : R.Candidates)
    if (C.Outcome != Report::Status::Kept)
      Results.push_back(resultOf(C, R.Gpu));
  json::Object Driver{{"name", "restride"},
                      {"version", RESTRIDE_VERSION},
                      {"rules", json::Array{rule("layout", "An array is faster in another layout"),
                                            rule("refused", "An array is left alone, as some use of it is not understood")}}};
  json::Object Run{{"tool", json::Object{{"driver", std::move(Driver)}}}, {"results", std::move(Results)}};
  OS << formatv("{0:2}\n",
                json::Value(json::Object{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                                         {"version", "2.1.0"},
                                         {"runs", json::Array{std::move(Run)}}}));
}

} // namespace restride

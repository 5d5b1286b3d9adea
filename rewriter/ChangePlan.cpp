#include "rewriter/ChangePlan.h"

#include "rewriter/read/Packed.h"
#include "rewriter/views/Diff.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace restride {
using namespace llvm;

/// Of the plan's form.
static constexpr int64_t Version = 1;

static std::string spellPlace(const Report::Place &P) {
  return P.File + ":" + std::to_string(P.Line) + ":" + std::to_string(P.Column);
}

static json::Object arrayJson(const Report::Candidate &C) {
  json::Array Reasons;
  for (const Report::Refusal &R : C.Refusals)
    Reasons.push_back(json::fixUTF8((R.Layout.empty() ? "" : R.Layout + ": ") + spellPlace(R.At) + ": " + R.Reason));
  return json::Object{{"record", json::fixUTF8(C.Name)},
                      {"array", json::fixUTF8(C.Array)},
                      {"at", json::fixUTF8(spellPlace(C.At))},
                      {"status", spell(C.Outcome)},
                      {"source_layout", C.SourceLayout},
                      {"layout", C.Winner.empty() ? C.SourceLayout : C.Winner},
                      {"predicted_speedup", C.PredictedSpeedup},
                      {"refusals", std::move(Reasons)}};
}

static Expected<json::Object> fileJson(const Report::Change &Change) {
  if (!json::isUTF8(Change.File))
    return createStringError("cannot write a plan for '" + Change.File + "': its name is not UTF-8");
  Expected<std::vector<Hunk>> Hunks = hunks(Change);
  if (!Hunks)
    return Hunks.takeError();
  json::Array Edits;
  for (const Hunk &H : *Hunks) {
    json::Object Edit{{"line", int64_t(1 + StringRef(Change.Before).take_front(H.Offset).count('\n'))},
                      {"offset", int64_t(H.Offset)},
                      {"length", int64_t(H.Length)}};
    if (json::isUTF8(H.Text))
      Edit["text"] = H.Text;
    else
      Edit["base64"] = encodeBase64(H.Text);
    Edits.push_back(std::move(Edit));
  }
  return json::Object{{"file", Change.File}, {"before", hashOf(Change.Before)}, {"after", hashOf(Change.After)}, {"edits", std::move(Edits)}};
}

Expected<std::string> planText(const Report &R) {
  json::Array Arrays, Files;
  for (const Report::Candidate &C : R.Candidates)
    Arrays.push_back(arrayJson(C));
  for (const Report::Change &Change : R.Changes) {
    Expected<json::Object> File = fileJson(Change);
    if (!File)
      return File.takeError();
    Files.push_back(std::move(*File));
  }
  json::Value All = json::Object{{"version", Version},       {"restride", RESTRIDE_VERSION}, {"gpu", R.Gpu},
                                 {"cost_model", R.CostModel}, {"arrays", std::move(Arrays)},  {"files", std::move(Files)}};
  return formatv("{0:2}\n", All).str();
}

/// The text of an edit; nothing where the plan is broken.
static std::optional<std::string> textOf(const json::Object &Edit) {
  if (std::optional<StringRef> Text = Edit.getString("text"))
    return Text->str();
  std::optional<StringRef> Encoded = Edit.getString("base64");
  std::vector<char> Bytes;
  if (!Encoded)
    return std::nullopt;
  if (Error E = decodeBase64(*Encoded, Bytes)) {
    consumeError(std::move(E)); // the plan is damaged, as the caller says
    return std::nullopt;
  }
  return std::string(Bytes.begin(), Bytes.end());
}

/// \p Before with the edits made; nothing where the plan is broken.
static std::optional<std::string> edited(StringRef Before, const json::Array &Edits) {
  std::string Out;
  size_t At = 0;
  for (const json::Value &V : Edits) {
    const json::Object *Edit = V.getAsObject();
    std::optional<int64_t> Offset = Edit ? Edit->getInteger("offset") : std::nullopt, Length = Edit ? Edit->getInteger("length") : std::nullopt;
    std::optional<std::string> Text = Edit ? textOf(*Edit) : std::nullopt;
    if (!Offset || !Length || !Text || *Offset < int64_t(At) || *Length < 0 || *Offset > int64_t(Before.size()) ||
        *Length > int64_t(Before.size()) - *Offset)
      return std::nullopt;
    Out += Before.slice(At, *Offset);
    Out += *Text;
    At = *Offset + *Length;
  }
  Out += Before.drop_front(At);
  return Out;
}

Expected<ChangePlan> readPlan(const std::string &Path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path);
  if (!Buffer)
    return createStringError("cannot read '" + Path + "': " + Buffer.getError().message());
  Expected<json::Value> All = json::parse((*Buffer)->getBuffer());
  if (!All)
    return createStringError("'" + Path + "' is no plan: " + toString(All.takeError()));
  const json::Object *Root = All->getAsObject();
  const json::Array *Files = Root ? Root->getArray("files") : nullptr;
  if (!Files || !Root->getInteger("version"))
    return createStringError("'" + Path + "' is no plan that --decide wrote");
  if (*Root->getInteger("version") != Version)
    return createStringError("'" + Path + "' is a plan of another version of restride; run --decide again");
  ChangePlan Out;
  std::string OfAnotherText;
  size_t Applied = 0;
  auto Damaged = [&] { return createStringError("'" + Path + "' is damaged; run --decide again"); };
  for (const json::Value &V : *Files) {
    const json::Object *File = V.getAsObject();
    std::optional<StringRef> Name = File ? File->getString("file") : std::nullopt, Before = File ? File->getString("before") : std::nullopt,
                             After = File ? File->getString("after") : std::nullopt;
    const json::Array *Edits = File ? File->getArray("edits") : nullptr;
    if (!Name || !Before || !After || !Edits)
      return Damaged();
    ErrorOr<std::unique_ptr<MemoryBuffer>> Now = MemoryBuffer::getFile(*Name, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!Now)
      return createStringError("cannot read '" + *Name + "': " + Now.getError().message());
    std::string Hash = hashOf((*Now)->getBuffer());
    if (Hash == *After) {
      ++Applied;
    } else if (Hash != *Before) {
      return createStringError("'" + *Name + "' changed since the plan was made; run --collect and --decide again");
    } else {
      OfAnotherText = Name->str();
      std::optional<std::string> Text = edited((*Now)->getBuffer(), *Edits);
      if (!Text || hashOf(*Text) != *After)
        return Damaged();
      Out.Changes.push_back({Name->str(), (*Now)->getBuffer().str(), std::move(*Text)});
    }
  }
  if (Applied > 0 && !Out.Changes.empty())
    return createStringError("'" + OfAnotherText + "' is as it was before the plan, and other files are as after it; run --collect and --decide again");
  Out.Applied = Applied > 0;
  return Out;
}

} // namespace restride

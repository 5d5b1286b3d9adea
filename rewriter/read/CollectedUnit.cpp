#include "rewriter/read/CollectedUnit.h"

#include "rewriter/read/InputStamps.h"
#include "rewriter/read/LoadedAst.h"
#include "rewriter/read/Packed.h"

#include "clang/Basic/Version.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace restride {
using namespace llvm;

static constexpr StringRef Ending = ".facts";

/// Of the file's form, and of what only the same Clang can read.
static std::string header() { return "restride facts 1 " RESTRIDE_VERSION " " + clang::getClangFullVersion() + "\n"; }

bool CollectedUnit::reads(StringRef Path) const {
  return is_contained(Host.UserFiles, Path) || (Device && is_contained(Device->UserFiles, Path));
}

std::string collectedFile(StringRef Folder, const SourceCommand &Command) {
  SmallString<256> Path(Folder), Current, Plain(Command.File);
  sys::path::remove_dots(Plain, /*remove_dot_dot=*/true);
  StringRef File = Plain;
  if (!sys::fs::current_path(Current))
    File.consume_front((Current + "/").str());
  sys::path::append(Path, File + Ending);
  return Path.str().str();
}

Expected<std::vector<std::string>> collectedFiles(StringRef Folder) {
  std::vector<std::string> Out;
  std::error_code EC;
  for (sys::fs::recursive_directory_iterator I(Folder, EC), End; I != End && !EC; I.increment(EC))
    if (StringRef(I->path()).ends_with(Ending))
      Out.push_back(I->path());
  if (EC)
    return createStringError("cannot read '" + Folder + "': " + EC.message());
  if (Out.empty())
    return createStringError("'" + Folder + "' has no facts; run restride --collect=" + Folder + " before");
  sort(Out);
  return Out;
}

static void putSide(std::string &To, const CollectedSide &S) {
  put(To, S.Ast);
  std::vector<std::string> Skipped;
  for (const SkippedRange &R : S.Skipped)
    for (const std::string &Part : {R.File, utostr(R.Begin), utostr(R.End)})
      Skipped.push_back(Part);
  putList(To, Skipped);
  putList(To, S.UserFiles);
}

std::string packUnit(const CollectedUnit &U) {
  RunInputs Inputs;
  Inputs.Files = U.Files;
  std::string Body = stampsOf(Inputs);
  const SourceCommand &C = U.Command;
  putList(Body, {C.File, C.SpelledFile, C.Directory, C.Arch.value_or(""), U.Toolkit, C.InDatabase ? "database" : ""});
  for (const std::vector<std::string> &List : {C.Flags, C.Archs, C.ReadFrom, C.Dropped, U.NvccMacros})
    putList(Body, List);
  for (const std::set<std::string> &Set : {U.Read, U.Files})
    putList(Body, std::vector<std::string>(Set.begin(), Set.end()));
  putSide(Body, U.Host);
  put(Body, U.Device ? "device" : "");
  if (U.Device)
    putSide(Body, *U.Device);
  put(Body, U.PtxKey);
  put(Body, U.Ptx);
  std::string Out = header();
  put(Out, hashOf(Body));
  return Out + Body;
}

static bool takeSide(StringRef &From, CollectedSide &Out) {
  std::optional<StringRef> Ast = take(From);
  std::optional<std::vector<std::string>> Skipped = takeList(From), Files = takeList(From);
  if (!Ast || !Skipped || !Files || Skipped->size() % 3)
    return false;
  Out.Ast = *Ast;
  Out.UserFiles = std::move(*Files);
  for (size_t I = 0; I < Skipped->size(); I += 3) {
    SkippedRange R{(*Skipped)[I], 0, 0};
    if (StringRef((*Skipped)[I + 1]).getAsInteger(10, R.Begin) || StringRef((*Skipped)[I + 2]).getAsInteger(10, R.End))
      return false;
    Out.Skipped.push_back(std::move(R));
  }
  return true;
}

/// What stands behind the stamps.
static bool takeUnit(StringRef &From, CollectedUnit &U) {
  std::optional<std::vector<std::string>> Words = takeList(From);
  if (!Words || Words->size() != 6)
    return false;
  SourceCommand &C = U.Command;
  C.File = (*Words)[0];
  C.SpelledFile = (*Words)[1];
  C.Directory = (*Words)[2];
  if (!(*Words)[3].empty())
    C.Arch = (*Words)[3];
  U.Toolkit = (*Words)[4];
  C.InDatabase = !(*Words)[5].empty();
  for (std::vector<std::string> *List : {&C.Flags, &C.Archs, &C.ReadFrom, &C.Dropped, &U.NvccMacros}) {
    std::optional<std::vector<std::string>> Taken = takeList(From);
    if (!Taken)
      return false;
    *List = std::move(*Taken);
  }
  std::optional<std::vector<std::string>> Read = takeList(From), Files = takeList(From);
  if (!Read || !Files || !takeSide(From, U.Host))
    return false;
  U.Read.insert(Read->begin(), Read->end());
  U.Files.insert(Files->begin(), Files->end());
  std::optional<StringRef> Device = take(From);
  if (!Device || (!Device->empty() && !takeSide(From, U.Device.emplace())))
    return false;
  std::optional<StringRef> Key = take(From), Ptx = take(From);
  if (!Key || !Ptx || !From.empty())
    return false;
  U.PtxKey = Key->str();
  U.Ptx = *Ptx;
  return true;
}

Expected<std::shared_ptr<const CollectedUnit>> readUnitFile(const std::string &Path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(Path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!Buffer)
    return createStringError("cannot read '" + Path + "': " + Buffer.getError().message());
  auto Out = std::make_shared<CollectedUnit>();
  Out->File = std::move(*Buffer);
  StringRef Rest = Out->File->getBuffer();
  std::string Again = "; run --collect again";
  if (!Rest.consume_front(header()))
    return createStringError("'" + Path + "' " + (Rest.starts_with("restride facts ") ? "is of another version of restride" : "is damaged") + Again);
  std::optional<StringRef> Hash = take(Rest);
  if (!Hash || *Hash != hashOf(Rest))
    return createStringError("'" + Path + "' is damaged" + Again);
  std::optional<std::string> Changed = changedInput(Rest);
  if (Changed && !Changed->empty())
    return createStringError("'" + *Changed + "' changed since '" + Path + "' was collected" + Again);
  if (Changed || !takeUnit(Rest, *Out))
    return createStringError("'" + Path + "' is damaged" + Again);
  return Out;
}

Expected<ParsedSource> loadSide(const CollectedUnit &U, ptx::Side Side) {
  const CollectedSide &From = Side == ptx::Side::Host ? U.Host : *U.Device;
  std::shared_ptr<clang::ASTUnit> Ast = loadAst(From.Ast, U.Command);
  if (!Ast)
    return createStringError("the facts of '" + U.Command.SpelledFile + "' cannot be used by this Clang; run --collect again");
  return ParsedSource{std::move(Ast), From.UserFiles, From.Skipped, U.Read, U.NvccMacros, "", ""};
}

} // namespace restride

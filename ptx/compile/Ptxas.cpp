#include "ptx/compile/Ptxas.h"
#include "ptx/compile/TemporaryFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"

#include <vector>

namespace restride::ptx {
using namespace llvm;

namespace {

struct Kernel {
  std::string Name;
  std::string Text; ///< less what changes with its place in source and module
};

} // namespace

/// "move" of ".visible .entry move(".
static StringRef entryName(StringRef Line) {
  size_t At = Line.find(".entry ");
  return At == StringRef::npos || !Line.starts_with(".") ? "" : Line.substr(At + 7).take_until([](char C) { return C == '(' || isSpace(C); });
}

/// Appends a line. Line tables say nothing about registers, and labels carry the function's number.
static void append(std::string &Text, StringRef Line) {
  Line = Line.split("//").first.trim();
  if (Line.empty() || Line.starts_with(".loc") || Line.starts_with(".file") || Line.starts_with("$L__tmp") || Line.starts_with("$L__func"))
    return;
  constexpr StringLiteral Label = "$L__BB";
  for (size_t At; (At = Line.find(Label)) != StringRef::npos;) {
    Text += Line.take_front(At + Label.size());
    Line = Line.drop_front(At + Label.size()).drop_while([](char C) { return isDigit(C); });
  }
  Text += Line;
  Text += '\n';
}

/// A kernel's text starts with its name and ends with what it may call.
static std::vector<Kernel> kernelsOf(StringRef Ptx) {
  std::vector<Kernel> Out;
  std::string Shared;
  bool Inside = false;
  for (StringRef Line : split(Ptx, '\n')) {
    if (Line.trim().starts_with(".section")) // debug information
      break;
    if (StringRef Name = entryName(Line); !Name.empty()) {
      Out.push_back({Name.str(), ""});
      Inside = true;
    }
    append(Inside ? Out.back().Text : Shared, Line);
    Inside &= Line.rtrim() != "}";
  }
  for (Kernel &K : Out)
    K.Text += Shared;
  return Out;
}

/// "ptxas info    : Compiling entry function '_Z4movePf' for 'sm_90'" and, later, "Used 16 registers, …".
static StringMap<unsigned> readUsage(StringRef Log) {
  StringMap<unsigned> Out;
  StringRef Name;
  for (StringRef Line : split(Log, '\n')) {
    unsigned Count = 0;
    if (StringRef Quoted = Line.split("Compiling entry function '").second; !Quoted.empty())
      Name = Quoted.split('\'').first;
    else if (!Name.empty() && !Line.split(": Used ").second.split(' ').first.getAsInteger(10, Count))
      Out[std::exchange(Name, "")] = Count;
  }
  return Out;
}

static Expected<StringMap<unsigned>> assemble(StringRef Ptx, const std::string &Ptxas, const std::string &Arch, ArrayRef<Kernel> Kernels) {
  Expected<TemporaryFile> In = TemporaryFile::create("ptx", Ptx);
  if (!In)
    return In.takeError();
  Expected<TemporaryFile> Log = TemporaryFile::create("log");
  if (!Log)
    return Log.takeError();
  std::vector<std::string> Args = {Ptxas, "-v", "-arch=" + Arch, In->path().str(), "-o", "/dev/null"};
  for (const Kernel &K : Kernels)
    Args.push_back("--entry=" + K.Name);
  std::vector<StringRef> Words(Args.begin(), Args.end());
  std::optional<StringRef> Redirects[] = {StringRef(), Log->path(), Log->path()};
  if (sys::ExecuteAndWait(Ptxas, Words, /*Env=*/std::nullopt, Redirects) != 0)
    return StringMap<unsigned>();
  Expected<std::string> Said = Log->read();
  return Said ? readUsage(*Said) : Expected<StringMap<unsigned>>(Said.takeError());
}

Expected<StringMap<unsigned>> RegisterCounts::of(StringRef Ptx) {
  StringMap<unsigned> Out;
  std::vector<Kernel> Kernels = kernelsOf(Ptx), New;
  {
    std::lock_guard<std::mutex> Guard(Lock);
    for (Kernel &K : Kernels)
      if (auto At = Known.find(K.Text); At != Known.end())
        Out[K.Name] = At->second;
      else
        New.push_back(std::move(K));
  }
  if (New.empty())
    return Out;
  Expected<StringMap<unsigned>> Counted = assemble(Ptx, Ptxas, Arch, New);
  if (!Counted)
    return Counted.takeError();
  std::lock_guard<std::mutex> Guard(Lock);
  for (Kernel &K : New)
    if (auto At = Counted->find(K.Name); At != Counted->end())
      Out[K.Name] = Known[K.Text] = At->second;
  return Out;
}

} // namespace restride::ptx

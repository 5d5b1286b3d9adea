// nvcc reads and writes files, so each variant is a temporary tree of sources
// and one temporary result. Where a header changes, the tree has all files of
// the user's that the program reads: a header that does not change must find the
// one that does. The tree's own name is taken out of errors and .file again.
#include "ptx/compile/Compile.h"
#include "ptx/compile/HostSource.h"
#include "ptx/compile/TemporaryFile.h"
#include "ptx/compile/TemporaryTree.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <map>
#include <mutex>

namespace restride::ptx {
using namespace llvm;

namespace {

/// A file that nvcc reads.
struct Input {
  std::string Path; ///< absolute, as nvcc names it
  std::string RealPath;
};

class NvccCompiler : public Compiler {
public:
  NvccCompiler(std::string MainFile, CompileOptions Options)
      : MainFile(std::move(MainFile)), Options(std::move(Options)) {}
  Expected<std::string> compile(ArrayRef<SourceText> Changed) override;

private:
  using NewTexts = std::map<std::string, StringRef>; ///< by real path

  std::vector<std::string> arguments(const TemporaryTree &Tree) const;
  Error run(const TemporaryTree &Tree, ArrayRef<std::string> Action) const;
  Expected<TemporaryTree> lay(ArrayRef<Input> Files, const NewTexts &Texts) const;
  Expected<std::vector<Input>> readFromOutside(const TemporaryTree &Tree) const;
  Error findInputs();
  std::string absolute(StringRef Path) const;

  std::string MainFile;
  CompileOptions Options;
  std::mutex Lock;
  std::vector<Input> Inputs;         ///< all names of the user's files, empty until they are needed
  std::vector<std::string> Absolute; ///< real paths of files that the program includes by absolute names
};

} // namespace

/// nvcc runs in our working directory, not in that of the user's build.
std::string NvccCompiler::absolute(StringRef Path) const {
  SmallString<256> Result(Path);
  if (!Options.WorkingDirectory.empty())
    sys::path::make_absolute(Options.WorkingDirectory, Result);
  else
    (void)sys::fs::make_absolute(Result);
  return Result.str().str();
}

static std::string realPath(StringRef Path) {
  SmallString<256> Real;
  return sys::fs::real_path(Path, Real) ? Path.str() : Real.str().str();
}

/// The user's flags in nvcc's spelling, as far as they can change the PTX.
/// Flags that only Clang has are left out. Folders of \p Tree come before
/// the user's own.
std::vector<std::string> NvccCompiler::arguments(const TemporaryTree &Tree) const {
  std::vector<std::string> Args = {Options.CudaPath + "/bin/nvcc", "-x", "cu", "-lineinfo", "-arch=" + Options.Arch, "-w",
                                   // These only accept more.
                                   "-expt-relaxed-constexpr", "-extended-lambda"};
  std::vector<std::string> Folders = {"-I", absolute(sys::path::parent_path(MainFile))};
  auto AddFolder = [&](StringRef Flag, StringRef Path) {
    Args.insert(Args.end(), {Flag.str(), Tree.at(absolute(Path))});
    Folders.insert(Folders.end(), {Flag.str(), absolute(Path)});
  };
  ArrayRef<std::string> Flags = Options.Flags;
  for (size_t I = 0; I < Flags.size(); ++I) {
    StringRef Flag = Flags[I];
    if (Flag == "-fgpu-rdc") {
      Args.push_back("-rdc=true");
    } else if (Flag == "-fgpu-approx-transcendentals") {
      Args.push_back("-use_fast_math");
    } else if (Flag == "-ffp-contract=off") {
      Args.push_back("-fmad=false");
    } else if (Flag == "-fgpu-flush-denormals-to-zero") {
      Args.push_back("-ftz=true");
    } else if (Flag.starts_with("-std=c++")) {
      Args.push_back(Flag.str());
    } else if (is_contained({"-I", "-isystem"}, Flag) && I + 1 < Flags.size()) {
      AddFolder(Flag, Flags[++I]);
    } else if (Flag.starts_with("-I")) {
      AddFolder("-I", Flag.drop_front(2));
    } else if (Flag == "-include" && I + 1 < Flags.size()) {
      std::string File = absolute(Flags[++I]);
      Args.insert(Args.end(), {"-include", sys::fs::exists(Tree.at(File)) ? Tree.at(File) : File});
    } else if (is_contained({"-D", "-U"}, Flag) && I + 1 < Flags.size()) {
      Args.push_back(Flag.str());
      Args.push_back(Flags[++I]);
    } else if (Flag == "-D__NVCC__" || Flag.starts_with("-D__CUDACC_")) {
      continue; // its own
    } else if (Flag.starts_with("-D") || Flag.starts_with("-U")) {
      Args.push_back(Flag.str());
    }
  }
  Args.insert(Args.end(), Folders.begin(), Folders.end());
  return Args;
}

/// "sim.cu(12): error: ..." among nvcc's output, or its last line.
static std::string firstError(StringRef Log) {
  StringRef Last = "nvcc failed and said nothing";
  for (StringRef Line : split(Log, '\n')) {
    if (Line.contains("error"))
      return Line.trim().str();
    if (!Line.trim().empty())
      Last = Line.trim();
  }
  return Last.str();
}

Error NvccCompiler::run(const TemporaryTree &Tree, ArrayRef<std::string> Action) const {
  Expected<TemporaryFile> Log = TemporaryFile::create("log");
  if (!Log)
    return Log.takeError();
  std::vector<std::string> Args = arguments(Tree);
  Args.insert(Args.end(), Action.begin(), Action.end());
  Args.push_back(Tree.root() + MainFile);
  std::vector<StringRef> Words(Args.begin(), Args.end());
  std::optional<StringRef> Redirects[] = {StringRef(), Log->path(), Log->path()};
  std::string Message;
  int Status = sys::ExecuteAndWait(Args.front(), Words, /*Env=*/std::nullopt, Redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &Message);
  if (Status < 0)
    return createStringError("cannot run '" + Args.front() + "': " + Message);
  if (Status == 0)
    return Error::success();
  Expected<std::string> Said = Log->read();
  return Said ? createStringError(Tree.withoutRoot(firstError(*Said))) : Said.takeError();
}

/// The file names of "out.ptx : sim.cu \<newline> a.h ...", where a space in a
/// name is "\ ".
static std::vector<std::string> namesInRule(StringRef Rule) {
  std::vector<std::string> Out = {""};
  for (size_t I = Rule.find(" : ") + 2; I < Rule.size(); ++I) {
    if (Rule.substr(I).starts_with("\\ "))
      Out.back() += Rule[++I];
    else if (Rule.substr(I).starts_with("\\\n") || isSpace(Rule[I]))
      Out.emplace_back();
    else
      Out.back() += Rule[I];
  }
  erase_if(Out, [](const std::string &Name) { return Name.empty(); });
  return Out;
}

/// A tree of \p Files, which have their texts from \p Texts or from the disk.
Expected<TemporaryTree> NvccCompiler::lay(ArrayRef<Input> Files, const NewTexts &Texts) const {
  Expected<TemporaryTree> Tree = TemporaryTree::create();
  if (!Tree)
    return Tree;
  for (const Input &In : Files) {
    auto New = Texts.find(In.RealPath);
    ErrorOr<std::unique_ptr<MemoryBuffer>> Old = MemoryBuffer::getFile(In.Path);
    if (New == Texts.end() && !Old) // a name that stands in a #line
      continue;
    if (Error E = Tree->add(In.Path, In.RealPath, New == Texts.end() ? (*Old)->getBuffer() : New->second))
      return E;
  }
  return Tree;
}

/// The names of the user's files that nvcc reads, and not from \p Tree.
Expected<std::vector<Input>> NvccCompiler::readFromOutside(const TemporaryTree &Tree) const {
  Expected<TemporaryFile> Rule = TemporaryFile::create("d");
  if (!Rule)
    return Rule.takeError();
  if (Error E = run(Tree, {"-MM", "-o", Rule->path().str()}))
    return E;
  Expected<std::string> Text = Rule->read();
  if (!Text)
    return Text.takeError();
  std::string Toolkit = realPath(Options.CudaPath) + "/";
  std::vector<Input> Out;
  for (const std::string &Name : namesInRule(*Text)) {
    Input In{absolute(Name), realPath(absolute(Name))};
    if (!StringRef(Name).starts_with(Tree.root()) && !StringRef(In.RealPath).starts_with(Toolkit))
      Out.push_back(std::move(In));
  }
  return Out;
}

/// Puts into a tree what nvcc reads outside of it, until it finds all there. A
/// file that it does not enter again has names that show up only then.
Error NvccCompiler::findInputs() {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Inputs.empty())
    return Error::success();
  std::vector<Input> Found = {{MainFile, realPath(MainFile)}};
  for (size_t Before = 0; Before != Found.size();) {
    Before = Found.size();
    Expected<TemporaryTree> Tree = lay(Found, {});
    if (!Tree)
      return Tree.takeError();
    Expected<std::vector<Input>> Outside = readFromOutside(*Tree);
    if (!Outside)
      return Outside.takeError();
    Absolute.clear();
    for (Input &In : *Outside) {
      Absolute.push_back(In.RealPath);
      if (none_of(Found, [&](const Input &F) { return F.Path == In.Path; }))
        Found.push_back(std::move(In));
    }
  }
  Inputs = std::move(Found);
  return Error::success();
}

Expected<std::string> NvccCompiler::compile(ArrayRef<SourceText> Changed) {
  NewTexts Texts;
  for (const SourceText &S : Changed)
    Texts[realPath(S.Path)] = S.Text;
  Input Main{MainFile, realPath(MainFile)};
  bool HeadersChange = any_of(Texts, [&](const auto &Entry) { return Entry.first != Main.RealPath; });
  if (HeadersChange) {
    if (Error E = findInputs())
      return E;
    for (const std::string &Path : Absolute)
      if (Texts.count(Path))
        return createStringError("nvcc cannot see a change of '" + Path +
                                 "', which is included by its absolute name; use --ptx-compiler=clang");
  }
  Expected<TemporaryTree> Tree = lay(HeadersChange ? ArrayRef(Inputs) : ArrayRef(Main), Texts);
  if (!Tree)
    return Tree.takeError();
  Expected<TemporaryFile> Result = TemporaryFile::create("ptx");
  if (!Result)
    return Result.takeError();
  if (Error E = run(*Tree, {"-ptx", "-o", Result->path().str()}))
    return E;
  Expected<std::string> Ptx = Result->read();
  if (!Ptx)
    return Ptx;
  return Tree->withoutRoot(*Ptx);
}

Expected<std::unique_ptr<Compiler>> createNvccCompiler(StringRef MainFile, const CompileOptions &Options) {
  std::string Nvcc = Options.CudaPath + "/bin/nvcc";
  if (!sys::fs::can_execute(Nvcc))
    return createStringError("cannot run '" + Nvcc + "'; use --ptx-compiler=clang or another --cuda-path");
  if (languageOf(MainFile, Options.Flags) != Language::Cuda)
    return std::make_unique<HostSource>();
  return std::make_unique<NvccCompiler>(MainFile.str(), Options);
}

} // namespace restride::ptx

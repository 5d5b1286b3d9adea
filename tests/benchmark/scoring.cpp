// How long scoring takes, beside compiling: parsing PTX, executing warps,
// simulating caches. README.md beside this file has command lines.
#include "analysis/cost/Rank.h"
#include "ptx/parse/Module.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>
#include <map>
#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace llvm;
using namespace restride;

static cl::list<std::string> Folders(cl::Positional, cl::desc("DIR... as --emit-variants writes them"));
static cl::opt<unsigned> Runs("runs", cl::desc("the fastest of so many counts"), cl::init(5));
static cl::opt<double> LimitMs("limit", cl::desc("exit with 1 if a kernel in all layouts takes longer, ms"), cl::init(20));
static cl::opt<double> LargeLimitMs("large-limit", cl::desc("the same of the large kernel"), cl::init(200));

static ExitOnError Must("scoring_benchmark: ");

/// Processor time of \p Run, the fastest of several; scoring has one thread.
static double milliseconds(function_ref<void()> Run) {
  double Best = 1e30;
  for (unsigned I = 0; I < Runs; ++I) {
    std::clock_t Begin = std::clock();
    Run();
    Best = std::min(Best, 1e3 * double(std::clock() - Begin) / CLOCKS_PER_SEC);
  }
  return Best;
}

/// As much data as does not fit L2, one thread for each element.
static cost::KernelLaunch launch(StringRef Function) {
  cost::KernelLaunch L;
  L.Function = Function.str();
  L.Facts.Elements = 1 << 22;
  L.Facts.Grid = {(1 << 22) / 256, 1, 1};
  L.Facts.DefaultInteger = 1 << 22;
  return L;
}

static double score(StringRef Text, StringRef Function, const cost::Gpu &G) {
  ptx::Module M = Must(ptx::parse(Text));
  return Must(cost::score(M, {launch(Function)}, {}, G, cost::Model::Throughput)).Cycles;
}

/// The name in the source, of "_Z4stepPfi".
static StringRef sourceName(StringRef Mangled) {
  unsigned Length = 0;
  StringRef Rest = Mangled;
  if (!Rest.consume_front("_Z") || Rest.consumeInteger(10, Length))
    return Mangled;
  return Rest.take_front(Length);
}

namespace {

struct Kernel {
  StringRef Text;
  std::string Function;
};

} // namespace

/// One candidate: every kernel of its source layout, in all layouts. Returns the slowest, ms.
static double candidate(StringRef Folder, const cost::Gpu &G) {
  std::vector<std::unique_ptr<MemoryBuffer>> Texts;
  std::map<std::string, std::vector<Kernel>> ByName;
  std::vector<std::string> Paths;
  std::error_code EC;
  for (sys::fs::recursive_directory_iterator It(Folder, EC), End; It != End && !EC; It.increment(EC))
    if (sys::path::extension(It->path()) == ".ptx")
      Paths.push_back(It->path());
  // The source layout comes first and says which kernels are the user's.
  stable_sort(Paths, [](StringRef A, StringRef B) { return A.contains("/aos/") > B.contains("/aos/"); });
  std::string First = Paths.empty() ? "" : sys::path::parent_path(Paths.front()).str();
  for (const std::string &Path : Paths) {
    Texts.push_back(Must(errorOrToExpected(MemoryBuffer::getFile(Path))));
    ptx::Module M = Must(ptx::parse(Texts.back()->getBuffer()));
    for (const ptx::Function &F : M.Functions)
      if (F.IsEntry && (StringRef(Path).starts_with(First) || ByName.count(sourceName(F.Name).str())))
        ByName[sourceName(F.Name).str()].push_back({Texts.back()->getBuffer(), F.Name});
  }
  double Slowest = 0;
  for (const auto &[Name, Kernels] : ByName) {
    double Ms = milliseconds([&] {
      for (const Kernel &K : Kernels)
        score(K.Text, K.Function, G);
    });
    outs() << format("%8.2f ms", Ms) << "  " << Kernels.size() << " layouts of " << Name << " in " << Folder << '\n';
    Slowest = std::max(Slowest, Ms);
  }
  return Slowest;
}

/// A kernel of \p Instructions instructions in five nested loops.
static std::string largeKernel(unsigned Instructions) {
  std::string T = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry large(.param .u64 large_param_0, .param .u32 large_param_1)
{
.reg .pred %p<9>;
.reg .f32 %f<9>;
.reg .b32 %r<99>;
.reg .b64 %rd<99>;
ld.param.u64 %rd1, [large_param_0];
ld.param.u32 %r1, [large_param_1];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
)";
  constexpr unsigned Depth = 5;
  auto reg = [](unsigned Loop) { return "%r" + std::to_string(10 + Loop); };
  auto body = [&](unsigned Count) { // one load in eight instructions
    for (unsigned I = 0; I < Count / 8; ++I) {
      std::string Offset = std::to_string(I % 64 * 4);
      T += "shl.b32 %r30, %r5, 2;\nadd.s32 %r31, %r30, " + reg(I % Depth) + ";\nand.b32 %r32, %r31, 4194303;\n"
           "mul.wide.s32 %rd10, %r32, 32;\nadd.s64 %rd11, %rd2, %rd10;\nld.global.f32 %f1, [%rd11+" + Offset + "];\n"
           "fma.rn.f32 %f2, %f1, %f1, %f2;\nadd.f32 %f3, %f3, %f2;\n";
    }
  };
  for (unsigned L = 0; L < Depth; ++L) {
    T += "mov.u32 " + reg(L) + ", 0;\nLOOP" + std::to_string(L) + ":\n";
    body(Instructions / (2 * Depth));
  }
  for (unsigned L = Depth; L-- > 0;) {
    body(Instructions / (2 * Depth));
    std::string Bound = L % 2 ? "%r1" : "100";
    T += "add.s32 " + reg(L) + ", " + reg(L) + ", 1;\nsetp.lt.s32 %p1, " + reg(L) + ", " + Bound + ";\n@%p1 bra LOOP" + std::to_string(L) + ";\n";
  }
  return T + "mul.wide.s32 %rd12, %r5, 4;\nadd.s64 %rd13, %rd2, %rd12;\nst.global.f32 [%rd13], %f3;\nret;\n}\n";
}

int main(int Argc, char **Argv) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // as restride's main does
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
  cl::ParseCommandLineOptions(Argc, Argv, "Times of scoring, without compiling\n");
  cost::Gpu G = Must(cost::loadGpu("h200"));
  std::string Large = largeKernel(5000);
  double LargeMs = milliseconds([&] { score(Large, "large", G); });
  outs() << format("%8.2f ms", LargeMs) << "  5000 instructions in five nested loops, one layout\n";
  double Slowest = 0;
  for (const std::string &Folder : Folders) {
    std::error_code EC;
    for (sys::fs::directory_iterator It(Folder, EC), End; It != End && !EC; It.increment(EC))
      if (It->type() == sys::fs::file_type::directory_file)
        Slowest = std::max(Slowest, candidate(It->path(), G));
  }
  if (!Folders.empty())
    outs() << format("%8.2f ms", Slowest) << "  the slowest kernel in all layouts\n";
  return LargeMs > LargeLimitMs || Slowest > LimitMs;
}

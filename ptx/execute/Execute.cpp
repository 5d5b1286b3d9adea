#include "ptx/execute/Execute.h"

#include "ptx/execute/Warp.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace restride::ptx;

WarpExecutor::WarpExecutor(const Function &F, const ControlFlow &C) : P(std::make_unique<Program>(F, C)) {}
WarpExecutor::~WarpExecutor() = default;
WarpExecutor::WarpExecutor(WarpExecutor &&) noexcept = default;

bool WarpExecutor::elementsLieByRuns() const { return P->ElementsLieByRuns; }

bool WarpExecutor::makesSubscriptsOfReals() const { return P->MakesSubscriptsOfReals; }

WarpTrace WarpExecutor::run(const LaunchFacts &L, Dim3 BlockIndex, unsigned Number, const ExecuteLimits &Limits) const {
  constexpr uint64_t Usual = 256;
  std::vector<Request> Requests;
  Requests.reserve(std::min(Limits.MaxRequests, Usual));
  WarpTrace T = run(L, BlockIndex, Number, Limits, [&](const Request &R) { Requests.push_back(R); });
  T.Requests = std::move(Requests);
  return T;
}

WarpTrace WarpExecutor::run(const LaunchFacts &L, Dim3 BlockIndex, unsigned Number, const ExecuteLimits &Limits,
                            RequestSink Each) const {
  return Warp(*P, L, BlockIndex, Number, Limits, Each).run();
}

WarpTrace restride::ptx::execute(const Function &F, const ControlFlow &C, const LaunchFacts &L, Dim3 BlockIndex,
                                 unsigned Number, const ExecuteLimits &Limits) {
  return WarpExecutor(F, C).run(L, BlockIndex, Number, Limits);
}

std::string restride::ptx::dump(const Function &F, const WarpTrace &T) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  OS << F.Name << (T.Truncated ? " truncated" : "") << '\n';
  for (size_t B = 0; B < T.BlockVisits.size(); ++B)
    OS << "  block " << B << " visits " << T.BlockVisits[B] << " weight " << llvm::format("%g", T.BlockWeight[B])
       << '\n';
  for (size_t L = 0; L < T.Loops.size(); ++L)
    OS << "  loop " << L << " entries " << T.Loops[L].Entries << " executed " << T.Loops[L].Executed << " true "
       << llvm::format("%g", T.Loops[L].True) << (T.Loops[L].Entries && !T.Loops[L].Known ? " (data)" : "") << '\n';
  for (const Request &R : T.Requests) {
    OS << "  " << R.Instruction << ": " << F.Body[R.Instruction].Mnemonic << llvm::format(" mask %08x", R.Mask)
       << (R.DependsOnLoad ? " indirect" : "");
    for (unsigned L = 0; L < 32; ++L)
      if (R.Mask >> L & 1)
        OS << llvm::format(" %llx", (unsigned long long)R.Address[L]);
    OS << '\n';
  }
  for (const std::string &W : T.Warnings)
    OS << "  warning: " << W << '\n';
  return Text;
}

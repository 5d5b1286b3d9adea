#include "analysis/cost/CriticalPath.h"

#include "analysis/cost/IssueSlots.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>

using namespace llvm;

namespace restride::cost {

double criticalPath(const ptx::Function &F, const ptx::Block &B, ArrayRef<double> LoadLatency, const Gpu &G) {
  DenseMap<int, double> Ready; // register: cycle of its value
  double End = 0;
  for (unsigned Index = B.Begin; Index < B.End; ++Index) {
    const ptx::Instruction &I = F.Body[Index];
    double Start = 0;
    auto wait = [&](int Register) {
      if (auto It = Ready.find(Register); It != Ready.end())
        Start = std::max(Start, It->second);
    };
    for (const ptx::Operand &S : I.Src)
      wait(S.Reg);
    if (I.Addr)
      wait(I.Addr->Reg);
    wait(I.Guard);
    StringRef Class = latencyClass(I);
    double Latency = 0;
    if (Class.empty())
      Latency = LoadLatency[Index];
    else if (auto It = G.Latencies.find(Class.str()); It != G.Latencies.end())
      Latency = It->second;
    for (const ptx::Operand &D : I.Dest)
      if (D.Reg >= 0)
        Ready[D.Reg] = Start + Latency;
    End = std::max(End, Start + Latency);
  }
  return End;
}

} // namespace restride::cost

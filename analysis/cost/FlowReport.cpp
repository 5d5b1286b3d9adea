#include "analysis/cost/FlowReport.h"

#include "analysis/cost/AccessReport.h"

namespace restride::cost {

/// The first instruction that came from a line of the source.
static ptx::SourceLocation firstLocation(const ptx::Function &F, const ptx::Block &B) {
  for (unsigned I = B.Begin; I < B.End; ++I)
    if (ptx::SourceLocation At = outermost(F.Body[I]); At.Line)
      return At;
  return {};
}

std::vector<FlowNode> flowNodes(const ptx::Module &M, const ptx::Function &F, const Sample &S) {
  std::vector<FlowNode> Out;
  for (const CfgNode &N : S.Cfg.Nodes) {
    const ptx::Block &B = S.Flow.Blocks[N.Block];
    FlowNode Node;
    Node.Weight = N.Weight;
    Node.Cost = N.Cost;
    Node.Instructions = B.End - B.Begin;
    for (unsigned I = B.Begin; I < B.End; ++I)
      Node.Accesses += S.PerInstruction[I].Requests > 0;
    if (N.Loop >= 0 && S.Cfg.Loops[N.Loop].Header == N.Block) {
      Node.Trips = S.Cfg.Loops[N.Loop].Trips;
      Node.Counted = S.Cfg.Loops[N.Loop].Known;
    }
    ptx::SourceLocation At = firstLocation(F, B);
    Node.Line = At.Line, Node.Column = At.Column;
    if (At.Line && At.File < M.Files.size())
      Node.File = M.Files[At.File];
    Node.Next.assign(B.Succs.begin(), B.Succs.end());
    Out.push_back(std::move(Node));
  }
  return Out;
}

} // namespace restride::cost

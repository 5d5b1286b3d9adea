#include "ptx/flow/FlowGraph.h"

#include "llvm/ADT/GraphTraits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GenericDomTree.h"
#include "llvm/Support/GenericDomTreeConstruction.h"
#include "llvm/Support/GenericLoopInfoImpl.h"

#include <deque>

namespace {

struct Graph;

struct Node {
  unsigned Number = 0;
  Graph *Parent = nullptr;
  std::vector<Node *> Succs, Preds;
  Graph *getParent() const { return Parent; }
  void printAsOperand(llvm::raw_ostream &OS, bool = true) const { OS << Number; }
};

struct Graph {
  std::deque<Node> Nodes;
  Node &front() { return Nodes.front(); }
};

class LoopNode : public llvm::LoopBase<Node, LoopNode> {
  friend class llvm::LoopBase<Node, LoopNode>;
  friend class llvm::LoopInfoBase<Node, LoopNode>;
  LoopNode() = default;
  explicit LoopNode(Node *Header) : LoopBase(Header) {}
  ~LoopNode() = default;
};

} // namespace

namespace llvm {

template <> struct GraphTraits<Node *> {
  using NodeRef = Node *;
  using ChildIteratorType = std::vector<Node *>::iterator;
  static NodeRef getEntryNode(Node *N) { return N; }
  static ChildIteratorType child_begin(NodeRef N) { return N->Succs.begin(); }
  static ChildIteratorType child_end(NodeRef N) { return N->Succs.end(); }
  static unsigned getNumber(const Node *N) { return N->Number; }
};

template <> struct GraphTraits<const Node *> {
  using NodeRef = const Node *;
  using ChildIteratorType = std::vector<Node *>::const_iterator;
  static NodeRef getEntryNode(const Node *N) { return N; }
  static ChildIteratorType child_begin(NodeRef N) { return N->Succs.begin(); }
  static ChildIteratorType child_end(NodeRef N) { return N->Succs.end(); }
  static unsigned getNumber(const Node *N) { return N->Number; }
};

template <> struct GraphTraits<Inverse<Node *>> {
  using NodeRef = Node *;
  using ChildIteratorType = std::vector<Node *>::iterator;
  static NodeRef getEntryNode(Inverse<Node *> G) { return G.Graph; }
  static ChildIteratorType child_begin(NodeRef N) { return N->Preds.begin(); }
  static ChildIteratorType child_end(NodeRef N) { return N->Preds.end(); }
  static unsigned getNumber(const Node *N) { return N->Number; }
};

template <> struct GraphTraits<Graph *> : GraphTraits<Node *> {
  using nodes_iterator = pointer_iterator<std::deque<Node>::iterator>;
  static NodeRef getEntryNode(Graph *G) { return &G->front(); }
  static nodes_iterator nodes_begin(Graph *G) { return nodes_iterator(G->Nodes.begin()); }
  static nodes_iterator nodes_end(Graph *G) { return nodes_iterator(G->Nodes.end()); }
  static unsigned size(Graph *G) { return unsigned(G->Nodes.size()); }
  static unsigned getMaxNumber(const Graph *G) { return unsigned(G->Nodes.size()); }
  static unsigned getNumberEpoch(const Graph *) { return 0; }
};

/// The loop analysis walks the dominator tree itself.
template <> struct GraphTraits<const DomTreeNodeBase<Node> *> {
  using NodeRef = const DomTreeNodeBase<Node> *;
  using ChildIteratorType = DomTreeNodeBase<Node>::const_iterator;
  static NodeRef getEntryNode(NodeRef N) { return N; }
  static ChildIteratorType child_begin(NodeRef N) { return N->begin(); }
  static ChildIteratorType child_end(NodeRef N) { return N->end(); }
};

} // namespace llvm

using namespace restride::ptx;

static void build(const ControlFlow &C, Graph &G) {
  for (unsigned B = 0; B < C.Blocks.size(); ++B) {
    Node &N = G.Nodes.emplace_back();
    N.Number = B;
    N.Parent = &G;
  }
  for (unsigned B = 0; B < C.Blocks.size(); ++B)
    for (unsigned S : C.Blocks[B].Succs) {
      G.Nodes[B].Succs.push_back(&G.Nodes[S]);
      G.Nodes[S].Preds.push_back(&G.Nodes[B]);
    }
}

template <typename TreeT> static std::vector<int> immediateDominators(TreeT &Tree, Graph &G) {
  std::vector<int> Parent(G.Nodes.size(), -1);
  for (Node &N : G.Nodes)
    if (auto *TreeNode = Tree.getNode(&N))
      if (auto *Up = TreeNode->getIDom())
        if (Node *Block = Up->getBlock()) // null: the virtual exit
          Parent[N.Number] = int(Block->Number);
  return Parent;
}

/// Numbers the dominator tree so that a subtree is a range. Unreachable blocks
/// are trees of their own.
static void numberDominatorTree(ControlFlow &C) {
  const unsigned Count = unsigned(C.Blocks.size());
  std::vector<std::vector<unsigned>> Children(Count);
  for (unsigned B = 0; B < Count; ++B)
    if (C.Idom[B] >= 0)
      Children[C.Idom[B]].push_back(B);
  C.DomFirst.resize(Count);
  C.DomLast.resize(Count);
  unsigned Next = 0;
  std::vector<std::pair<unsigned, size_t>> Path;
  for (unsigned Root = 0; Root < Count; ++Root) {
    if (C.Idom[Root] >= 0)
      continue;
    C.DomFirst[Root] = Next++;
    Path.emplace_back(Root, 0);
    while (!Path.empty()) {
      auto &[B, Child] = Path.back();
      if (Child == Children[B].size()) {
        C.DomLast[B] = Next - 1;
        Path.pop_back();
        continue;
      }
      const unsigned Below = Children[B][Child++];
      C.DomFirst[Below] = Next++;
      Path.emplace_back(Below, 0);
    }
  }
}

/// A retreating edge whose target does not dominate its source closes a cycle
/// with two entries. Iterative: generated code can be deep.
static bool hasIrreducibleCycle(llvm::DomTreeBase<Node> &Dominators, Graph &G) {
  enum { White, Grey, Black };
  std::vector<char> Colour(G.Nodes.size(), White);
  std::vector<std::pair<Node *, size_t>> Path{{&G.front(), 0}};
  Colour[0] = Grey;
  while (!Path.empty()) {
    auto &[N, Next] = Path.back();
    if (Next == N->Succs.size()) {
      Colour[N->Number] = Black;
      Path.pop_back();
      continue;
    }
    Node *S = N->Succs[Next++];
    if (Colour[S->Number] == Grey && !Dominators.dominates(S, N))
      return true;
    if (Colour[S->Number] == White) {
      Colour[S->Number] = Grey;
      Path.emplace_back(S, 0);
    }
  }
  return false;
}

static void readLoops(llvm::DomTreeBase<Node> &Dominators, ControlFlow &C) {
  llvm::LoopInfoBase<Node, LoopNode> Info;
  Info.analyze(Dominators);
  llvm::DenseMap<LoopNode *, int> Index;
  for (LoopNode *L : Info.getLoopsInPreorder()) {
    Index[L] = int(C.Loops.size());
    Loop &Out = C.Loops.emplace_back();
    Out.Header = L->getHeader()->Number;
    Out.Depth = L->getLoopDepth();
    Out.Parent = L->getParentLoop() ? Index[L->getParentLoop()] : -1;
    for (Node *N : L->blocks())
      Out.Blocks.push_back(N->Number);
    llvm::sort(Out.Blocks);
    llvm::SmallVector<Node *, 4> Latches;
    L->getLoopLatches(Latches);
    for (Node *N : Latches)
      Out.Latches.push_back(N->Number);
    llvm::sort(Out.Latches);
  }
  // Outer loops come first, so the innermost one of a block writes last.
  for (unsigned L = 0; L < C.Loops.size(); ++L)
    for (unsigned B : C.Loops[L].Blocks)
      C.LoopOf[B] = int(L);
}

void restride::ptx::findDominatorsAndLoops(ControlFlow &C) {
  Graph G;
  build(C, G);
  C.LoopOf.assign(C.Blocks.size(), -1);

  llvm::DomTreeBase<Node> Dominators;
  Dominators.recalculate(G);
  C.Idom = immediateDominators(Dominators, G);
  numberDominatorTree(C);
  llvm::PostDomTreeBase<Node> PostDominators;
  PostDominators.recalculate(G);
  C.Ipdom = immediateDominators(PostDominators, G);
  readLoops(Dominators, C);
  if (hasIrreducibleCycle(Dominators, G))
    C.Warnings.push_back("a cycle with more than one entry is not seen as a loop");
}

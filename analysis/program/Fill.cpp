#include "analysis/program/Fill.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <set>

namespace restride {

std::optional<std::vector<uint64_t>> Fill::tripsAt(uint64_t Offset) const {
  if (Offset < Begin)
    return std::nullopt;
  Offset -= Begin;
  std::vector<uint64_t> Out;
  for (const FillLoop &L : Loops) {
    // The last trip wins where a loop writes one place again and again.
    const uint64_t Trip = L.Stride ? Offset / L.Stride : L.Trips - 1;
    if (Trip >= L.Trips)
      return std::nullopt;
    Offset -= Trip * L.Stride;
    Out.push_back(Trip);
  }
  return Offset ? std::nullopt : std::optional(Out);
}

/// \p V as a number of the type that \p N has.
static int64_t inType(const FillNode &N, uint64_t V) {
  if (N.Bits >= 64)
    return int64_t(V);
  V &= (uint64_t(1) << N.Bits) - 1;
  if (N.Signed && V >> (N.Bits - 1))
    V |= ~uint64_t(0) << N.Bits;
  return int64_t(V);
}

/// \p A / \p B, or the remainder, of the type that \p N has.
static uint64_t divided(const FillNode &N, int64_t A, int64_t B) {
  const bool Rest = N.What == FillNode::Op::Rem;
  if (!N.Signed && B != 0)
    return Rest ? uint64_t(A) % uint64_t(B) : uint64_t(A) / uint64_t(B);
  if (B == 0 || B == -1)
    return Rest ? 0 : -uint64_t(A);
  return Rest ? A % B : A / B;
}

/// Numbers of 64 bits whose first bit is no sign.
static bool isWide(const FillNode &N) { return N.Bits == 64 && !N.Signed; }

static uint64_t mix(uint64_t X) { return llvm::xxh3_64bits({reinterpret_cast<const uint8_t *>(&X), sizeof(X)}); }

bool Fill::holdsAt(uint64_t Offset) const { return Stays >= 1 || double(mix(Offset) >> 11) * 0x1p-53 < Stays; }

int64_t Fill::value(const std::vector<uint64_t> &Trips) const {
  std::vector<int64_t> V(Nodes.size());
  auto seedOf = [&](uint32_t Loops) {
    uint64_t Seed = Begin;
    for (size_t L = 0; L < Trips.size(); ++L)
      Seed = mix(Seed + (L > 31 || Loops >> L & 1 ? Trips[L] : 0));
    return Seed;
  };
  const uint64_t Seed = seedOf(~0u);
  for (size_t I = 0; I < Nodes.size(); ++I) {
    const FillNode &N = Nodes[I];
    const int64_t A = N.A < I ? V[N.A] : 0, B = N.B < I ? V[N.B] : 0;
    uint64_t Out = 0;
    switch (N.What) {
    case FillNode::Op::Constant: Out = N.Value; break;
    case FillNode::Op::Counter: Out = Loops[N.Value].First + Loops[N.Value].Step * int64_t(Trips[N.Value]); break;
    case FillNode::Op::Unknown: // what most such numbers are: not negative
      Out = mix((N.Varies == ~0u ? Seed : seedOf(N.Varies)) ^ mix(I)) >> (N.Signed ? 65 - std::max<unsigned>(N.Bits, 2) : 64 - N.Bits);
      break;
    case FillNode::Op::Add: Out = uint64_t(A) + B; break;
    case FillNode::Op::Sub: Out = uint64_t(A) - B; break;
    case FillNode::Op::Mul: Out = uint64_t(A) * B; break;
    case FillNode::Op::Div:
    case FillNode::Op::Rem: Out = divided(N, A, B); break;
    case FillNode::Op::And: Out = A & B; break;
    case FillNode::Op::Or: Out = A | B; break;
    case FillNode::Op::Xor: Out = A ^ B; break;
    case FillNode::Op::Shl: Out = uint64_t(A) << (B & 63); break;
    case FillNode::Op::Shr: Out = isWide(N) ? uint64_t(A) >> (B & 63) : uint64_t(A >> (B & 63)); break;
    case FillNode::Op::Less: Out = isWide(Nodes[N.A]) && isWide(Nodes[N.B]) ? uint64_t(A) < uint64_t(B) : A < B; break;
    case FillNode::Op::Equal: Out = A == B; break;
    case FillNode::Op::Select: Out = A ? B : V[N.C]; break;
    case FillNode::Op::Convert: Out = A; break;
    }
    V[I] = inType(N, Out);
  }
  return V.empty() ? 0 : V.back();
}

bool isUnbounded(llvm::ArrayRef<FillNode> Nodes) {
  std::vector<bool> Open(Nodes.size());
  for (size_t I = 0; I < Nodes.size(); ++I) {
    const FillNode &N = Nodes[I];
    switch (N.What) {
    case FillNode::Op::Constant:
    case FillNode::Op::Counter:
    case FillNode::Op::Less:
    case FillNode::Op::Equal:
      break;
    case FillNode::Op::Unknown: Open[I] = N.Bits > 8; break;
    case FillNode::Op::Rem: Open[I] = Open[N.B]; break;
    case FillNode::Op::And: Open[I] = Open[N.A] && Open[N.B]; break;
    case FillNode::Op::Shr: Open[I] = Open[N.A] && Nodes[N.B].What != FillNode::Op::Constant; break;
    case FillNode::Op::Select: Open[I] = Open[N.B] || Open[N.C]; break;
    case FillNode::Op::Convert: Open[I] = Open[N.A] && N.Bits > 8; break;
    default: Open[I] = Open[N.A] || Open[N.B]; break;
    }
  }
  return !Open.empty() && Open.back();
}

/// The trips that write the entry at \p Position among all, in the order of their places; loops are sorted.
static std::vector<uint64_t> tripsOf(const Fill &F, uint64_t Position) {
  std::vector<uint64_t> Trips(F.Loops.size());
  for (size_t I = F.Loops.size(); I-- > 0;) {
    Trips[I] = Position % F.Loops[I].Trips;
    Position /= F.Loops[I].Trips;
  }
  return Trips;
}

bool isScattered(const Fill &F) {
  if (F.Shuffled)
    return true;
  constexpr uint64_t Windows = 8, Lanes = 32, Rows = 8, Most = uint64_t(1) << 40;
  uint64_t Entries = 1;
  for (const FillLoop &L : F.Loops)
    Entries = std::min(Most, Entries * std::clamp<uint64_t>(L.Trips, 1, Most >> 20));
  if (Entries < 2)
    return false;
  double Places = 0, Seen = 0;     // of neighbours
  double InRows = 0, Possible = 0; // and of several rows of them: those of a stencil lead to few
  for (uint64_t W = 0; W < Windows; ++W) {
    std::set<int64_t> All;
    const uint64_t Count = std::min(Rows * Lanes, Entries), First = (Entries - Count) / Windows * W;
    for (uint64_t Row = 0; Row * Lanes < Count; ++Row) {
      std::set<int64_t> Here;
      for (uint64_t K = Row * Lanes; K < std::min(Count, (Row + 1) * Lanes); ++K, ++Seen)
        Here.insert(F.value(tripsOf(F, First + K)) >> 5);
      Places += double(Here.size());
      All.insert(Here.begin(), Here.end());
    }
    InRows += double(All.size());
    Possible += std::min(double(Count), double(*All.rbegin()) - double(*All.begin()) + 1);
  }
  return Places > Seen / 2 && InRows > Possible / 4;
}

} // namespace restride

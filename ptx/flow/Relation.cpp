#include "ptx/flow/Relation.h"

using namespace restride::ptx;

std::optional<Relation> restride::ptx::parseRelation(llvm::StringRef Name, bool &Unsigned) {
  Unsigned = Name == "lo" || Name == "ls" || Name == "hi" || Name == "hs";
  if (Name == "eq")
    return Relation::Equal;
  if (Name == "ne")
    return Relation::NotEqual;
  if (Name == "lt" || Name == "lo")
    return Relation::Less;
  if (Name == "le" || Name == "ls")
    return Relation::LessEqual;
  if (Name == "gt" || Name == "hi")
    return Relation::Greater;
  if (Name == "ge" || Name == "hs")
    return Relation::GreaterEqual;
  return std::nullopt;
}

Relation restride::ptx::opposite(Relation R) {
  switch (R) {
  case Relation::Equal:
    return Relation::NotEqual;
  case Relation::NotEqual:
    return Relation::Equal;
  case Relation::Less:
    return Relation::GreaterEqual;
  case Relation::LessEqual:
    return Relation::Greater;
  case Relation::Greater:
    return Relation::LessEqual;
  case Relation::GreaterEqual:
    return Relation::Less;
  }
  return R;
}

Relation restride::ptx::mirrored(Relation R) {
  switch (R) {
  case Relation::Less:
    return Relation::Greater;
  case Relation::LessEqual:
    return Relation::GreaterEqual;
  case Relation::Greater:
    return Relation::Less;
  case Relation::GreaterEqual:
    return Relation::LessEqual;
  default:
    return R;
  }
}

bool restride::ptx::holds(Relation Rel, uint64_t V, uint64_t W, unsigned Bits, bool Signed) {
  V = lowBits(V, Bits);
  W = lowBits(W, Bits);
  const int64_t X = signExtend(V, Bits), Y = signExtend(W, Bits);
  switch (Rel) {
  case Relation::Equal:
    return V == W;
  case Relation::NotEqual:
    return V != W;
  case Relation::Less:
    return Signed ? X < Y : V < W;
  case Relation::LessEqual:
    return Signed ? X <= Y : V <= W;
  case Relation::Greater:
    return Signed ? X > Y : V > W;
  case Relation::GreaterEqual:
    return Signed ? X >= Y : V >= W;
  }
  return false;
}

#include "ptx/flow/Relation.h"

using namespace restride::ptx;

std::optional<Relation> restride::ptx::parseRelation(llvm::StringRef Name, bool &Unsigned) {
  Unsigned = Name == "lo" || Name == "ls" || Name == "hi" || Name == "hs";
  if (Name == "eq" || Name == "equ" || Name == "num")
    return Relation::Equal;
  if (Name == "ne" || Name == "neu" || Name == "nan")
    return Relation::NotEqual;
  if (Name == "lt" || Name == "ltu" || Name == "lo")
    return Relation::Less;
  if (Name == "le" || Name == "leu" || Name == "ls")
    return Relation::LessEqual;
  if (Name == "gt" || Name == "gtu" || Name == "hi")
    return Relation::Greater;
  if (Name == "ge" || Name == "geu" || Name == "hs")
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

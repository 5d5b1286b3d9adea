#include "analysis/cost/Suggest.h"

#include "llvm/ADT/StringExtras.h"

namespace restride {
using namespace llvm;

std::string didYouMean(StringRef Name, ArrayRef<StringRef> Known) {
  StringRef Best;
  unsigned Least = std::max<unsigned>(2, Name.size() / 3) + 1;
  for (StringRef K : Known) {
    unsigned Distance = K.edit_distance_insensitive(Name, /*AllowReplacements=*/true, Least);
    // Of two names that are as close, people mistype the first letter least.
    bool Better = Distance == Least && !Best.empty() && K.take_front(1) == Name.take_front(1);
    if (Distance < Least || Better) {
      Least = Distance;
      Best = K;
    }
  }
  return Best.empty() ? "" : ("; did you mean '" + Best + "'?").str();
}

Error unknownName(StringRef What, StringRef Name, ArrayRef<StringRef> Known) {
  std::string Hint = didYouMean(Name, Known);
  return createStringError("unknown " + What + " '" + Name + "'" + (Hint.empty() ? "; known: " + join(Known, ", ") : Hint));
}

} // namespace restride

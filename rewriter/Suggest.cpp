#include "rewriter/Suggest.h"

#include "llvm/ADT/StringExtras.h"

namespace restride {
using namespace llvm;

Error unknownName(StringRef What, StringRef Name, ArrayRef<StringRef> Known) {
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
  std::string Hint = Best.empty() ? "; known: " + join(Known, ", ") : ("; did you mean '" + Best + "'?").str();
  return createStringError("unknown " + What + " '" + Name + "'" + Hint);
}

} // namespace restride

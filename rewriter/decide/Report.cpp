#include "rewriter/decide/Report.h"

namespace restride {

const char *spell(Report::Status S) {
  switch (S) {
  case Report::Status::Kept:
    return "kept";
  case Report::Status::Rewritten:
    return "rewritten";
  case Report::Status::Refused:
    return "refused";
  case Report::Status::Forced:
    return "forced";
  }
  return "";
}

} // namespace restride

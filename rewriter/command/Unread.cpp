#include "rewriter/command/Unread.h"

namespace restride {

char Unread::ID = 0;

} // namespace restride

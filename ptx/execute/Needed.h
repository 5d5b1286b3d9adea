// Most of a kernel computes values that no address, branch or guard depends on.
// A warp need not compute them.
#pragma once

namespace restride::ptx {

class Program;

/// Takes the destinations out of the instructions of \p P that nothing which
/// executing can show depends on. What is recorded of a warp stays the same.
void dropUnneeded(Program &P);

} // namespace restride::ptx

#include "analysis/cost/Calibration.h"

using namespace llvm;

namespace restride::cost {

static constexpr StringRef Placeholder = "@CARRIED@";

/// A key that the program prints is measured.
static bool measures(StringRef Program, StringRef Key) {
  return Program.contains(("\"" + Key + "\"").str()) || Program.contains(("\"" + Key + ": ").str());
}

StringRef calibrationHeading() { return "// Measures the GPU it runs on and prints a profile"; }

Expected<std::string> calibrationProgram(const Gpu &Base) {
  Expected<std::string> Program = readShipped("calibrate.cu");
  if (!Program)
    return Program.takeError();
  std::string Carried = "\n# Not measured here but carried over from " + Base.Name +
                        ": fits of the cost model, granules of\n# cuda_occupancy.h, widths and latencies of units.\n" +
                        printGpu(Base, [&](StringRef Key) { return !measures(*Program, Key); });
  size_t At = Program->find(Placeholder);
  if (At == std::string::npos)
    return createStringError("calibrate.cu has no place for carried constants");
  Program->replace(At, Placeholder.size(), Carried);
  return Program;
}

} // namespace restride::cost

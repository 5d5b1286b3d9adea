// What kernels find behind their pointers: the integers that the host wrote there,
// as formulas of the place.
#pragma once

#include "analysis/program/HostWrites.h"
#include "analysis/program/Launches.h"

namespace restride {

/// Gives \p Site's launch, which is \p Call, the fills of its pointer parameters, and
/// a note that says so.
void addFills(LaunchSite &Site, const clang::CUDAKernelCallExpr *Call, const HostWrites &Host, const Evaluator &Values,
              const UnitFacts &Facts, clang::ASTContext &Context);

} // namespace restride

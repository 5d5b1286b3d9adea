// Which arrays a function works on, call by call. A function that all calls
// give the same arrays unites them with its parameters. One that is called with
// different arrays becomes several instances, so that each array can take a
// layout of its own: one with elements on the device and one on the host, or
// two that kernels use differently.
#pragma once

#include "analysis/program/Flow.h"

namespace restride {

/// A call as one instance of its caller makes it.
struct InstanceCall {
  Place Call;
  std::string Callee;
  unsigned Instance = 0; ///< of the callee
};

struct Instances {
  std::vector<FunctionInstances> Functions; ///< that have more than one
  std::vector<InstanceCall> Calls;
  std::vector<std::pair<NodeId, NodeId>> Copies; ///< a node and its copy for another instance
};

/// Binds all calls of \p Graph. Adds nodes for instances, with their sites.
Instances instantiate(Flow &Graph);

} // namespace restride

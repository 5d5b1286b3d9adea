// What of a kernel depends on no launch: made once for all that is assumed of one.
#pragma once

#include "analysis/cost/CriticalPath.h"
#include "ptx/execute/Execute.h"

namespace restride::cost {

struct Code {
  /// \p F must outlive it.
  explicit Code(const ptx::Function &F) : F(F), Flow(ptx::controlFlow(F)), Order(issueOrder(F, Flow)), Executor(F, Flow) {}
  Code(const Code &) = delete; // the executor refers to Flow

  const ptx::Function &F;
  const ptx::ControlFlow Flow;
  const IssueOrder Order;
  const ptx::WarpExecutor Executor;
};

} // namespace restride::cost

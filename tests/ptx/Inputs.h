// The PTX that both compilers made of inputs/*.cu.
#pragma once

#include "ptx/flow/ControlFlow.h"
#include "ptx/parse/Module.h"

#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <string>

namespace restride::ptx::test {

/// Contents of inputs/\p Name.
inline std::string input(const std::string &Name) {
  auto Buffer = llvm::MemoryBuffer::getFile(std::string(TESTS_DIR) + "/ptx/inputs/" + Name);
  if (!Buffer) {
    ADD_FAILURE() << Name << ": " << Buffer.getError().message();
    return "";
  }
  return (*Buffer)->getBuffer().str();
}

/// \p Text as a module; an empty one, and a failed test, if it does not parse.
inline Module parsed(llvm::StringRef Text) {
  llvm::Expected<Module> M = parse(Text);
  if (!M) {
    ADD_FAILURE() << llvm::toString(M.takeError());
    return {};
  }
  return std::move(*M);
}

/// A kernel `k` with parameters p (.u64), n (.u32) and \p Body.
inline std::string kernel(const std::string &Body) {
  return ".version 8.8\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
         ".reg .pred %p<20>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<40>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<20>;\n" +
         Body + "\n}\n";
}

/// What \p Is says of the only loop of the kernel with \p Body.
inline bool ofOnlyLoop(const std::string &Body, bool (*Is)(const Function &, const ControlFlow &, const Loop &)) {
  const Module M = parsed(kernel(Body));
  const ControlFlow C = controlFlow(M.Functions.at(0));
  EXPECT_EQ(C.Loops.size(), 1u);
  return Is(M.Functions.at(0), C, C.Loops.at(0));
}

} // namespace restride::ptx::test

// Kernels and how the host launches them.
#pragma once

#include "analysis/program/Flow.h"

namespace restride {

class Evaluator;
struct UnitFacts;

/// One launch of a kernel, or a kernel that nobody launches.
struct LaunchSite {
  Launch L;
  std::string Kernel; ///< as in Flow::functions()
  Place Call;
};

/// Sizes, integer arguments and what lies behind pointers as far as the source gives them.
std::vector<LaunchSite> launches(llvm::ArrayRef<const clang::FunctionDecl *> Kernels, llvm::ArrayRef<clang::Decl *> Scope, const UnitFacts &Facts,
                                 const Evaluator &Values, Flow &Graph, clang::ASTContext &Context, const SourceView &View);

/// Joins the launches of one kernel in one instance. \p InstanceOf says which
/// that is for a site.
std::vector<Launch> joinLaunches(std::vector<LaunchSite> Sites, llvm::function_ref<unsigned(const LaunchSite &)> InstanceOf);

/// As in PTX.
std::string mangledKernel(const clang::FunctionDecl *F, clang::ASTContext &Context);
/// The names that Clang and nvcc give a variable in PTX; mostly one.
std::vector<std::string> symbolNames(const clang::VarDecl *V, clang::ASTContext &Context);

} // namespace restride

#include "analysis/program/GpuProperties.h"

#include "clang/AST/ParentMapContext.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace restride {

/// As those of an H100 and an H200; a grid of a tenth more or less has the same order of layouts.
static std::optional<int64_t> valueOf(llvm::StringRef Property) {
  const int64_t Value = llvm::StringSwitch<int64_t>(Property)
                            .Cases({"multiProcessorCount", "cudaDevAttrMultiProcessorCount"}, 132)
                            .Cases({"warpSize", "cudaDevAttrWarpSize"}, 32)
                            .Cases({"maxThreadsPerBlock", "cudaDevAttrMaxThreadsPerBlock"}, 1024)
                            .Cases({"maxThreadsPerMultiProcessor", "cudaDevAttrMaxThreadsPerMultiProcessor"}, 2048)
                            .Default(0);
  return Value ? std::optional(Value) : std::nullopt;
}

std::optional<int64_t> gpuProperty(const FieldDecl *F) {
  const RecordDecl *Of = F->getParent();
  return Of->getDeclName().isIdentifier() && Of->getName() == "cudaDeviceProp" && F->getDeclName().isIdentifier() ? valueOf(F->getName()) : std::nullopt;
}

std::optional<int64_t> gpuAttribute(const VarDecl *V, const UnitFacts &Facts, ASTContext &Context) {
  auto At = Facts.Modified.find(V->getLocation().getRawEncoding());
  if (At == Facts.Modified.end())
    return std::nullopt;
  for (const DeclRefExpr *R : At->second) {
    auto Parents = Context.getParents(*R);
    const UnaryOperator *Address = Parents.empty() ? nullptr : Parents[0].get<UnaryOperator>();
    if (!Address || Address->getOpcode() != UO_AddrOf)
      continue;
    Parents = Context.getParents(*Address);
    const CallExpr *Call = Parents.empty() ? nullptr : Parents[0].get<CallExpr>();
    const FunctionDecl *F = Call ? Call->getDirectCallee() : nullptr;
    if (!F || !F->getDeclName().isIdentifier() || F->getName() != "cudaDeviceGetAttribute" || Call->getNumArgs() < 2)
      continue;
    const DeclRefExpr *Attribute = dyn_cast<DeclRefExpr>(Call->getArg(1)->IgnoreParenImpCasts());
    if (const EnumConstantDecl *Which = Attribute ? dyn_cast<EnumConstantDecl>(Attribute->getDecl()) : nullptr)
      return valueOf(Which->getName());
  }
  return std::nullopt;
}

} // namespace restride

#include "rewriter/KernelRules.h"

#include "rewriter/Suggest.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace restride {

static llvm::Error setArgument(Launch &L, const ParameterValue &V) {
  auto At = llvm::find(L.Parameters, V.Parameter);
  if (At == L.Parameters.end()) {
    std::vector<llvm::StringRef> Known(L.Parameters.begin(), L.Parameters.end());
    return llvm::createStringError(V.At + ": kernel '" + L.Name + "': " + llvm::toString(unknownName("parameter", V.Parameter, Known)));
  }
  L.Arguments[At - L.Parameters.begin()] = V.Value;
  // What was assumed of it no longer is.
  llvm::erase_if(L.Notes, [&](llvm::StringRef N) { return N.starts_with("argument '" + V.Parameter + "' "); });
  L.Notes.push_back("argument '" + V.Parameter + "' is " + std::to_string(V.Value) + " in the configuration");
  return llvm::Error::success();
}

llvm::Error applyKernelRules(std::vector<LaunchSite> &Sites, llvm::ArrayRef<KernelRule> Rules) {
  std::set<std::string> Counted;
  for (LaunchSite &S : Sites)
    for (const KernelRule &R : Rules) {
      Launch &L = S.L;
      llvm::StringRef Name = R.Kernel;
      if (!L.Launched || L.Name != Name.substr(Name.rfind(':') + 1))
        continue;
      if (R.Calls) // all sites of the kernel together
        L.Calls = Counted.insert(L.Kernel).second ? *R.Calls : 0;
      for (const ParameterValue &V : R.Trips)
        if (llvm::Error E = setArgument(L, V))
          return E;
    }
  return llvm::Error::success();
}

} // namespace restride

#include "rewriter/command/KernelRules.h"

#include "analysis/cost/Suggest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace restride {

static llvm::Expected<size_t> position(const Launch &L, llvm::StringRef Parameter, const ConfigPlace &Where) {
  auto At = llvm::find(L.Parameters, Parameter);
  if (At != L.Parameters.end())
    return At - L.Parameters.begin();
  std::vector<llvm::StringRef> Known(L.Parameters.begin(), L.Parameters.end());
  return llvm::createStringError(Where + ": kernel '" + L.Name + "': " + llvm::toString(unknownName("parameter", Parameter, Known)));
}

static llvm::Error setArgument(Launch &L, const ParameterValue &V) {
  llvm::Expected<size_t> At = position(L, V.Parameter, V.At);
  if (!At)
    return At.takeError();
  L.Arguments[*At] = V.Value;
  // What was assumed of it no longer is.
  llvm::erase_if(L.Notes, [&](llvm::StringRef N) { return N.starts_with("argument '" + V.Parameter + "' "); });
  L.Notes.push_back("argument '" + V.Parameter + "' is " + std::to_string(V.Value) + " in the configuration");
  return llvm::Error::success();
}

static IndexOrder orderOf(llvm::StringRef Name) {
  return Name == "sorted" ? IndexOrder::Sorted : Name == "local" ? IndexOrder::Local : IndexOrder::Random;
}

static llvm::Error setOrder(Launch &L, const ParameterOrder &O, bool Again) {
  llvm::Expected<size_t> At = position(L, O.Parameter, O.At);
  if (!At && Again) { // it became a field
    llvm::consumeError(At.takeError());
    return llvm::Error::success();
  }
  if (!At)
    return At.takeError();
  L.Orders.resize(std::max(L.Orders.size(), *At + 1));
  L.Orders[*At] = orderOf(O.Order);
  L.Notes.push_back("the entries of '" + O.Parameter + "' are " + O.Order + " in the configuration");
  return llvm::Error::success();
}

llvm::Error applyKernelRules(std::vector<LaunchSite> &Sites, llvm::ArrayRef<KernelRule> Rules, bool Again) {
  std::set<std::string> Counted;
  for (LaunchSite &S : Sites)
    for (const KernelRule &R : Rules) {
      Launch &L = S.L;
      llvm::StringRef Name = R.Kernel;
      if (!L.Launched || L.Name != Name.substr(Name.rfind(':') + 1))
        continue;
      if (R.Calls) // all sites of the kernel together
        L.Calls = Counted.insert(L.Kernel).second ? *R.Calls : 0;
      if (R.Likely) {
        L.BodyProbability = R.Likely;
        L.Notes.push_back(llvm::formatv("an `if` on data runs its body with probability {0} in the configuration", *R.Likely));
      }
      for (const ParameterOrder &O : R.Index)
        if (llvm::Error E = setOrder(L, O, Again))
          return E;
      for (const ParameterValue &V : R.Trips)
        if (llvm::Error E = setArgument(L, V))
          return E;
    }
  return llvm::Error::success();
}

} // namespace restride

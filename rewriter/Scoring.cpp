#include "rewriter/Scoring.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FormatVariadic.h"

namespace restride {

/// Where nothing is known of an array's size: larger than any L2.
static constexpr double AssumedElements = 1 << 22;
static constexpr unsigned AssumedBlock = 256;
/// An integer argument whose value is not known, mostly the end of a loop.
static constexpr int64_t AssumedArgument = 512;

VariantCompiler::Texts VariantCompiler::key(llvm::ArrayRef<ptx::SourceText> Changed) {
  Texts Out;
  for (const ptx::SourceText &S : Changed)
    Out[S.Path] = S.Text;
  return Out;
}

llvm::Expected<Compiled> VariantCompiler::compile(llvm::ArrayRef<ptx::SourceText> Changed) {
  Texts Key = key(Changed);
  {
    std::lock_guard<std::mutex> Guard(Lock);
    if (auto At = Known.find(Key); At != Known.end())
      return At->second;
  }
  llvm::Expected<std::string> Ptx = C->compile(Changed);
  if (!Ptx)
    return Ptx.takeError();
  llvm::Expected<ptx::Module> Module = ptx::parse(*Ptx);
  if (!Module)
    return Module.takeError();
  Compiled Result{std::move(*Ptx), std::make_shared<ptx::Module>(std::move(*Module))};
  std::lock_guard<std::mutex> Guard(Lock);
  return Known.try_emplace(std::move(Key), std::move(Result)).first->second;
}

bool VariantCompiler::knows(llvm::ArrayRef<ptx::SourceText> Changed) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto At = Known.find(key(Changed));
  return At != Known.end() && !At->second.Ptx.empty(); // host sources are not compiled
}

std::string kernelName(llvm::StringRef Mangled) {
  std::string Full = llvm::demangle(Mangled);
  size_t End = Full.size();
  int Depth = 0;
  for (size_t I = 0; I < Full.size(); ++I) {
    Depth += (Full[I] == '<') - (Full[I] == '>');
    if (Full[I] == '(' && Depth == 0 && !llvm::StringRef(Full).substr(I).starts_with("(anonymous namespace)")) {
      End = I;
      break;
    }
  }
  llvm::StringRef Name = llvm::StringRef(Full).take_front(End);
  Name.consume_front("void ");
  return Name.str();
}

/// The function of \p M that is kernel \p Mangled of the program as it was
/// written: parameters may have other types now. Overloads keep their order.
static std::string nameIn(const ptx::Module &M, const Program &P, const std::string &Mangled) {
  if (M.find(Mangled))
    return Mangled;
  std::string Name = kernelName(Mangled);
  size_t Nth = 0;
  for (const Launch &L : P.Launches) {
    if (L.Kernel == Mangled)
      break;
    Nth += kernelName(L.Kernel) == Name;
  }
  for (const ptx::Function &F : M.Functions)
    if (F.IsEntry && kernelName(F.Name) == Name && Nth-- == 0)
      return F.Name;
  return "";
}

static cost::KernelLaunch launchFacts(const Launch &L, const Program &P, const Plan &Layouts) {
  cost::KernelLaunch Out;
  Out.Calls = L.Calls;
  Out.Notes = L.Notes;
  double Elements = 0;
  bool SizeKnown = false;
  for (size_t I = 0; I < P.Candidates.size(); ++I) {
    const Candidate &C = P.Candidates[I];
    if (!llvm::is_contained(C.Kernels, L.Kernel))
      continue;
    double Count = C.Elements.Count > 0 ? C.Elements.Count : AssumedElements;
    SizeKnown |= C.Elements.Count > 0;
    Elements = std::max(Elements, Count);
    Out.FootprintBytes += Layouts[I]->allocationBytes(C.Type, uint64_t(Count));
  }
  if (Elements == 0)
    Elements = AssumedElements;
  if (!SizeKnown)
    Out.Notes.push_back(llvm::formatv("the arrays' size is not known, {0} elements assumed", uint64_t(Elements)));
  if (llvm::any_of(L.Notes, [](const std::string &N) { return llvm::StringRef(N).ends_with("is not known"); }))
    Out.Notes.push_back("integers that are not known are taken as " + std::to_string(AssumedArgument));
  ptx::LaunchFacts &F = Out.Facts;
  F.Elements = uint64_t(Elements);
  F.DefaultInteger = AssumedArgument;
  F.Block = L.Block[0] ? ptx::Dim3{uint32_t(L.Block[0]), uint32_t(std::max<uint64_t>(1, L.Block[1])), uint32_t(std::max<uint64_t>(1, L.Block[2]))}
                       : ptx::Dim3{AssumedBlock, 1, 1};
  F.Grid = L.Grid[0] ? ptx::Dim3{uint32_t(L.Grid[0]), uint32_t(std::max<uint64_t>(1, L.Grid[1])), uint32_t(std::max<uint64_t>(1, L.Grid[2]))}
                     : ptx::Dim3{uint32_t(std::max(1.0, std::min(2147483647.0, Elements / double(F.Block.count())))), 1, 1};
  F.DynamicSharedBytes = L.SharedBytes;
  F.Arguments = L.Arguments;
  return Out;
}

/// Copies and fills that go through a conversion in this plan.
static std::vector<cost::Conversion> conversions(const Program &P, const Plan &Layouts) {
  std::vector<cost::Conversion> Out;
  for (size_t I = 0; I < P.Candidates.size(); ++I) {
    if (Layouts[I] == catalogue().front() || alignsInPlace(P, Layouts, I))
      continue;
    const Candidate &C = P.Candidates[I];
    double All = (C.Elements.Count > 0 ? C.Elements.Count : AssumedElements) * double(C.Type.Size);
    for (const HostCall &H : C.Calls)
      if (H.copies())
        Out.push_back({H.Bytes > 0 ? H.Bytes : All, H.Times});
  }
  return Out;
}

llvm::Expected<cost::Score> scorePlan(const Program &P, const Plan &Layouts, llvm::ArrayRef<std::string> Kernels,
                                      const ptx::Module &M, const cost::Gpu &Gpu, cost::Model Model) {
  std::vector<cost::KernelLaunch> Launches;
  std::vector<std::string> Missing;
  for (const Launch &L : P.Launches) {
    if (!llvm::is_contained(Kernels, L.Kernel))
      continue;
    cost::KernelLaunch K = launchFacts(L, P, Layouts);
    K.Function = nameIn(M, P, L.Kernel);
    if (K.Function.empty())
      Missing.push_back("kernel '" + L.Name + "' has no code and is not scored");
    else
      Launches.push_back(std::move(K));
  }
  llvm::Expected<cost::Score> S = cost::score(M, Launches, conversions(P, Layouts), Gpu, Model);
  if (S)
    S->Warnings.insert(S->Warnings.end(), Missing.begin(), Missing.end());
  return S;
}

} // namespace restride

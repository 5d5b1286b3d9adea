#include "analysis/program/Launches.h"
#include "analysis/program/ConstantSymbols.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/HostFills.h"
#include "analysis/program/ObjectImage.h"

#include "clang/AST/GlobalDecl.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace restride {

static std::string mangled(GlobalDecl D, ASTContext &Context) {
  std::unique_ptr<MangleContext> Mangler(Context.createMangleContext());
  const NamedDecl *Named = cast<NamedDecl>(D.getDecl());
  if (!Mangler->shouldMangleDeclName(Named))
    return Named->getNameAsString();
  std::string Name;
  llvm::raw_string_ostream OS(Name);
  Mangler->mangleName(D, OS);
  return Name;
}

std::string mangledKernel(const FunctionDecl *F, ASTContext &Context) { return mangled(GlobalDecl(F, KernelReferenceKind::Kernel), Context); }

std::vector<std::string> symbolNames(const VarDecl *V, ASTContext &Context) {
  std::vector<std::string> Out = {mangled(GlobalDecl(V), Context)};
  if (!V->isExternallyVisible()) // nvcc's
    Out.push_back(V->getName().str());
  return Out;
}

static std::string list(const uint64_t Sizes[3]) {
  std::string Out = std::to_string(Sizes[0]);
  if (Sizes[1] != 1 || Sizes[2] != 1)
    Out += "x" + std::to_string(Sizes[1]);
  if (Sizes[2] != 1)
    Out += "x" + std::to_string(Sizes[2]);
  return Out;
}

/// Bytes of all allocations of an array that can be evaluated; zero: they are not one number.
static uint64_t bytesOf(llvm::ArrayRef<HostAllocation> All, const Evaluator &Values) {
  uint64_t One = 0;
  for (const HostAllocation &A : All)
    if (const std::optional<Estimate> Bytes = Values.integer(A.Bytes, A.Calls); Bytes && Bytes->Value > 0) {
      if (One && One != uint64_t(Bytes->Value))
        return 0;
      One = Bytes->Value;
    }
  return One;
}

/// How much lies behind the pointers that the launch passes.
static void addExtents(Launch &Out, const CUDAKernelCallExpr *Call, const HostWrites &Host, const Evaluator &Values, const UnitFacts &Facts,
                       ASTContext &Context) {
  const FunctionDecl *Callee = Call->getDirectCallee();
  for (unsigned I = 0; I < std::min(Call->getNumArgs(), Callee->getNumParams()); ++I) {
    const QualType T = Callee->getParamDecl(I)->getType();
    const QualType Element = T->isPointerType() ? T->getPointeeType() : QualType();
    if (Element.isNull() || Element->isDependentType() || Element->isIncompleteType())
      continue;
    const ValueDecl *Array = arrayOf(Call->getArg(I), Facts);
    const auto At = Array ? Host.Allocated.find(Array) : Host.Allocated.end();
    const uint64_t Bytes = At == Host.Allocated.end() ? 0 : bytesOf(At->second, Values);
    if (!Bytes)
      continue;
    Out.Extents.resize(I + 1);
    Out.Extents[I] = {Bytes, uint64_t(Context.getTypeSizeInChars(Element).getQuantity())};
  }
}

/// A struct that the launch passes by value.
static void addObject(Launch &Out, unsigned Position, const ParmVarDecl *Parameter, const Expr *Argument, const Evaluator &Values,
                      ASTContext &Context) {
  ObjectImage Image = objectImage(Argument, Parameter->getType(), "argument", Parameter->getName(), Values, Context);
  llvm::append_range(Out.Notes, Image.Notes);
  Out.Objects.resize(Position + 1);
  Out.Objects[Position] = std::move(Image.Object);
}

static void addLaunch(Launch &Out, const CUDAKernelCallExpr *Call, const Evaluator &Values, ASTContext &Context) {
  const Evaluator::Counters MidTrip = Values.midTrip(Call);
  Out.Launched = true;
  Out.Calls = Values.timesInAllCalls(Call);
  const CallExpr *Config = Call->getConfig();
  bool GridAssumed = false, BlockAssumed = false;
  if (Config && Config->getNumArgs() >= 2) {
    Values.dimensions(Config->getArg(0), Out.Grid, GridAssumed);
    Values.dimensions(Config->getArg(1), Out.Block, BlockAssumed);
  }
  if (Config && Config->getNumArgs() >= 3)
    if (std::optional<Estimate> Shared = Values.integer(Config->getArg(2)); Shared && Shared->Value > 0)
      Out.SharedBytes = Shared->Value;
  if (Out.Block[0] == 0)
    Out.Notes.push_back("threads per block are not known, 256 assumed");
  else if (BlockAssumed)
    Out.Notes.push_back("threads per block: " + list(Out.Block) + " assumed from the source's default");
  const bool Unknown = Out.Grid[0] == 0 || (Config && (Out.Grid[1] == 0 || Out.Grid[2] == 0));
  if (Unknown && Config && Config->getNumArgs() >= 1)
    Out.Parts = Values.partsOf(Config->getArg(0), Call);
  if (Unknown && Out.Parts > 1)
    Out.Notes.push_back("the grid's size is not known: " + std::to_string(uint64_t(Out.Parts)) + " launches in a row share out the elements");
  else if (Unknown)
    Out.Notes.push_back("the grid's size is not known");
  else if (GridAssumed)
    Out.Notes.push_back("blocks: " + list(Out.Grid) + " assumed from the source's default");
  const FunctionDecl *Callee = Call->getDirectCallee();
  for (unsigned I = 0; I < Call->getNumArgs(); ++I) {
    const ParmVarDecl *Parameter = I < Callee->getNumParams() ? Callee->getParamDecl(I) : nullptr;
    const std::string Name = Parameter ? Parameter->getName().str() : "";
    std::optional<Estimate> Value;
    std::optional<RealEstimate> Real;
    if (Parameter && Parameter->getType()->isIntegralOrEnumerationType()) {
      Value = Values.integer(Call->getArg(I));
      if (!Value)
        Out.Notes.push_back("argument '" + Name + "' is not known");
      else if (Value->Assumed)
        Out.Notes.push_back("argument '" + Name + "' is taken as " + std::to_string(Value->Value));
    } else if (Parameter && Parameter->getType()->isRealFloatingType()) {
      Evaluator::AtTrip Now(Values, MidTrip);
      Real = Values.real(Call->getArg(I));
    } else if (Parameter && Parameter->getType()->isRecordType()) {
      Evaluator::AtTrip Now(Values, MidTrip);
      addObject(Out, I, Parameter, Call->getArg(I), Values, Context);
    }
    Out.Parameters.push_back(Name);
    Out.Arguments.push_back(Value ? std::optional<int64_t>(Value->Value) : std::nullopt);
    Out.Reals.push_back(Real && !Real->Assumed.changes() ? std::optional(Real->Value) : std::nullopt);
  }
}

/// Instances of one template come in any order from Clang; here in that of their uses.
static std::vector<const FunctionDecl *> inOrder(llvm::ArrayRef<const FunctionDecl *> Kernels, const SourceManager &Manager) {
  std::map<SourceLocation, std::vector<const FunctionDecl *>> ByPlace;
  std::vector<SourceLocation> Places;
  for (const FunctionDecl *F : Kernels) {
    std::vector<const FunctionDecl *> &Here = ByPlace[F->getLocation()];
    if (Here.empty())
      Places.push_back(F->getLocation());
    Here.push_back(F);
  }
  std::vector<const FunctionDecl *> Out;
  for (SourceLocation L : Places) {
    std::vector<const FunctionDecl *> &Here = ByPlace[L];
    llvm::stable_sort(Here, [&](const FunctionDecl *A, const FunctionDecl *B) {
      SourceLocation UsedA = A->getPointOfInstantiation(), UsedB = B->getPointOfInstantiation();
      return UsedA.isValid() && UsedB.isValid() && Manager.isBeforeInTranslationUnit(UsedA, UsedB);
    });
    llvm::append_range(Out, Here);
  }
  return Out;
}

std::vector<LaunchSite> launches(llvm::ArrayRef<const FunctionDecl *> Kernels, llvm::ArrayRef<Decl *> Scope, const UnitFacts &Facts,
                                 const Evaluator &Values, Flow &Graph, ASTContext &Context, const SourceView &View) {
  std::vector<LaunchSite> Out;
  auto Site = [&](const FunctionDecl *F) -> LaunchSite & {
    LaunchSite S;
    S.L.Kernel = mangledKernel(F, Context);
    S.L.Name = F->getNameAsString();
    S.L.Where = View.where(F->getLocation());
    S.Kernel = Graph.function(F);
    return Out.emplace_back(std::move(S));
  };
  for (const FunctionDecl *F : inOrder(Kernels, Context.getSourceManager()))
    Site(F);
  const HostWrites Host = Facts.Launches.empty() ? HostWrites() : hostWrites(Scope, Facts, Context);
  const std::map<std::string, ConstantSymbol> Symbols =
      Facts.Launches.empty() ? std::map<std::string, ConstantSymbol>() : constantSymbols(Scope, Values, Context);
  for (const CUDAKernelCallExpr *Call : Facts.Launches)
    if (const FunctionDecl *Callee = Call->getDirectCallee()) {
      LaunchSite &S = Site(Callee);
      S.Call = View.place(Call->getBeginLoc());
      addLaunch(S.L, Call, Values, Context);
      S.L.Symbols = Symbols;
      addFills(S, Call, Host, Values, Facts, Context);
      addExtents(S.L, Call, Host, Values, Facts, Context);
    }
  return Out;
}

std::vector<Launch> joinLaunches(std::vector<LaunchSite> Sites, llvm::function_ref<unsigned(const LaunchSite &)> InstanceOf) {
  std::vector<Launch> Out;
  for (LaunchSite &S : Sites) {
    S.L.Instance = S.L.Launched ? InstanceOf(S) : 0;
    // A kernel without a launch of its own stands for all of them.
    auto Same = llvm::find_if(Out, [&](const Launch &L) {
      return L.Kernel == S.L.Kernel && (L.Instance == S.L.Instance || !L.Launched || !S.L.Launched);
    });
    if (Same == Out.end()) {
      Out.push_back(std::move(S.L));
    } else if (!Same->Launched) {
      S.L.Where = Same->Where;
      *Same = std::move(S.L);
    } else if (S.L.Launched) {
      Same->Calls += S.L.Calls;
    }
  }
  for (Launch &L : Out)
    if (!L.Launched)
      L.Notes.push_back("no launch is seen");
  return Out;
}

} // namespace restride

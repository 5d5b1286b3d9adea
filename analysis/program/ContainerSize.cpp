// "points.size()": how many elements the host puts into a std::vector.
#include "analysis/program/ContainerSize.h"
#include "analysis/program/Around.h"
#include "analysis/program/InAllCalls.h"

#include "analysis/program/Evaluate.h"
#include "analysis/program/HostPlaces.h"
#include "analysis/program/Returned.h"

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/StmtCXX.h"

#include <cmath>
#include <limits>

using namespace clang;

namespace restride {

const ValueDecl *namedBy(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (const DeclRefExpr *R = dyn_cast<DeclRefExpr>(E))
    return R->getDecl();
  const MemberExpr *M = dyn_cast<MemberExpr>(E);
  return M ? M->getMemberDecl() : nullptr;
}

const ValueDecl *containerOf(const Expr *E) {
  const ValueDecl *D = namedBy(E);
  return D && isa<VarDecl, FieldDecl>(D) && isContainer(D->getType()) ? D : nullptr;
}

/// `all.insert(all.end(), part.begin(), part.end())`: part; null: it inserts something else.
static const ValueDecl *insertedBy(const CXXMemberCallExpr *C) {
  const Expr *First = identifierOf(C->getMethodDecl()) == "insert" && C->getNumArgs() == 3 ? C->getArg(1)->IgnoreUnlessSpelledInSource() : nullptr;
  const CXXMemberCallExpr *Begin = dyn_cast_or_null<CXXMemberCallExpr>(First);
  const llvm::StringRef Name = Begin ? identifierOf(Begin->getMethodDecl()) : "";
  return Name == "begin" || Name == "cbegin" ? containerOf(Begin->getImplicitObjectArgument()) : nullptr;
}

bool clears(const CXXMemberCallExpr *C) { return identifierOf(C->getMethodDecl()) == "clear" && !C->getNumArgs(); }

static bool resizes(const CXXMemberCallExpr *C) {
  const llvm::StringRef Name = identifierOf(C->getMethodDecl());
  const bool Appends = Name == "push_back" || Name == "emplace_back";
  return clears(C) || Appends || ((Name == "resize" || Name == "assign" || Name == "reserve") && C->getNumArgs()) || insertedBy(C);
}

const ValueDecl *resizedBy(const CXXMemberCallExpr *C) { return resizes(C) ? containerOf(C->getImplicitObjectArgument()) : nullptr; }
const ValueDecl *resizedInsideBy(const CXXMemberCallExpr *C) { return resizes(C) ? outerContainerOf(C->getImplicitObjectArgument()) : nullptr; }

bool appends(const CXXMemberCallExpr *C) { return C->getMethodDecl()->getName().ends_with("_back"); }

/// The first of the things around \p S in its function for which \p Is holds; null: none.
template <typename FnT> static const Stmt *firstAround(const Stmt *S, ASTContext &Context, FnT Is) {
  const Stmt *Out = nullptr;
  goOutward(S, Context, [&](const DynTypedNode &Node) {
    if (const Stmt *Parent = Node.get<Stmt>(); Parent && Is(Parent))
      Out = Parent;
    return !Out;
  });
  return Out;
}

std::optional<SizeLimit> sizeLimit(const WhileStmt *While) {
  const Expr *Condition = While->getCond()->IgnoreParenImpCasts();
  for (const BinaryOperator *B = dyn_cast<BinaryOperator>(Condition); B && B->getOpcode() == BO_LOr; B = dyn_cast<BinaryOperator>(Condition))
    Condition = B->getLHS()->IgnoreParenImpCasts(); // and a few more, where that is not enough
  const BinaryOperator *B = dyn_cast<BinaryOperator>(Condition);
  const CXXMemberCallExpr *Size =
      B && (B->getOpcode() == BO_LT || B->getOpcode() == BO_NE) ? dyn_cast<CXXMemberCallExpr>(B->getLHS()->IgnoreParenCasts()) : nullptr;
  const CXXMethodDecl *M = Size ? Size->getMethodDecl() : nullptr;
  const ValueDecl *Container = M && M->getDeclName().isIdentifier() && M->getName() == "size" ? containerOf(Size->getImplicitObjectArgument()) : nullptr;
  return Container ? std::optional(SizeLimit{Container, B->getRHS()}) : std::nullopt;
}

/// `while (v.size() < n)` around what appends to \p D: n. Null: there is none.
static const Expr *filledTo(const CXXMemberCallExpr *Append, const ValueDecl *D, ASTContext &Context) {
  const Expr *Limit = nullptr;
  firstAround(Append, Context, [&](const Stmt *S) {
    const std::optional<SizeLimit> Here = isa<WhileStmt>(S) ? sizeLimit(cast<WhileStmt>(S)) : std::nullopt;
    if (Here && Here->Container == D)
      Limit = Here->Limit;
    return Limit != nullptr;
  });
  return Limit;
}

/// The variable that \p F returns in the end; null: it is no variable.
static const VarDecl *returnedVariable(const FunctionDecl *F) {
  const Expr *Value = F ? lastReturned(F) : nullptr;
  return Value ? dyn_cast_or_null<VarDecl>(containerOf(Value->IgnoreUnlessSpelledInSource())) : nullptr;
}

std::optional<Estimate> Evaluator::initialSize(const Expr *Init, Frame In) const {
  Init = Init->IgnoreUnlessSpelledInSource();
  if (const InitListExpr *List = dyn_cast<InitListExpr>(Init)) // {a, b, c}
    return Estimate{int64_t(List->getNumInits()), false};
  if (const CXXStdInitializerListExpr *List = dyn_cast<CXXStdInitializerListExpr>(Init))
    return initialSize(List->getSubExpr(), In.deeper());
  if (const CXXFunctionalCastExpr *Cast = dyn_cast<CXXFunctionalCastExpr>(Init))
    return initialSize(Cast->getSubExpr(), In.deeper());
  if (const CallExpr *Call = dyn_cast<CallExpr>(Init)) {
    const FunctionDecl *F = Call->getDirectCallee();
    const VarDecl *Returned = returnedVariable(F);
    return Returned ? containerSize(Returned, In.into(F, llvm::ArrayRef(Call->getArgs(), Call->getNumArgs()))) : std::nullopt;
  }
  if (const ValueDecl *Other = containerOf(Init))
    return containerSize(Other, In.deeper());
  const CXXConstructExpr *C = dyn_cast<CXXConstructExpr>(Init);
  if (!C)
    return std::nullopt;
  if (!C->getNumArgs() || isa<CXXDefaultArgExpr>(C->getArg(0)))
    return Estimate{0, false};
  const Expr *First = C->getArg(0);
  return First->getType()->isIntegerType() ? integer(First, In.deeper()) : initialSize(First, In.deeper());
}

std::vector<Evaluator::ContainerName> Evaluator::namesOf(const ValueDecl *Container) const {
  if (!GivenTo) {
    GivenTo.emplace();
    for (const auto &[P, Arguments] : Facts.Arguments)
      if (P->getType()->isReferenceType() && isContainer(P->getType().getNonReferenceType()))
        for (const Expr *Argument : Arguments)
          if (const ValueDecl *D = containerOf(Argument); D && D != P)
            (*GivenTo)[D][P] += timesExecuted(Argument);
  }
  constexpr double Endless = std::numeric_limits<double>::infinity();
  std::vector<ContainerName> Names = {{Container, 1}};
  for (size_t I = 0; I < Names.size(); ++I)
    if (auto At = GivenTo->find(Names[I].Decl); At != GivenTo->end())
      for (const auto &[P, Times] : At->second) {
        auto Known = llvm::find_if(Names, [P = P](const ContainerName &N) { return N.Decl == P; });
        if (Known == Names.end())
          Names.push_back({P, Names[I].Times * Times * callsInRecursion(cast<FunctionDecl>(P->getDeclContext())).value_or(Endless)});
        else
          Known->Times = Endless; // functions may call each other
      }
  return Names;
}

std::optional<Estimate> Evaluator::resizedTo(const ValueDecl *D, std::optional<Estimate> Size, Frame In) const {
  std::vector<std::pair<const CXXMemberCallExpr *, ContainerName>> Calls;
  for (const ContainerName &Name : namesOf(D))
    if (const auto At = Facts.Resized.find(Name.Decl->getLocation().getRawEncoding()); At != Facts.Resized.end())
      for (const CXXMemberCallExpr *C : At->second)
        Calls.push_back({C, Name});
  double Appended = 0;
  std::optional<Estimate> Reserved; // what the programmer expects, where nothing else tells
  for (const auto &[C, Name] : Calls)
    if (C->getMethodDecl()->getName() == "reserve")
      if (const std::optional<Estimate> Here = integer(C->getArg(0), In.deeper()); Here && (!Reserved || Here->Value > Reserved->Value))
        Reserved = Here;
  for (const auto &[C, Name] : Calls) {
    if (C->getMethodDecl()->getName() == "reserve" || clears(C))
      continue;
    const Expr *Limit = appends(C) ? filledTo(C, Name.Decl, Context) : insertedBy(C) ? nullptr : C->getArg(0);
    if (Limit) {
      if (const std::optional<Estimate> To = integer(Limit, In.deeper()); To && (!Size || To->Value > Size->Value))
        Size = To;
      continue;
    }
    bool Counted = std::isfinite(Name.Times);
    double Each = 1;
    if (const ValueDecl *Part = insertedBy(C)) {
      const std::optional<Estimate> Size = containerSize(Part, In.deeper());
      Each = Size ? double(Size->Value) : 0;
      Counted &= Size.has_value();
    }
    Appended += timesInLife(C, Name.Decl, Counted) * Name.Times * Each;
    if (!Counted)
      return Reserved;
  }
  if (const double Others = timesDeclared(cast<DeclaratorDecl>(D)); Appended > 0 && Others > 1)
    Appended = std::round(Appended / Others);
  constexpr double Largest = 1e15;
  if (Appended > 0 && Appended < Largest)
    Size = Estimate{int64_t(Appended) + (Size ? Size->Value : 0), true};
  return Size;
}

std::optional<Estimate> Evaluator::containerSize(const ValueDecl *D, Frame In) const {
  if (!D || !isContainer(D->getType()) || In.Depth > MaxDepth)
    return std::nullopt;
  if (const std::optional<uint64_t> Extent = extentOf(D->getType(), Context))
    return Estimate{int64_t(*Extent), false};
  if (isa<ParmVarDecl>(D) || D->getType()->isReferenceType()) {
    const ParmVarDecl *P = dyn_cast<ParmVarDecl>(D);
    if (const Expr *Given = P ? In.argument(P) : nullptr)
      return initialSize(Given, In.around());
    return P ? inAllCalls(givenTo(P, Facts), [&](const Expr *Given) { return initialSize(Given, In.deeper()); }) : std::nullopt;
  }
  const bool Remember = !In.Callee && Trial.empty();
  if (auto At = Known.Containers.find(D); At != Known.Containers.end() && (Remember || !At->second))
    return At->second;
  if (!Sized.insert(D).second) // for (i = 0; i < v.size(); ++i) v.push_back(i): not through itself
    return std::nullopt;
  Known.Containers[D] = std::nullopt;
  std::optional<Estimate> Size;
  if (const VarDecl *V = dyn_cast<VarDecl>(D)) {
    if (V->getInit())
      Size = initialSize(V->getInit(), In.deeper());
  } else if (const FieldDecl *F = dyn_cast<FieldDecl>(D)) {
    for (const Expr *Given : givenTo(F, Facts))
      if (const std::optional<Estimate> Next = initialSize(Given, Frame{{}, {}, nullptr, In.Depth + 1}); Next && (!Size || Next->Value > Size->Value))
        Size = Next;
  }
  Size = resizedTo(D, Size, In);
  Sized.erase(D);
  if (Size && Size->Value == 0) // filled in a way that is not seen
    Size.reset();
  if (Size)
    Size->Assumed = true;
  if (Remember)
    Known.Containers[D] = Size;
  else
    Known.Containers.erase(D);
  return Size;
}

double Evaluator::shareOfTrips(const ForStmt *For, const Stmt *S, Frame In) const {
  constexpr double Mean = 0.5;
  const std::optional<CountedLoop> Loop = For ? countedLoop(For) : std::nullopt;
  const Stmt *If = Loop ? firstAround(S, Context, [&](const Stmt *Above) { return Above == For || isa<IfStmt>(Above); }) : nullptr;
  const BinaryOperator *B = If && If != For ? dyn_cast<BinaryOperator>(cast<IfStmt>(If)->getCond()->IgnoreParenImpCasts()) : nullptr;
  const DeclRefExpr *Counter = B && B->getOpcode() == BO_EQ ? dyn_cast<DeclRefExpr>(B->getLHS()->IgnoreParenImpCasts()) : nullptr;
  const std::optional<Estimate> At = Counter && Counter->getDecl() == Loop->Counter ? integer(B->getRHS(), In.deeper()) : std::nullopt;
  const double Trip = At ? (double(At->Value) - double(Loop->First)) / double(Loop->Step) : -1;
  return Trip >= 0 && Trip < double(Loop->Trips) ? (Trip + 1) / double(Loop->Trips) : Mean;
}

std::optional<double> Evaluator::tripsToFill(const WhileStmt *While) const {
  const std::optional<SizeLimit> Until = sizeLimit(While);
  const auto Grows = Until ? Facts.Resized.find(Until->Container->getLocation().getRawEncoding()) : Facts.Resized.end();
  const std::optional<Estimate> Limit = Grows == Facts.Resized.end() ? std::nullopt : integer(Until->Limit);
  if (!Limit || Limit->Value < 1)
    return std::nullopt;
  double InTrip = 0;
  for (const CXXMemberCallExpr *C : Grows->second) {
    const llvm::SmallVector<const Stmt *, 4> Loops = loopsAround(C, Context);
    const auto At = llvm::find(Loops, While);
    if (!appends(C) || At == Loops.end())
      continue;
    bool Counted = true;
    double Times = 1;
    for (const Stmt *Inner : llvm::make_range(Loops.begin(), At))
      Times *= tripsOf(Inner, Counted);
    if (!Counted)
      return std::nullopt;
    InTrip += Times;
  }
  return InTrip > 0 ? std::optional(std::max(1.0, double(Limit->Value) / InTrip)) : std::nullopt;
}

std::optional<Estimate> Evaluator::sizeSoFar(const CXXMemberCallExpr *Call, const ValueDecl *Container, Frame In) const {
  std::optional<Estimate> Size = containerSize(Container, In);
  const auto Grows = Facts.Resized.find(Container->getLocation().getRawEncoding());
  const llvm::SmallVector<const Stmt *, 4> Around = loopsAround(Call, Context);
  if (!Size || Around.empty() || Grows == Facts.Resized.end())
    return Size;
  llvm::SmallVector<const Stmt *, 8> Growing; // loops around what makes it grow, and around calls of lambdas that do
  for (const CXXMemberCallExpr *C : Grows->second) {
    if (!appends(C))
      continue;
    llvm::append_range(Growing, loopsAround(C, Context));
    if (const auto Calls = Facts.CallsOf.find(functionAround(C, Context)); Calls != Facts.CallsOf.end())
      for (const CallExpr *Call : Calls->second)
        llvm::append_range(Growing, loopsAround(Call, Context));
  }
  const DeclStmt *Declared = statementOf(cast<DeclaratorDecl>(Container), Context);
  const llvm::SmallVector<const Stmt *, 4> Outside = Declared ? loopsAround(Declared, Context) : llvm::SmallVector<const Stmt *, 4>();
  for (const Stmt *Loop : llvm::reverse(Around))
    if (llvm::is_contained(Growing, Loop) && !llvm::is_contained(Outside, Loop)) // and it is not another one in each trip
      return Estimate{std::max<int64_t>(1, int64_t(double(Size->Value) * shareOfTrips(dyn_cast<ForStmt>(Loop), Call, In))), Doubt::Changes};
  return Size;
}

} // namespace restride

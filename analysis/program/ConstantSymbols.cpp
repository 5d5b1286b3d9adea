#include "analysis/program/ConstantSymbols.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/FunctionVisitor.h"
#include "analysis/program/ObjectImage.h"

#include "clang/AST/GlobalDecl.h"
#include "clang/AST/Mangle.h"

using namespace clang;

namespace restride {

namespace {

class SymbolVisitor : public FunctionVisitor {
public:
  SymbolVisitor(const Evaluator &Values, ASTContext &Context) : Values(Values), Context(Context) {}

  bool VisitCallExpr(CallExpr *Call) override {
    const FunctionDecl *F = inTemplate() ? nullptr : Call->getDirectCallee();
    if (!F || !F->getDeclName().isIdentifier() || Call->getNumArgs() < 3 ||
        (F->getName() != "cudaMemcpyToSymbol" && F->getName() != "cudaMemcpyToSymbolAsync"))
      return true;
    const DeclRefExpr *To = dyn_cast<DeclRefExpr>(Call->getArg(0)->IgnoreParenImpCasts());
    const VarDecl *V = To ? dyn_cast<VarDecl>(To->getDecl()) : nullptr;
    if (!V || !V->hasAttr<CUDAConstantAttr>())
      return true;
    const KnownObject Copied = copied(Call, V->getType());
    fill(mangled(V), Copied);
    if (!V->isExternallyVisible()) // nvcc's name for it
      fill(V->getName().str(), Copied);
    return true;
  }

  std::map<std::string, KnownObject> Symbols;

private:
  void fill(const std::string &Name, const KnownObject &Copied) {
    auto [At, First] = Symbols.try_emplace(Name, Copied);
    if (Copied.Bytes.size() != At->second.Bytes.size())
      At->second = {};
    for (size_t I = 0; !First && I < At->second.Bytes.size(); ++I)
      if (At->second.Bytes[I] != Copied.Bytes[I])
        At->second.Bytes[I].reset();
  }

  std::string mangled(const VarDecl *V) {
    std::unique_ptr<MangleContext> Mangler(Context.createMangleContext());
    std::string Name;
    llvm::raw_string_ostream OS(Name);
    if (!Mangler->shouldMangleDeclName(V))
      return V->getNameAsString();
    Mangler->mangleName(GlobalDecl(V), OS);
    return Name;
  }

  KnownObject copied(const CallExpr *Call, QualType T) {
    const Expr *From = Call->getArg(1)->IgnoreParenCasts();
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(From); U && U->getOpcode() == UO_AddrOf)
      From = U->getSubExpr()->IgnoreParens();
    const bool IsPart = Call->getNumArgs() > 3 && !isa<CXXDefaultArgExpr>(Call->getArg(3));
    if (IsPart || !Context.hasSameUnqualifiedType(From->getType(), T))
      return {};
    return objectImage(From, T, "", Values, Context).Object;
  }

  const Evaluator &Values;
  ASTContext &Context;
};

} // namespace

std::map<std::string, KnownObject> constantSymbols(llvm::ArrayRef<Decl *> Scope, const Evaluator &Values, ASTContext &Context) {
  SymbolVisitor V(Values, Context);
  for (Decl *D : Scope)
    V.TraverseDecl(D);
  return std::move(V.Symbols);
}

} // namespace restride

#include "analysis/program/ConstantSymbols.h"
#include "analysis/program/Evaluate.h"
#include "analysis/program/FunctionVisitor.h"
#include "analysis/program/Launches.h"
#include "analysis/program/ObjectImage.h"

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
    const ConstantSymbol Copied = copied(Call, V);
    for (const std::string &Name : symbolNames(V, Context))
      fill(Name, Copied);
    return true;
  }

  std::map<std::string, ConstantSymbol> Symbols;

private:
  void fill(const std::string &Name, const ConstantSymbol &Copied) {
    auto [At, First] = Symbols.try_emplace(Name, Copied);
    if (First)
      return;
    std::vector<std::optional<uint8_t>> &Bytes = At->second.Object.Bytes;
    const std::vector<std::optional<uint8_t>> &Now = Copied.Object.Bytes;
    if (Now.size() != Bytes.size())
      Bytes.clear();
    for (size_t I = 0; I < Bytes.size(); ++I)
      if (Bytes[I] != Now[I])
        Bytes[I].reset();
  }

  ConstantSymbol copied(const CallExpr *Call, const VarDecl *V) {
    const Expr *From = Call->getArg(1)->IgnoreParenCasts();
    if (const UnaryOperator *U = dyn_cast<UnaryOperator>(From); U && U->getOpcode() == UO_AddrOf)
      From = U->getSubExpr()->IgnoreParens();
    const bool IsPart = Call->getNumArgs() > 3 && !isa<CXXDefaultArgExpr>(Call->getArg(3));
    if (IsPart || !Context.hasSameUnqualifiedType(From->getType(), V->getType()))
      return {};
    ObjectImage Image = objectImage(From, V->getType(), "constant", V->getName(), Values, Context);
    return {std::move(Image.Object), std::move(Image.Notes)};
  }

  const Evaluator &Values;
  ASTContext &Context;
};

} // namespace

std::map<std::string, ConstantSymbol> constantSymbols(llvm::ArrayRef<Decl *> Scope, const Evaluator &Values, ASTContext &Context) {
  SymbolVisitor V(Values, Context);
  for (Decl *D : Scope)
    V.TraverseDecl(D);
  return std::move(V.Symbols);
}

} // namespace restride

#include "analysis/program/FieldCopyCode.h"
#include "layouts/Layout.h"

#include "clang/AST/DeclTemplate.h"

using namespace clang;

namespace restride {

std::string fieldCopyMark(llvm::StringRef Name) {
  return std::string(GeneratedMark) + " one field of an array of " + Name.str() + " from and to an array of its own.";
}

static constexpr llvm::StringRef Endings[] = {"_put", "_get", "_fill", "_memcpy", "_memcpyAsync", "_memset", "_memsetAsync"};

/// "Xyz" of "Xyz_put".
static llvm::StringRef recordOf(llvm::StringRef Function) {
  for (llvm::StringRef Ending : Endings)
    if (llvm::StringRef Name = Function; Name.consume_back(Ending))
      return Name;
  return "";
}

static const FunctionDecl *functionOf(const Decl *D) {
  if (const FunctionTemplateDecl *T = dyn_cast<FunctionTemplateDecl>(D))
    return T->getTemplatedDecl();
  return dyn_cast<FunctionDecl>(D);
}

bool isFieldCopyCode(const Decl *D, const SourceView &View) {
  const FunctionDecl *F = functionOf(D);
  if (!F || !F->getDeclName().isIdentifier() || !View.isUserCode(F->getLocation()))
    return false;
  llvm::StringRef Record = recordOf(F->getName());
  return !Record.empty() && View.buffer().contains(fieldCopyMark(Record));
}

std::optional<llvm::StringRef> fieldCopyRecord(const FunctionDecl *F, const SourceView &View) {
  if (!F || !F->getDeclName().isIdentifier() || !F->getName().contains("_mem") || !isFieldCopyCode(F, View))
    return std::nullopt;
  return recordOf(F->getName());
}

std::optional<Range> fieldCopyCode(llvm::StringRef Name, llvm::ArrayRef<Decl *> Scope, const SourceView &View) {
  size_t Begin = View.buffer().find(fieldCopyMark(Name));
  if (Begin == llvm::StringRef::npos)
    return std::nullopt;
  Range Out{unsigned(Begin), unsigned(Begin)};
  for (const Decl *D : Scope)
    if (const FunctionDecl *F = functionOf(D); F && F->getDeclName().isIdentifier() && recordOf(F->getName()) == Name)
      if (std::optional<Range> R = View.range(D->getSourceRange()))
        Out.End = std::max(Out.End, R->End);
  // With the empty line behind it.
  while (Out.End < View.buffer().size() && isspace((unsigned char)View.buffer()[Out.End]))
    ++Out.End;
  return Out;
}

} // namespace restride

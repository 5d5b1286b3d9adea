#include "rewriter/read/LoadedAst.h"

#include "ptx/compile/Compile.h"

#include "clang/Basic/Builtins.h"
#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Frontend/ASTUnit.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Serialization/PCHContainerOperations.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/TargetParser/Host.h"

namespace restride {
using namespace llvm;

/// Clang takes a file's name; no file of the user's has this one.
static constexpr char InMemory[] = "/restride-collected.ast";

/// An AST file says nothing of the other side of a CUDA program, whose builtins
/// its declarations name too.
static void addBuiltinsOfOtherSide(clang::ASTUnit &Ast) {
  clang::ASTContext &Context = Ast.getASTContext();
  if (!Context.getLangOpts().CUDA)
    return;
  clang::TargetOptions Other;
  Other.Triple = Context.getLangOpts().CUDAIsDevice ? sys::getDefaultTargetTriple() : "nvptx64-nvidia-cuda";
  std::unique_ptr<clang::TargetInfo> Target(clang::TargetInfo::CreateTargetInfo(Ast.getDiagnostics(), Other));
  if (!Target)
    return;
  clang::Builtin::Context &Builtins = Ast.getPreprocessor().getBuiltinInfo();
  Builtins = clang::Builtin::Context(); // it would count the host's twice
  Builtins.InitializeTarget(Context.getTargetInfo(), Target.get()); // whose tables are of the library, and stay
}

std::shared_ptr<clang::ASTUnit> loadAst(StringRef Bytes, const SourceCommand &Command) {
  auto Memory = makeIntrusiveRefCnt<vfs::InMemoryFileSystem>();
  Memory->addFileNoOwn(InMemory, /*ModificationTime=*/0, MemoryBufferRef(Bytes, InMemory));
  auto Files = makeIntrusiveRefCnt<vfs::OverlayFileSystem>(vfs::getRealFileSystem());
  Files->pushOverlay(Memory);
  auto Options = std::make_shared<clang::DiagnosticOptions>();
  auto Diags = makeIntrusiveRefCnt<clang::DiagnosticsEngine>(clang::DiagnosticIDs::create(), *Options, new clang::IgnoringDiagConsumer);
  clang::FileSystemOptions Folder;
  Folder.WorkingDir = Command.Directory;
  clang::PCHContainerOperations Containers;
  clang::HeaderSearchOptions Search;
  std::unique_ptr<clang::ASTUnit> Ast = clang::ASTUnit::LoadFromASTFile(InMemory, Containers.getRawReader(), clang::ASTUnit::LoadASTOnly,
                                                                        Files, Options, Diags, Folder, Search);
  if (!Ast || Diags->hasErrorOccurred())
    return nullptr;
  addBuiltinsOfOtherSide(*Ast);
  return Ast;
}

} // namespace restride

#include "analysis/program/RecordType.h"

#include "clang/AST/Attr.h"
#include "clang/AST/RecordLayout.h"
#include "clang/Lex/Lexer.h"

#include <set>

using namespace clang;

namespace restride {

/// A member array with more elements stays whole: a pointer for each would make
/// a handle that no kernel wants as a parameter.
static constexpr uint64_t MaxSplitElements = 32;

/// Whole elements are copied by one thread; a larger one is a program's state
/// and not an element.
static constexpr uint64_t MaxRecordBytes = 2048;

static std::string spell(QualType T, const ASTContext &Context) {
  PrintingPolicy Policy(Context.getLangOpts());
  Policy.SuppressUnwrittenScope = true; // "(anonymous namespace)::"
  Policy.SuppressTagKeyword = true;
  Policy.FullyQualifiedName = true;
  Policy.Bool = true;
  return T.getUnqualifiedType().getAsString(Policy);
}

/// A nested record that layouts may take apart; float4 and its like, which
/// load as one word, stay one leaf.
static bool splits(const CXXRecordDecl *D, const ASTContext &Context) {
  if (!D->isCompleteDefinition() || D->isUnion() || D->getNumBases() || !D->isTriviallyCopyable() || D->field_empty())
    return false;
  const ASTRecordLayout &Layout = Context.getASTRecordLayout(D);
  if (Layout.getAlignment() == Layout.getSize() && Layout.getSize().getQuantity() > 4)
    return false;
  for (const FieldDecl *F : D->fields())
    if (F->isBitField() || F->getAccess() != AS_public || F->getName().empty())
      return false;
  return true;
}

/// "struct { float x, y; } pos;"
static bool hasNoName(QualType T) {
  T = QualType(T->getBaseElementTypeUnsafe(), 0);
  while (T->isPointerType())
    T = T->getPointeeType();
  const TagDecl *Tag = T->getAsTagDecl();
  return Tag && Tag->getName().empty() && !Tag->getTypedefNameForAnonDecl();
}

/// \p Path names an object of type \p D in unevaluated text: "geo::P::", "geo::P::pos.".
static std::vector<Field> fieldsOf(const CXXRecordDecl *D, const ASTContext &Context, const std::string &Path) {
  std::vector<Field> Out;
  const ASTRecordLayout &Layout = Context.getASTRecordLayout(D);
  auto Flatten = [&](const CXXRecordDecl *Part, uint64_t Offset) {
    for (Field &Inner : fieldsOf(Part, Context, Path)) {
      Inner.Offset += Offset;
      Out.push_back(std::move(Inner));
    }
  };
  for (const CXXBaseSpecifier &B : D->bases())
    Flatten(B.getType()->getAsCXXRecordDecl(), Layout.getBaseClassOffset(B.getType()->getAsCXXRecordDecl()).getQuantity());
  for (const FieldDecl *F : D->fields()) {
    Field Member;
    Member.Name = F->getName().str();
    Member.Offset = Layout.getFieldOffset(F->getFieldIndex()) / 8;
    QualType T = F->getType();
    if (F->isAnonymousStructOrUnion()) { // its fields are reached like those around it
      Flatten(T->getAsCXXRecordDecl(), Member.Offset);
      continue;
    }
    Member.Size = Context.getTypeSizeInChars(T).getQuantity();
    while (const ConstantArrayType *A = Context.getAsConstantArrayType(T)) {
      Member.Extents.push_back(A->getSize().getZExtValue());
      T = A->getElementType();
    }
    Member.Align = Context.getTypeAlignInChars(T).getQuantity();
    std::string Here = Path + Member.Name;
    for (size_t I = 0; I < Member.Extents.size(); ++I)
      Here += "[0]";
    // What an element of an array is, decltype does not say.
    Member.Type = !hasNoName(T) ? spell(T, Context) : Member.Extents.empty() ? "decltype(" + Here + ")" : "";
    Member.KeepWhole = Member.arrayElements() > MaxSplitElements;
    const CXXRecordDecl *Nested = T->getAsCXXRecordDecl();
    if (Nested && !Member.KeepWhole && splits(Nested, Context))
      Member.Members = fieldsOf(Nested, Context, Here + ".");
    Out.push_back(std::move(Member));
  }
  return Out;
}

/// `P r;` without a constructor that runs.
static bool hasTrivialDefault(const CXXRecordDecl *D) {
  for (const CXXConstructorDecl *C : D->ctors())
    if (C->isDefaultConstructor() && (C->isDeleted() || C->getAccess() != AS_public))
      return false;
  return D->hasTrivialDefaultConstructor();
}

/// A parameter `T &&` or `T &` that takes an lvalue better than `const P &` does.
static bool takesAnything(const FunctionTemplateDecl *F) {
  const FunctionDecl *Pattern = F->getTemplatedDecl();
  if (Pattern->getNumParams() != 1)
    return false;
  QualType T = Pattern->getParamDecl(0)->getType().getNonPackExpansionType();
  return T->isReferenceType() && T->getPointeeType()->isTemplateTypeParmType() && !T->getPointeeType().isConstQualified();
}

/// Why generated code cannot copy a trivially copyable record with `=` and
/// `return`; null where it can.
static const char *cannotCopy(const CXXRecordDecl *D) {
  constexpr const char *Deleted = "has a copy constructor or assignment that is deleted or not public";
  constexpr const char *Replaced = "has a constructor or assignment template that copies would call";
  for (const Decl *Member : D->decls()) {
    if (const FunctionTemplateDecl *F = dyn_cast<FunctionTemplateDecl>(Member)) {
      bool Special = isa<CXXConstructorDecl>(F->getTemplatedDecl()) || F->getDeclName().getCXXOverloadedOperator() == OO_Equal;
      if (Special && takesAnything(F))
        return Replaced;
    }
    const CXXMethodDecl *M = dyn_cast<CXXMethodDecl>(Member);
    const CXXConstructorDecl *C = dyn_cast_or_null<CXXConstructorDecl>(M);
    bool Copies = M && (M->isCopyAssignmentOperator() || M->isMoveAssignmentOperator() || (C && C->isCopyOrMoveConstructor()));
    if (Copies && (M->isDeleted() || M->getAccess() != AS_public || !M->isTrivial()))
      return Deleted;
  }
  if (!D->hasCopyConstructorWithConstParam() || !D->hasCopyAssignmentWithConstParam())
    return Deleted;
  for (const CXXBaseSpecifier &B : D->bases())
    if (const char *Why = cannotCopy(B.getType()->getAsCXXRecordDecl()))
      return Why;
  for (const FieldDecl *F : D->fields()) {
    const CXXRecordDecl *Nested = F->getType()->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
    if (const char *Why = Nested && Nested->isCompleteDefinition() ? cannotCopy(Nested) : nullptr)
      return Why;
  }
  return nullptr;
}

/// A type that generated code cannot name: a private member of a class.
static bool isHiddenType(QualType T) {
  T = QualType(T->getBaseElementTypeUnsafe(), 0);
  while (T->isPointerType())
    T = T->getPointeeType();
  const TagDecl *Tag = T->getAsTagDecl();
  const TypedefType *Alias = T->getAs<TypedefType>();
  auto Hidden = [](const Decl *D) { return D && (D->getAccess() == AS_private || D->getAccess() == AS_protected); };
  return Hidden(Tag) || (Alias && Hidden(Alias->getDecl()));
}

/// More pointers than these no kernel wants as a parameter.
static constexpr size_t MaxLeaves = 64;

static size_t leavesOf(const Field &F) {
  Record R;
  R.Fields = {F};
  return leaves(R).size();
}

/// The member array that gives the most leaves; null where none gives several.
static Field *largestArray(std::vector<Field> &Fields) {
  Field *Best = nullptr;
  for (Field &F : Fields) {
    Field *Here = F.Extents.empty() ? largestArray(F.Members) : &F;
    if (Here && leavesOf(*Here) > (Best ? leavesOf(*Best) : 1))
      Best = Here;
  }
  return Best;
}

static void checkFields(const CXXRecordDecl *D, const SourceView &View, llvm::function_ref<void(SourceLocation, std::string)> Refuse) {
  for (const CXXBaseSpecifier &B : D->bases())
    checkFields(B.getType()->getAsCXXRecordDecl(), View, Refuse);
  for (const FieldDecl *F : D->fields()) {
    std::string Name = "field '" + F->getName().str() + "' ";
    QualType T = F->getType();
    if (F->isBitField())
      Refuse(F->getLocation(), Name + "is a bit-field, which has no address of its own");
    else if (F->isAnonymousStructOrUnion() && !T->isUnionType() && F->getAccess() == AS_public)
      checkFields(T->getAsCXXRecordDecl(), View, Refuse);
    else if (F->getName().empty())
      Refuse(F->getLocation(), T->isUnionType() ? "it has a union without a name, whose members share memory" : "it has an unnamed member");
    else if (F->getAccess() != AS_public && !View.range(D->getBraceRange().getBegin()))
      Refuse(F->getLocation(), Name + "is not public, and the class stands in a header, which stays as it is");
    else if (isHiddenType(T))
      Refuse(F->getLocation(), Name + "has a type that is not public");
    else if (T->isReferenceType())
      Refuse(F->getLocation(), Name + "is a reference");
    else if (T.isConstQualified() || T.isVolatileQualified())
      Refuse(F->getLocation(), Name + "is const or volatile");
    else if (T->isIncompleteArrayType() || (T->isConstantArrayType() && F->isZeroSize(F->getASTContext())))
      Refuse(F->getLocation(), Name + "has no fixed size");
    else if (T->isFunctionPointerType() || T->isMemberPointerType())
      Refuse(F->getLocation(), Name + "is a pointer to a function or member");
    else if (F->getLocation().isMacroID())
      Refuse(F->getLocation(), Name + "comes from a macro");
  }
}

/// Why the fields of \p D's bases cannot be reached by their names alone; empty
/// where they can. \p Derived: the classes around it, and names of fields seen before.
static std::string baseObjection(const CXXRecordDecl *D, llvm::SmallVector<const CXXRecordDecl *> Derived, std::set<std::string> &Names) {
  Derived.push_back(D);
  for (const CXXBaseSpecifier &B : D->bases()) {
    const CXXRecordDecl *Base = B.getType()->getAsCXXRecordDecl();
    std::string Name = "'" + Base->getNameAsString() + "' ";
    if (B.isVirtual() || B.getAccessSpecifier() != AS_public)
      return Name + "is a virtual base class, or one that is not public";
    for (const FieldDecl *F : Base->fields()) {
      if (F->getAccess() != AS_public || F->getName().empty())
        return Name + "is a base class with fields that are not public, or without a name";
      if (!Names.insert(F->getName().str()).second ||
          llvm::any_of(Derived, [&](const CXXRecordDecl *C) { return !C->lookup(F->getDeclName()).empty(); }))
        return "field '" + F->getName().str() + "' of the base class " + Name + "is hidden";
    }
    if (std::string Why = baseObjection(Base, Derived, Names); !Why.empty())
      return Why;
  }
  return "";
}

/// Where a line goes that is the first inside of the braces.
static unsigned firstLineInside(Range Brace, llvm::StringRef Text) {
  size_t Line = std::min(Text.find('\n', Brace.End), Text.size());
  llvm::StringRef Rest = Text.slice(Brace.End, Line);
  if (!Rest.trim().empty() && !Rest.trim().starts_with("//"))
    return Brace.End;
  return Brace.End + Rest.rtrim("\r").size();
}

/// The offset after the `;` that ends the declaration whose last brace is at
/// \p Brace, and after the line break if nothing else follows on the line.
static std::optional<unsigned> lineAfter(SourceLocation Brace, const SourceView &View) {
  std::optional<Range> R = View.range(Brace);
  llvm::StringRef Text = View.buffer();
  if (!R)
    return std::nullopt;
  size_t At = Text.find(';', R->End);
  if (At == llvm::StringRef::npos)
    return std::nullopt;
  size_t Line = Text.find('\n', At); // every file ends with one
  llvm::StringRef Rest = Text.slice(At + 1, Line).trim();
  return Rest.empty() || Rest.starts_with("//") ? Line + 1 : At + 1;
}

/// The P of "typedef struct P_ { ... } P;": the name that the program uses.
static const TypedefNameDecl *typedefAround(const CXXRecordDecl *D) {
  if (const TypedefNameDecl *Anonymous = D->getTypedefNameForAnonDecl())
    return Anonymous;
  const DeclContext *Around = D->getDeclContext();
  if (!Around->isTranslationUnit()) // whose declarations are there, see readUnit
    Around->decls_begin();
  for (const Decl *Other : Around->noload_decls())
    if (const TypedefDecl *T = dyn_cast<TypedefDecl>(Other))
      if (T->getUnderlyingType()->getAsCXXRecordDecl() == D && T->getSourceRange().fullyContains(D->getSourceRange()))
        return T;
  return nullptr;
}

std::string qualifiedName(const CXXRecordDecl *D) {
  const TypedefNameDecl *Alias = typedefAround(D);
  std::string Out = Alias ? Alias->getName().str() : D->getName().str();
  for (const DeclContext *C = D->getDeclContext(); C; C = C->getParent())
    if (const NamespaceDecl *N = dyn_cast<NamespaceDecl>(C); N && !N->isAnonymousNamespace() && !N->isInline())
      Out = N->getName().str() + "::" + Out;
  return Out;
}

RecordFacts recordFacts(const CXXRecordDecl *D, const ASTContext &Context, const SourceView &View) {
  RecordFacts Out;
  const TypedefNameDecl *Alias = typedefAround(D);
  std::string Plain = Alias ? Alias->getName().str() : D->getName().str();
  Out.Qualified = qualifiedName(D);
  Out.Kind = D->getName() == Plain ? D->getKindName().str() : "";
  Out.Where = View.where(D->getLocation());
  Out.InMainFile = View.inMainFile(D->getLocation());
  auto Refuse = [&](SourceLocation L, std::string Why) { Out.Refusals.push_back({"", View.where(L), std::move(Why)}); };

  Out.Type.Name = Plain;
  // The pattern of a template has no size.
  if (D->isDependentContext() || D->isInvalidDecl()) {
    Refuse(D->getLocation(), "'" + Plain + "' is a template");
    return Out;
  }
  const ASTRecordLayout &Layout = Context.getASTRecordLayout(D);
  Out.Type.Size = Layout.getSize().getQuantity();
  Out.Type.Align = Layout.getAlignment().getQuantity();

  if (Plain.empty())
    Refuse(D->getLocation(), "the record has no name");
  if (D->isUnion())
    Refuse(D->getLocation(), "'" + Plain + "' is a union, whose members share memory");
  else if (D->isPolymorphic())
    Refuse(D->getLocation(), "'" + Plain + "' has virtual functions");
  else if (!D->isTriviallyCopyable())
    Refuse(D->getLocation(), "'" + Plain + "' is not trivially copyable");
  else if (const char *Why = cannotCopy(D))
    Refuse(D->getLocation(), "'" + Plain + "' " + Why);
  if (isa<ClassTemplateSpecializationDecl>(D))
    Refuse(D->getLocation(), "'" + Plain + "' is a template");
  const DeclContext *Around = D->getDeclContext();
  if (!Around->isFileContext())
    Refuse(D->getLocation(), "'" + Plain + "' is declared inside a class or function");
  if (Out.Type.Size > MaxRecordBytes)
    Refuse(D->getLocation(), "'" + Plain + "' has " + std::to_string(Out.Type.Size) + " bytes, too many to copy an element through registers");
  if (D->field_empty())
    Refuse(D->getLocation(), "'" + Plain + "' has no fields");
  if (D->hasAttr<PackedAttr>() || D->hasAttr<MaxFieldAlignmentAttr>())
    Refuse(D->getLocation(), "'" + Plain + "' is packed");
  if (D->getBeginLoc().isMacroID() || D->getBraceRange().getEnd().isMacroID())
    Refuse(D->getLocation(), "'" + Plain + "' is defined by a macro");
  std::set<std::string> Names;
  if (std::string Why = baseObjection(D, {}, Names); !Why.empty())
    Refuse(D->getLocation(), Why);
  checkFields(D, View, Refuse);
  if (!Out.Refusals.empty())
    return Out;

  Out.Type.Fields = fieldsOf(D, Context, Out.Qualified + "::");
  Out.Type.TrivialDefault = hasTrivialDefault(D);
  Out.Type.Private = llvm::any_of(D->fields(), [](const FieldDecl *F) { return F->getAccess() != AS_public; });
  if (std::optional<Range> Brace = Out.Type.Private ? View.range(D->getBraceRange().getBegin()) : std::nullopt)
    Out.FriendAt = firstLineInside(*Brace, View.buffer());
  if (!View.isEditable(D->getLocation()))
    return Out;
  Out.HelperAt = lineAfter(D->getBraceRange().getEnd(), View);
  if (std::optional<Range> Tag = View.range(D->getBeginLoc())) {
    llvm::StringRef Word = View.text(*Tag);
    if (Word == "struct" || Word == "class")
      Out.AttributeAt = Tag->End;
  }
  return Out;
}

void limitLeaves(Record &R) {
  while (leaves(R).size() > MaxLeaves) {
    Field *Largest = largestArray(R.Fields);
    if (!Largest)
      return;
    Largest->KeepWhole = true;
    Largest->Members.clear();
  }
}

void keepWhole(Record &R, llvm::ArrayRef<std::string> Path, bool OnlyNested) {
  std::vector<Field> *Fields = &R.Fields;
  for (const std::string &Name : Path) {
    auto At = std::find_if(Fields->begin(), Fields->end(), [&](const Field &F) { return F.Name == Name; });
    if (At == Fields->end())
      return;
    if (&Name == &Path.back()) {
      At->KeepWhole |= !OnlyNested;
      At->Members.clear();
    }
    Fields = &At->Members;
  }
}

} // namespace restride

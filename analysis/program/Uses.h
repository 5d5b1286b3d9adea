// Classifies every use of a tracked pointer. From each reference the walk goes
// up through the expressions around it until something consumes the value: a
// member access, a copy, a call, another pointer. What it does not know refuses
// the array, with the place.
//
// Pointers.cpp follows pointers, PointerPlaces.cpp arrays of them and their addresses, OwnerUses.cpp what owns them,
// Walks.cpp those that walk, NullPointers.cpp those that are null or may be, Passing.cpp what they are passed to,
// Elements.cpp elements and their members, Aliases.cpp names of elements,
// HostSites.cpp calls of the CUDA runtime, DeclaredArrays.cpp arrays that are
// declared in device memory; Origins.cpp looks the other way, at what is
// assigned to a pointer.
#pragma once

#include "analysis/program/Flow.h"

#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace restride {

/// A pointer value on its way up: a node's pointer plus terms.
struct Pointer {
  NodeId Node = 0;
  const clang::Expr *Base = nullptr; ///< the expression without offset; null: by name
  std::string BaseName;
  struct Term {
    const clang::Expr *E = nullptr; ///< null: by name
    std::string Name;
    bool Negative = false;
  };
  std::vector<Term> Terms;
  bool Owned = false; ///< Base is a std::unique_ptr that has the pointer
  bool Elsewhere = false; ///< Base and the first of Terms are an alias's: they stay what they are
};

/// What is evaluated to find the element, and may change: the pointer's expression and the terms.
std::vector<const clang::Expr *> operands(const Pointer &P);

/// A never-changing `T *q = p + i` or `T &r = p[i]`, or a q that walks from there: q and r stand for this.
struct AliasFacts {
  NodeId Node;
  const clang::VarDecl *BaseVariable; ///< null: it stands on a member
  std::string Base; ///< its name as written: "geo::table"
  std::string Name;
  std::optional<Pointer> Instead; ///< what takes the alias's place: a member and the index, or all that its declaration says
};

/// A call of a member function or operator that works on an element in place.
struct InPlaceCall {
  const clang::FunctionDecl *F; ///< its definition
  NodeId Object;                ///< of F
  NodeId Caller;                ///< the array, or the object of the function that calls it
};

/// Facts about the translation unit that the classifier and the passes after it share.
struct UnitFacts {
  /// Variables (place of declaration) that change after their initialisation or
  /// whose address is taken, with the references that do it.
  std::map<unsigned, std::vector<const clang::DeclRefExpr *>> Modified;
  /// Names of variables, members and functions.
  std::set<std::string> Names;
  /// Aliases, filled while uses are classified.
  llvm::MapVector<const clang::ValueDecl *, AliasFacts> Aliases;
  /// All arguments given to a parameter of a definition, over all calls seen.
  llvm::DenseMap<const clang::ParmVarDecl *, std::vector<const clang::Expr *>> Arguments;
  /// The same of constructors and lambdas, which may be called in ways that are not seen.
  llvm::DenseMap<const clang::ParmVarDecl *, std::vector<const clang::Expr *>> Constructed;
  std::set<unsigned> CalledUnseen; ///< and parameters that calls through a pointer may give others
  /// Everything assigned to a variable after its initialisation.
  std::map<unsigned, std::vector<const clang::Expr *>> Assigned;
  /// Everything assigned to a member (place of declaration), in all objects; of containers, what they begin as.
  std::map<unsigned, std::vector<const clang::Expr *>> MemberValues;
  /// Of a class template's members the same by instantiation.
  std::map<const clang::FieldDecl *, std::vector<const clang::Expr *>> InstanceValues;
  std::set<unsigned> UnclearMembers; ///< and those that may get other values
  /// Where numbers that are members change otherwise: `++grid.side`.
  std::map<unsigned, std::vector<const clang::Expr *>> MemberChanges;
  /// Members, and parameters with integers behind them (place of declaration), that are used as subscripts, and that loops
  /// begin with or go up to.
  std::set<unsigned> Subscripts, Bounds;
  /// Of those that are themselves subscripts of arrays with an extent, the smallest one.
  std::map<unsigned, uint64_t> Extents;
  /// Calls that give elements to a std::vector, a variable or a member (place of declaration).
  std::map<unsigned, std::vector<const clang::CXXMemberCallExpr *>> Resized;
  /// The same of those that lie in a container, by that.
  std::map<unsigned, std::vector<const clang::CXXMemberCallExpr *>> ResizedInside;
  std::vector<const clang::CUDAKernelCallExpr *> Launches;
  /// Calls that are seen of a function or lambda, by its definition.
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<const clang::CallExpr *>> CallsOf;
  /// The same of constructors.
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<const clang::CXXConstructExpr *>> ConstructionsBy;
  /// References inside templates (offset and node), and those which an
  /// instantiation explained.
  std::vector<std::pair<clang::SourceLocation, NodeId>> InTemplates;
  std::set<unsigned> Explained;
  /// The host call of a site, for what is evaluated later.
  struct Call {
    NodeId Node;
    size_t Index; ///< into Sites.Calls
    const clang::CallExpr *E;
    const clang::Expr *Bytes; ///< null where there is none
  };
  std::vector<Call> Calls;
  /// Declared arrays that a device function uses: any kernel may call it.
  std::set<NodeId> DeviceUses;
  std::vector<InPlaceCall> Methods;
  bool Alone = true; ///< the program has no other unit, which could change what both see
};

/// What all calls that are seen give \p P; empty: none is.
llvm::ArrayRef<const clang::Expr *> givenTo(const clang::ParmVarDecl *P, const UnitFacts &Facts);
/// What is assigned to the member \p F, of an instantiation of a template in its objects alone.
llvm::ArrayRef<const clang::Expr *> givenTo(const clang::FieldDecl *F, const UnitFacts &Facts);

/// \p E makes an object, or a pointer to one, into one of a base class.
bool toBase(const clang::CastExpr *E);

/// What std::exchange puts into its first argument, whose value it gives back; null for other calls.
const clang::Expr *exchangedWith(const clang::CallExpr *Call);

bool isModified(const UnitFacts &Facts, const clang::VarDecl *V);

/// \p V declares the array \p Node in device memory; what cannot be respelled refuses.
void checkDeclaredArray(const clang::VarDecl *V, NodeId Node, Flow &Graph, clang::ASTContext &Context);

class UseClassifier {
public:
  UseClassifier(clang::ASTContext &Context, const SourceView &View, Flow &Graph, UnitFacts &Facts)
      : Context(Context), View(View), Graph(Graph), Facts(Facts) {}

  /// What follows stands in \p F; null outside of functions.
  void enter(const clang::FunctionDecl *F) { Caller = F; }
  /// \p E names a node: a DeclRefExpr or MemberExpr.
  void reference(const clang::Expr *E, const clang::ValueDecl *D);
  /// An initialiser list gives the member \p Node a value.
  void initialises(NodeId Node, const clang::FieldDecl *Member, const clang::Expr *Value);
  /// A call whose result is a node.
  void callResult(const clang::CallExpr *E, NodeId Node);
  /// An argument of a call whose parameter is \p Parameter.
  void passed(const clang::CallExpr *Call, const clang::Expr *Argument, NodeId Parameter);
  /// \p E, `this` or a reference parameter, is the object \p Node: element \p IndexName of \p PointerName.
  void object(const clang::Expr *E, NodeId Node, const std::string &PointerName, const std::string &IndexName);
  /// Reads the member functions that work on elements in place.
  void readMethods();
  /// The value that \p Source brings into \p Node is known, or the class is refused.
  void flowInto(NodeId Node, const clang::Expr *Source);

private:
  // Pointers.cpp
  void pointer(const clang::Expr *E, Pointer P);
  void mention(const clang::Expr *E, const Pointer &P);
  void typed(const clang::ExplicitCastExpr *Cast, const clang::Expr *E, Pointer P);
  void pointerArgument(const clang::CallExpr *Call, const clang::Expr *E, const Pointer &P);
  void pointerInitialises(const clang::VarDecl *V, const clang::Expr *E, const Pointer &P);
  // PointerPlaces.cpp
  void entry(const clang::Expr *E, Pointer P);
  void addressed(const clang::Expr *E, Pointer P);
  void addressGoesOn(const clang::Expr *E, const Pointer &P);
  // OwnerUses.cpp
  void owner(const clang::Expr *E, const Pointer &P);
  void ownedElement(const clang::CXXOperatorCallExpr *Subscript, const clang::Expr *Owner, const Pointer &P);
  void ownerGoesOn(const clang::Expr *E, const Pointer &P);
  void ownerNamed(NodeId Node, clang::SourceRange Type);
  bool isTracked(const clang::Expr *E);
  void shifted(const clang::Expr *E, const Pointer &P);
  void asArgument(const clang::CallExpr *Call, const clang::Expr *E, const Pointer &P, NodeId Parameter);
  bool aliasBase(const Pointer &P, const clang::VarDecl *V);
  void makeAlias(const clang::VarDecl *V, const Pointer &P);
  bool anyWalks(const clang::DeclStmt *Statement) const;
  std::optional<Range> needless(const clang::VarDecl *V, const clang::DeclStmt *Statement, const Pointer &P) const;
  // NullPointers.cpp
  void nullStatement(const clang::BinaryOperator *Assignment, const Pointer &P);
  bool comparison(const clang::BinaryOperator *B, const clang::Expr *E, const Pointer &P);
  void test(const clang::Expr *E, const Pointer &P);
  // Walks.cpp
  bool isStep(const clang::Expr *Pointer) const;
  bool walks(const clang::VarDecl *V) const;
  bool ofOneArray(const clang::BinaryOperator *B, const clang::Expr *E, const Pointer &P);
  // Elements.cpp
  void element(const clang::Expr *E, Pointer P);
  void member(const clang::Expr *E, const Pointer &P, std::vector<const clang::Expr *> Path);
  void number(const clang::Expr *E, const clang::Stmt *S, const Pointer &P);
  bool reachesOneObject(const clang::Expr *E) const;
  void baseMember(const clang::CastExpr *Base, const Pointer &P);
  bool choiceIsCopied(const clang::Expr *Choice) const;
  bool elementArgument(const clang::CallExpr *Call, const clang::Expr *E, const Pointer &P);
  void keepsTogether(const Pointer &P, llvm::ArrayRef<const clang::Expr *> Path, bool Stored);
  void leafAddress(const clang::Expr *E, const Pointer &P, const std::vector<std::string> &ArrayPath);
  std::optional<std::string> nameOf(const clang::MemberExpr *M) const;
  std::optional<std::vector<Step>> steps(llvm::ArrayRef<const clang::Expr *> Path) const;
  void addAccess(Access::Kind K, const clang::Expr *E, const Pointer &P, llvm::ArrayRef<const clang::Expr *> Path,
                 const clang::Expr *Value = nullptr);
  // MemberCalls.cpp
  bool copies(const clang::Expr *E, const clang::Stmt *Parent) const;
  void memberFunction(const clang::MemberExpr *M, const Pointer &P, std::vector<const clang::Expr *> Path);
  void inPlace(const clang::CallExpr *Call, const clang::FunctionDecl *F, const clang::Expr *Object, const Pointer &P,
               llvm::ArrayRef<const clang::Expr *> Path);
  bool typeIsDeduced(const clang::Expr *E) const;
  // HostSites.cpp
  bool runtimeCall(const clang::CallExpr *Call, const clang::Expr *E, const Pointer &P, bool AddressOf);
  void fieldCopy(const clang::CallExpr *Call, const clang::Expr *E, const Pointer &P);
  bool isRuntimeFunction(const clang::FunctionDecl *F) const;

  // DeclaredArrays.cpp
  void declaredArray(const clang::Expr *E, const Pointer &P);
  bool leavesDeclaredArray(const clang::Expr *E, const Pointer &P);
  bool symbolCall(const clang::CallExpr *Call, const clang::Expr *E, const Pointer &P);

  // Origins.cpp
  bool allocated(NodeId Node, const clang::CastExpr *Cast);
  void elementFlowsInto(NodeId Node, const clang::Expr *Source);

  // What they share.
  const clang::Stmt *parent(const clang::Expr *E, const clang::VarDecl **Variable = nullptr) const;
  std::optional<Element> elementOf(const Pointer &P, clang::SourceLocation L);
  void refuse(const Pointer &P, clang::SourceLocation L, std::string Reason, std::string Layout = "");
  bool resultIsUnused(const clang::Expr *E) const;

  clang::ASTContext &Context;
  const SourceView &View;
  Flow &Graph;
  UnitFacts &Facts;
  const clang::FunctionDecl *Caller = nullptr;
};

} // namespace restride

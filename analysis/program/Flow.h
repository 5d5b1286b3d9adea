// Which declarations can hold a pointer into the same array. Every variable,
// parameter, member and function result of type "pointer to record" is a node,
// and so is a reference parameter, an argument of a call and a call's result.
// Assignments and copies unite nodes; calls bind arguments to parameters, and
// whether that unites them is decided when all calls are known (Instances.h).
// What is left are flow classes, one per logical array.
//
// Nodes are keyed by the place of the declaration, so that a template and its
// instantiations are one, and a header's declaration is one in all units.
#pragma once

#include "analysis/program/RecordTemplates.h"
#include "analysis/program/RecordType.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <set>

namespace clang {
class DeclContext;
class QualType;
} // namespace clang

namespace restride {

using NodeId = unsigned;

/// A non-null value that enters a class from outside of it.
struct Origin {
  enum Kind { Host, Unknown } K;
  Location Where;
  std::string What;
};

/// How a refusal ends that follows from another one: something unites arrays of several records.
inline constexpr llvm::StringLiteral OfAnotherType = " holds records of another type";

/// What is known about one node; the facts of a class are those of its nodes together.
struct NodeFacts {
  unsigned Record = 0; ///< index in Flow::records()
  std::string Name;
  std::string Function; ///< name of the function it is a parameter or local of; empty for others
  std::string Owner;    ///< that function, or the class around it, as in Flow::functions()
  std::string Class;    ///< the record it is a member of
  Location Where;
  std::optional<Range> Scope; ///< of that function
  std::string Slot;       ///< of a parameter: the same for all declarations of its function
  unsigned Instance = 0;  ///< of Owner
  bool Declared = false;  ///< a variable, parameter or member
  bool ToElement = false; ///< a reference to an element
  bool Several = false;   ///< an array of pointers, which all point into the same array of records
  std::string Owns;       ///< it is a std::unique_ptr, of this type
  bool ByAddress = false; ///< a parameter `T **`: the address of such a pointer
  bool Modified = false;  ///< a parameter that changes
  bool Null = false;      ///< an argument that is a null pointer
  std::string Shared;     ///< why several arrays that its function gets are one
  std::vector<KernelParameter> Kernels; ///< it is a parameter of, or a member of one
  std::vector<Origin> Origins;
  /// Refusals that hold unless some unit defines the function or variable.
  std::vector<std::pair<std::string, Refusal>> Needs;
  /// Members that byte counts depend on, with the unit and the refusal that
  /// holds if another unit writes them.
  std::vector<std::tuple<Place, unsigned, Refusal>> CountMembers;
  std::vector<std::vector<std::string>> WholeArrays;  ///< paths of member arrays used as pointers
  std::vector<std::vector<std::string>> WholeRecords; ///< paths of nested records that stay in one piece
  std::optional<Method> Body; ///< of a member function's object
  /// Collects sites; Candidate's other members are filled when classes are known.
  Candidate Sites;
};

/// One argument of a call, or its result.
struct Binding {
  NodeId Outside, Inside; ///< the argument's node and the parameter's
  std::string Caller, Callee; ///< owners
  Place Call;
  bool Result = false;
  RecordCall OfTemplate = {}; ///< where Callee is one over records
};

/// A function with tracked parameters, locals or results, or a class that is made from a template over records.
struct FunctionFacts {
  std::string Name;
  std::vector<Range> Texts;  ///< its definition and its other declarations
  std::string Fixed;         ///< why there can only be one of it; empty: it can be written twice
  std::optional<RecordTemplate> ForRecord; ///< it is made from a template over records
  bool Class = false;
};

struct TrackedRecord {
  RecordFacts Facts;
  bool Hidden = false; ///< something else has its name too
  std::optional<Refusal> SizeObserved;
  /// Who knows its size, by symbol, unless a unit defines that.
  std::vector<std::pair<std::string, Refusal>> SizeUnseen;
  std::optional<Range> FieldCopyCode;
};

/// The record behind a `T *`, `const T *`, `T *&` or `T *` array parameter that is worth
/// tracking: a class the user wrote. nullptr for anything else.
const clang::CXXRecordDecl *trackedPointee(clang::QualType T, const SourceView &View);

/// The same behind `T *p[2]`, where p is no parameter and not in device memory.
const clang::CXXRecordDecl *pointersTo(const clang::ValueDecl *D, const SourceView &View);

/// The same behind a parameter `T **out` of a function of the host.
const clang::CXXRecordDecl *addressedPointee(const clang::ValueDecl *D, const SourceView &View);

/// Structs that hold tracked pointers have their members told apart object by
/// object where every use of every object is understood (Objects.h). One such
/// struct type.
struct Holder {
  bool Followed = true;    ///< false: a member is one node for all objects
  bool Positional = false; ///< initialiser lists name its members by position
  unsigned End = 0;        ///< behind the semicolon of its last member; 0: there is none to be seen
  std::map<NodeId, std::set<NodeId>> Members; ///< by the member itself: its node in each object
};

/// A class that the user wrote; nullptr for any other type.
const clang::CXXRecordDecl *userRecord(clang::QualType T, const SourceView &View);

/// Of a variable: it is declared in global, constant or shared memory of the device.
bool inDeviceMemory(const clang::Decl *D);

/// The record of an array declared in global, constant or shared memory of the device.
const clang::CXXRecordDecl *declaredArrayOf(const clang::ValueDecl *D, const SourceView &View);

/// What the pointers that a Flow follows point to.
enum class Elements {
  Records, ///< classes the user wrote
  Scalars, ///< numbers and CUDA's vector types: arrays that could share a record
};

class Flow {
public:
  explicit Flow(Elements Of = Elements::Records) : Of(Of) {}

  /// What follows is about the translation unit of \p View.
  void read(const SourceView &V) {
    View = &V;
    Decls.clear();
    Scalars.clear();
    IsHolder.clear();
    OfTemplates.clear();
    Untyped.clear();
  }

  /// The same for all declarations and instantiations of one function, and in all
  /// units where others can see it. What is made from a template over records is a
  /// function of its own for each.
  std::string function(const clang::FunctionDecl *F);
  /// What is written as a whole where an array moves: the function around \p C, or the
  /// class around it that is made from a template over records. Empty outside of them.
  std::string owner(const clang::DeclContext *C);
  /// The records that a function or class is made for from a template over records.
  llvm::ArrayRef<RecordArgument> templateRecords(const clang::FunctionDecl *F);
  llvm::ArrayRef<RecordArgument> templateRecords(const clang::ClassTemplateSpecializationDecl *C);
  /// Those of all that is around \p C, as a key; empty where there are none.
  std::string madeFor(const clang::DeclContext *C);

  /// Variables `void *` of this unit that point to records (Untyped.h).
  void setUntyped(llvm::DenseMap<const clang::VarDecl *, const clang::CXXRecordDecl *> Pointers) { Untyped = std::move(Pointers); }

  /// The node of a variable, parameter or member of tracked pointer type, of a
  /// reference parameter that is bound to elements, or of a declared array.
  std::optional<NodeId> node(const clang::ValueDecl *D);
  /// The node that \p E names: a variable's, or a member's in its object; with a subscript behind it that of an array of
  /// pointers, with a star in front that of a pointer's address.
  std::optional<NodeId> node(const clang::Expr *E);
  /// The struct type of objects whose members may be told apart: one with
  /// tracked pointers, and plain data besides. Null for any other.
  const clang::CXXRecordDecl *holder(const clang::CXXRecordDecl *D);
  /// The nodes of the members of an object, in order: a variable, or what a
  /// function gives back. Empty where it is not followed.
  std::vector<NodeId> members(const clang::ValueDecl *Object);
  /// The members of all objects of \p T are one after all.
  void merge(const clang::CXXRecordDecl *T) { holderOf(T).Followed = false; }
  Holder &holderOf(const clang::CXXRecordDecl *T);
  const std::map<Place, Holder> &holders() const { return Holders; }
  /// The node of a function's result.
  std::optional<NodeId> result(const clang::FunctionDecl *F);
  /// The value of one call, and one argument of a call, in \p Caller.
  NodeId callResult(const clang::CallExpr *Call, NodeId Result, const clang::FunctionDecl *Caller);
  NodeId argument(const clang::Expr *Argument, NodeId Parameter, const clang::FunctionDecl *Caller);
  /// The object of type \p Class that a member function or operator works on; MemberCalls name nodes of such.
  NodeId object(const clang::FunctionDecl *F, const clang::CXXRecordDecl *Class);
  void unite(NodeId A, NodeId B);
  void bind(const clang::CallExpr *Call, NodeId Outside, NodeId Inside, const clang::FunctionDecl *Caller, bool Result = false);
  NodeId root(NodeId A) const;
  NodeFacts &facts(NodeId A) { return Facts[A]; }
  const NodeFacts &facts(NodeId A) const { return Facts[A]; }
  size_t size() const { return Facts.size(); }
  void refuse(NodeId A, clang::SourceLocation L, std::string Reason, std::string Layout = "");
  /// Refuses unless some unit defines \p Symbol.
  void require(NodeId A, std::string Symbol, clang::SourceLocation L, std::string Reason);
  void define(const std::string &Symbol, clang::SourceLocation L) { Definitions[Symbol].insert(View->place(L)); }
  bool isDefined(const std::string &Symbol) const { return Definitions.count(Symbol); }
  /// Unites the nodes of one name that several units declare for themselves.
  void link(NodeId A, const std::string &Name);
  /// A symbol that two units define, each its own way: they are not one program.
  std::optional<std::string> conflict() const;
  /// A copy of \p A for another instance of its function.
  NodeId copy(NodeId A);

  std::vector<TrackedRecord> &records() { return Records; }
  const std::vector<TrackedRecord> &records() const { return Records; }
  /// The record \p Id in this translation unit; null where it has none, and for scalars.
  const clang::CXXRecordDecl *decl(unsigned Id) const;
  /// Its type, or that of a scalar; null where this translation unit has none.
  clang::QualType type(unsigned Id) const;
  bool scalars() const { return Of == Elements::Scalars; }
  std::map<std::string, FunctionFacts> &functions() { return Functions; }
  const std::map<std::string, FunctionFacts> &functions() const { return Functions; }
  llvm::ArrayRef<Binding> bindings() const { return Bindings; }
  llvm::ArrayRef<std::pair<NodeId, NodeId>> unions() const { return Unions; }

private:
  enum Kind { Declared, Result, CallResult, Argument, Object, OfVariable, OfResult };
  struct Key {
    Place At;
    Kind K;
    Place Object = {}; ///< of a member that is told apart
    std::string Made = ""; ///< the records that the function or class around it is made for
    auto operator<=>(const Key &) const = default;
  };
  NodeId make(clang::SourceLocation L, Kind K, unsigned Record, std::string Name, const clang::DeclContext *Around, Place Object = {});
  const clang::ClassTemplateSpecializationDecl *classForRecords(const clang::DeclContext *C);
  std::string key(const clang::NamedDecl *D);
  unsigned record(const clang::CXXRecordDecl *D);
  NodeId declared(const clang::ValueDecl *D, unsigned Record);
  unsigned scalar(clang::QualType T);
  std::optional<unsigned> scalarPointee(clang::QualType T);

  Elements Of;
  const SourceView *View = nullptr;
  std::map<Key, NodeId> Ids;
  std::map<std::pair<Place, std::string>, unsigned> RecordIds;
  llvm::DenseMap<unsigned, const clang::CXXRecordDecl *> Decls; ///< of this unit
  llvm::DenseMap<unsigned, const clang::Type *> Scalars;        ///< of this unit
  llvm::DenseMap<const clang::CXXRecordDecl *, bool> IsHolder;  ///< likewise
  llvm::DenseMap<const clang::Decl *, std::vector<RecordArgument>> OfTemplates; ///< likewise
  llvm::DenseMap<const clang::VarDecl *, const clang::CXXRecordDecl *> Untyped; ///< likewise
  std::map<Place, Holder> Holders;
  mutable std::vector<NodeId> Parent;
  std::vector<NodeFacts> Facts;
  std::vector<TrackedRecord> Records;
  std::map<std::string, FunctionFacts> Functions;
  std::vector<Binding> Bindings;
  std::vector<std::pair<NodeId, NodeId>> Unions;
  std::map<std::string, std::set<Place>> Definitions;
  std::map<std::string, NodeId> Links;
};

/// The function around a declaration, and not a lambda in it.
const clang::FunctionDecl *functionAround(const clang::DeclContext *C);

/// What other units call \p D; empty if they cannot see it.
std::string symbolOf(const clang::NamedDecl *D);

} // namespace restride

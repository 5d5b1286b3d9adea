// The uses of an array of records that a layout may spell differently, as values:
// offsets into the program's text and not AST nodes, so that variants can be
// written long after the parse is gone.
#pragma once

#include "analysis/program/Sources.h"
#include "layouts/Record.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace restride {

/// For people: 1-based line and column.
struct Location {
  std::string File;
  unsigned Line = 0, Column = 0;
  auto operator<=>(const Location &) const = default;
};

/// Why a candidate cannot take a layout. An empty Layout means any.
struct Refusal {
  std::string Layout;
  Location Where;
  std::string Reason;
};

/// One summand of an index. Either source text or the name of a variable that
/// holds an index after rewriting.
struct IndexTerm {
  Range Source;
  std::string Name;      ///< not empty: used in place of Source
  bool Negative = false;
  bool Primary = false;  ///< needs no parentheses beside an operator
  /// The index that came with a parameter; none where elements are records still.
  bool Parameter = false;
};

/// Index of an element: the sum of its terms; none means element 0.
struct Index {
  std::vector<IndexTerm> Terms;
  /// Where evaluating it twice is not the same as once.
  std::optional<Location> Impure;
};

/// An element p[i]: the pointer, as source text or by name, and the index.
struct Element {
  Range Base;
  std::string BaseName; ///< not empty: used in place of Base
  Index At;
  bool ToElement = false; ///< Base is a reference to an element, and no pointer
  bool Elsewhere = false; ///< named by an alias: Base and index stand at its declaration
};

/// One step from an element into it: a member, and after a member array its
/// subscripts (the text between the brackets).
struct Step {
  std::string Member;
  std::vector<Range> Subscripts;
};

/// A use of an element that layouts spell differently.
struct Access {
  enum Kind {
    Leaf,      ///< p[i].x as an lvalue, whatever is done with it
    Load,      ///< p[i] copied as a whole
    Store,     ///< p[i] = Value
    PartLoad,  ///< p[i].pos, a nested record, copied
    PartStore, ///< p[i].pos = Value
    Address,   ///< x + i, the address of a number that nobody steps from
  } K = Leaf;
  Range Whole;
  Element What;
  std::vector<Step> Path;
  std::optional<Range> Value;
  bool Deduced = false; ///< Load: the type of the copy follows the element's ("auto t = p[i]")
  bool Written = true;  ///< Leaf of a number: more than its value is asked for
  Location Where;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// A member function or operator that changes an element, or a nested record
/// in it, in place: p[i].move(dt), p[i] += v, p[i].pos += v.
struct MemberCall {
  Range Whole;
  Range Object; ///< p[i] with the dot or arrow behind it; the operand alone of an operator
  Element What;
  std::vector<Step> Path; ///< to the nested record
  std::vector<Range> Arguments; ///< as written
  int Method = -1; ///< index in Candidate::Methods
  bool Operator = false;
  bool Deduced = false; ///< an operator's template would take an element of another type
  Location Where;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// `T &r = p[i];`, or `T *q = p + i;` that never changes or that walks: it becomes an index.
struct Alias {
  Range Declaration; ///< without the semicolon
  std::string Name;
  Element What;
  std::optional<Range> Statement; ///< goes with its line where every use of the name is p[i] instead
  Range Group;           ///< the statement that declares it
  unsigned Together = 1; ///< the names that it declares
  bool First = true;     ///< of these names
  bool Walks = false;    ///< one of these names does
  Location Where;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// The pointer with an offset, p + k or &p[k], as a value of its own; without
/// one where it goes on as it is.
struct Shift {
  Range Whole;
  Element What;
  Location Where;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// A pointer into the array of which only the place matters: it is compared with another one,
/// or subtracted.
struct ElementPlace {
  Range Whole;
  Element What;
  bool Subtracted = false; ///< behind a minus
  bool Unsigned = false;   ///< its index is, where places have signs
  Location Where;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// The pointer, with or without an offset, or an element for a reference, as
/// the argument of a call.
struct Argument {
  Range Whole;
  std::optional<Range> Call; ///< that it is an argument of
  Element What;
  std::string Parameter; ///< see NodeFacts::Slot
  bool ByReference = false; ///< an element, for a reference
  bool Indexed = false;  ///< the parameter has become a pointer and an index
  Location Where;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// One declarator of a declaration that declares a candidate's pointer.
struct Declarator {
  Range Text;        ///< from its first token after the specifiers to its last
  Range Name;        ///< empty for a function's result
  std::optional<Range> Suffix; ///< "[]" of an array parameter
  std::string Reference; ///< "&", "const &" or "&&" where it is a reference to the pointer, "*" where its address
  int Candidate = -1; ///< index in Program::Candidates; -1: a neighbour that is none
  int Member = -1;    ///< index in Program::Members
  bool ToElement = false; ///< a reference to an element, and no pointer
  /// Name of the index that stands beside this parameter where elements are no
  /// records; empty where none is needed.
  std::string Index;
  bool HasDefault = false; ///< a parameter with a default argument
  std::string Scope; ///< the function or record it belongs to
  std::string Slot;  ///< of a parameter, see NodeFacts::Slot
};

/// A declaration, and all its declarators ("P *h_p, *d_p;").
struct Declaration {
  Range Specifiers;  ///< "static const P ", up to the first declarator
  Range RecordName;  ///< the type's name in it: "struct P", "geo::P"
  /// The name is an alias or comes from a using declaration, which the handle is
  /// not part of: what goes in front of the handle in its place.
  std::optional<std::string> Scope;
  bool Auto = false; ///< declared with auto
  bool Owner = false; ///< of std::unique_ptrs: RecordName is the type's whole name
  std::vector<Declarator> Declarators;
  unsigned End = 0;      ///< behind its semicolon; 0 where there is none
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// The name of the pointer, wherever it stands.
struct Mention {
  Range Name;
  Location Where;
};

/// A null pointer assigned to the pointer.
struct NullValue {
  Range Whole;
  /// Of an array of numbers: the assignment and the block that it is a statement of.
  std::optional<Range> Statement = std::nullopt, Block = std::nullopt;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// Where only the address of the allocation counts: the pointer alone ("if (d)"),
/// compared ("d != nullptr", "from == to"), or freed without its type ("release((void *)d)").
struct PointerTest {
  Range Pointer;
  bool Primary = true;   ///< needs no parentheses in front of a dot
  bool Compared = false; ///< with another array's begin
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// The name of a member that holds the pointer, in an object of a struct whose
/// objects are told apart.
struct MemberName {
  std::optional<Range> Name; ///< none in a macro's body, and in an initialiser list
  int Member = -1;           ///< index in Program::Members; -1: the member moves as a whole
  Location Where;
};

/// The type of a std::unique_ptr that owns the array, in an expression: `Owner<P>(p)`.
struct OwnerName {
  Range Whole;
  std::string Scope; ///< of the record: "geo::"
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// sizeof of an expression of the record's type: sizeof(*d), sizeof d[0]. Also
/// of a declared array as a whole: sizeof(table).
struct SizeOf {
  Range Operand; ///< with its parentheses where it has them; of an array the whole expression
  std::optional<Range> Array = std::nullopt; ///< its name
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// A name that is written another way where the array moves: of a template's
/// parameter in a function for one record alone, of that function in a call.
struct Respelling {
  Range Where;
  std::string With;
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
};

/// A name that must be written with its class or namespace elsewhere.
struct ScopedName {
  Range Name;
  std::string Scope; ///< "geo::P::"
};

/// A member function, or an operator outside of its class, as a layout can write
/// it a second time: a function of a pointer and an index. Its sites are relative
/// to these two.
struct Method {
  std::string Name;  ///< "move", "add" for operator+=
  std::string Types; ///< of its parameters: functions of one name and types need two names
  std::string Class; ///< from anywhere in the program: "geo::P"
  Location Where;
  std::string Attributes; ///< "__host__ __device__ "
  std::string Inline;     ///< "inline", "__forceinline__"
  std::string Result;     ///< "void" where it gives back its object
  bool Const = false;
  bool NeedsFriend = false; ///< it uses what only the class and its friends can
  std::vector<Range> Parameters;
  Range Body; ///< with its braces
  std::string Pointer, Index; ///< names that stand for the object
  std::vector<Access> Accesses;
  std::vector<MemberCall> Calls;
  std::vector<SizeOf> Sizes;
  std::vector<Range> Returns;   ///< "return *this;"
  std::vector<ScopedName> Names; ///< of static members, of types of the class, of what another namespace holds
  std::vector<std::string> Callees; ///< unqualified names of functions that it calls
  std::vector<Refusal> Refusals;
};

/// A call of the CUDA runtime with the array.
struct HostCall {
  /// From: a function of the program's that gives out device memory, with the cast around its call.
  /// HostMemset: the C library's, on managed memory. Prefetch, Advise: hints about where that lies.
  enum Api { From, Malloc, MallocManaged, MallocAsync, Free, FreeAsync, Memcpy, MemcpyAsync, Memset, MemsetAsync, HostMemset, Prefetch, Advise,
             MemcpyToSymbol, MemcpyToSymbolAsync, MemcpyFromSymbol, MemcpyFromSymbolAsync } What;
  Range Callee;   ///< the function's name, with template arguments
  std::optional<Range> Whole; ///< the call
  std::optional<Range> Count; ///< its byte count
  /// The statement that the call is, alone or inside of a macro or function that
  /// does nothing but look at its result; without the semicolon.
  std::optional<Range> Statement;
  std::optional<Range> Block; ///< around the statement that the call is part of
  bool Certain = true; ///< whenever that statement runs, so does the call
  std::string Elements; ///< how many elements, as an expression in one spelling; empty: unknown
  bool Changing = false; ///< Elements depends on something that may change anywhere
  std::vector<Range> Changes; ///< assignments to variables that Elements depends on
  bool Scales = false;   ///< Count is a product with sizeof the record
  struct Pointer {
    unsigned Argument = 0;      ///< position
    Range Whole;                ///< the argument
    std::optional<Range> Plain; ///< Malloc: &d without casts
    Element What;               ///< elsewhere: the pointer and its offset
  };
  std::vector<Pointer> Pointers; ///< of this candidate, one or (device to device) two
  Location Where;
  /// A copy or fill of one field, by a function that an earlier run wrote: its
  /// name. Pointers[0].Whole then has the argument that names the field, too.
  std::string Field;
  double Bytes = 0;  ///< as far as it could be evaluated, 0 if not
  double Times = 1;  ///< how often the program runs it, loops around it counted
  unsigned Instance = 0; ///< of the function around it, see FunctionInstances
  bool symbol() const { return What >= MemcpyToSymbol; }
  bool copies() const { return What == Memcpy || What == MemcpyAsync || symbol(); }
};

} // namespace restride

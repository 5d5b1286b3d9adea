// One logical array of records and everything the program does with it, and the
// program as all its arrays, kernels and declarations.
#pragma once

#include "analysis/program/Fill.h"
#include "analysis/program/Sites.h"

#include <map>

namespace restride {

/// What can be said about the elements' number.
struct ElementCount {
  double Count = 0; ///< 0: unknown
  bool Assumed = false; ///< follows from a value that may change at run time
};

/// A kernel that takes an array.
struct KernelParameter {
  std::string Kernel;    ///< as in Launch::Kernel
  unsigned Instance = 0; ///< as in Launch::Instance
  std::optional<unsigned> Position = std::nullopt; ///< of the parameter; none inside of a struct
  std::optional<unsigned> Struct = std::nullopt;   ///< of the parameter, a struct that the pointer lies in
  uint64_t Offset = 0;                             ///< and bytes from its begin
  bool operator==(const KernelParameter &) const = default;
};

/// Where an array lives: allocated through a pointer, or declared with its
/// extent ("__constant__ P table[64];").
enum class Memory { Allocated, Global, Constant, Shared };

struct Candidate {
  std::string Name;  ///< unique among the candidates: the record's, "P.d_in" where there are more
  std::string Array; ///< name of the allocated pointer
  Record Type;
  /// How any place of the program can name the record: "geo::P", and
  /// "struct P" where something else has its name too.
  std::string Spelling;
  Location Where;    ///< of the record
  Location ArrayWhere; ///< of the pointer's declaration
  unsigned HelperAt = 0; ///< offset where generated code goes: the line after the record, or before its first use
  bool InHeader = false; ///< HelperAt lies in a file that others include
  std::vector<unsigned> Headers; ///< begin of every such file that a layout may change
  /// Where an alignment attribute goes; nothing if the record lies elsewhere.
  std::optional<unsigned> AttributeAt;
  /// Where the first line inside of the class goes, at the end of a line where
  /// one can end there. Nothing if all its fields are public.
  std::optional<unsigned> FriendAt;
  /// Why the record's size must not change; nothing if nobody looks at it.
  std::optional<Refusal> SizeObserved;
  bool SharesRecord = false; ///< another candidate has the same record
  /// Functions of an earlier run that copy single fields.
  std::optional<Range> FieldCopyCode;
  std::vector<Mention> Mentions; ///< of an array of numbers
  std::vector<NullValue> Nulls;
  std::vector<PointerTest> Tests;
  std::vector<MemberName> MemberNames;
  std::vector<OwnerName> OwnerNames;
  std::string Owner; ///< the type of a std::unique_ptr that owns it; empty: none does
  std::vector<Respelling> Respellings;
  std::vector<SizeOf> Sizes;
  std::vector<Access> Accesses;
  std::vector<Alias> Aliases;
  std::vector<Shift> Shifts;
  std::vector<ElementPlace> Places;
  std::vector<Argument> Arguments;
  std::vector<MemberCall> MemberCalls;
  std::vector<Method> Methods; ///< that they call, directly or not
  std::vector<HostCall> Calls;
  std::vector<KernelParameter> Kernels; ///< that take it
  std::vector<Refusal> Refusals;
  /// Text for another configuration uses it, and would not be rewritten.
  std::optional<Refusal> OtherConfiguration;
  ElementCount Elements;
  Memory Lives = Memory::Allocated;
  std::vector<std::string> Symbols; ///< its names in PTX, where it is declared
  bool declared() const { return Lives != Memory::Allocated; }
  bool refused() const {
    for (const Refusal &R : Refusals)
      if (R.Layout.empty())
        return true;
    return false;
  }
};

/// How the entries of an array of indices lie. Sorted: each is the one before or a
/// little more. Local: a thread's are near its own number.
enum class IndexOrder { Random, Sorted, Local };

/// How records lie whose places in space kernels make indices of.
enum class SpatialOrder { Unknown, Lattice, Random };

/// How much lies behind a pointer, in bytes; 0: not known.
struct Extent {
  uint64_t Bytes = 0, ElementBytes = 0;
};

/// An object that the host gives to kernels, as far as the source says what it holds.
struct KnownObject {
  std::vector<std::optional<uint8_t>> Bytes;
  /// Where its first and its last pointer begin, its size where it has none: layouts may have longer pointers.
  uint64_t Head = 0, Tail = 0;
};

/// A variable in constant memory that the host fills.
struct ConstantSymbol {
  KnownObject Object;
  std::vector<std::string> Notes; ///< what was assumed of it
};

/// A kernel and how the program launches it.
struct Launch {
  std::string Kernel;  ///< mangled, as in PTX
  unsigned Instance = 0; ///< of the kernel, see FunctionInstances
  std::string Name;    ///< as in the source
  Location Where;      ///< of the kernel
  bool Launched = false;
  /// Threads and blocks where they could be evaluated; 0 if not.
  uint64_t Grid[3] = {0, 0, 0}, Block[3] = {0, 0, 0};
  /// Of launches in a loop that share the elements out among them, level by level: how many there are, if that is
  /// why the grid is not known.
  double Parts = 1;
  uint64_t SharedBytes = 0;
  std::vector<std::string> Parameters;           ///< names; empty where nobody launches it
  std::vector<std::optional<int64_t>> Arguments; ///< of integer parameters
  std::vector<std::optional<double>> Reals;      ///< of floating-point parameters that never hold anything else
  std::vector<KnownObject> Objects;              ///< structs that are passed, by parameter; no bytes: none, or not known
  std::map<std::string, ConstantSymbol> Symbols; ///< all of the program's, by name as in PTX
  std::vector<IndexOrder> Orders;                ///< of the integers behind pointers, by parameter; fewer: random
  std::vector<std::vector<Fill>> Fills;          ///< of the integers behind pointers, by parameter; fewer: not known
  SpatialOrder Places = SpatialOrder::Unknown;   ///< how the records behind its pointers lie in space
  std::vector<Extent> Extents;                   ///< of arrays, by parameter; fewer: not known
  std::optional<double> BodyProbability;         ///< of the body of an `if` on loaded data, per lane
  double Calls = 1;
  std::vector<std::string> Notes; ///< what was assumed
};

/// How a function template over records is written once more, for its records alone.
struct ForRecords {
  std::string NewName;             ///< where a call says the record: "Particle_allocate"
  std::vector<unsigned> Positions; ///< of the template's parameters that stand for records
  bool Behind = false;             ///< a record is declared later than the template
  std::string Namespace;           ///< around the template and not around the records: "util", "util::device"
};

/// A function that is called with several arrays, each of which may move to a
/// layout of its own. An instance is the function as it is for some of its
/// calls; instances that read the same are one function. Sites that belong to
/// one instance say so, and those with Instance 0 belong to all of them.
struct FunctionInstances {
  std::string Name;
  std::vector<Range> Texts; ///< the definition and all other declarations
  std::vector<unsigned> Instances;
  /// All but the first, a template that stays, are written so; no NewName: as overloads.
  std::optional<ForRecords> Made = std::nullopt;
};

/// A pointer in a struct that is one array in some of the struct's objects and
/// another, or none that can move, in others. Where not all of them move to one
/// layout, those that do have a member beside it.
struct Member {
  std::string Name;
  std::vector<int> Candidates; ///< of its objects; -1: of one that stays
  unsigned After = 0;          ///< offset behind the declaration that another one follows
};

struct Program {
  Sources Text;
  std::vector<Candidate> Candidates;
  std::vector<Declaration> Declarations;
  std::vector<Member> Members;
  std::vector<FunctionInstances> Functions;
  std::vector<Launch> Launches;
  bool HostUnits = false; ///< some units are plain C++
  /// Identifiers of the program that begin like a candidate's record, sorted:
  /// generated names avoid them.
  std::vector<std::string> Identifiers;
};

} // namespace restride

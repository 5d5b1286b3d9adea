// Host expressions as numbers, as far as the source gives them: the value a
// launch would have if nobody passed other arguments to the program.
#pragma once

#include "analysis/program/Uses.h"

#include <algorithm>
#include <utility>

namespace restride {

/// Why an estimate may not hold, if at all; of several, the worst.
class Doubt {
public:
  enum Kind : uint8_t {
    None,
    Default, ///< it follows from what the program takes when nobody says otherwise
    Changes, ///< it is one of several values
  };
  Doubt(Kind K = None) : K(K) {}
  Doubt(bool Assumed) : K(Assumed ? Default : None) {}
  operator bool() const { return K != None; }
  bool changes() const { return K == Changes; }
  Doubt operator|(Doubt Other) const { return std::max(K, Other.K); }
  Doubt &operator|=(Doubt Other) { return *this = *this | Other; }

private:
  Kind K;
};

template <typename T> struct EstimateOf {
  T Value = 0;
  Doubt Assumed = Doubt::None; ///< whether, and why, it may be something else at run time
};
using Estimate = EstimateOf<int64_t>;
using RealEstimate = EstimateOf<double>;

/// A part of an object, from outside in: numbers of fields and of array elements.
using Part = llvm::SmallVector<uint64_t, 4>;

class Evaluator {
public:
  Evaluator(clang::ASTContext &Context, const UnitFacts &Facts) : Context(Context), Facts(Facts) {}

  /// Value of an integer expression: constants, variables by their
  /// initialiser, parameters by the one value all calls give them; of a ?: whose
  /// condition is unknown, the arm that is known.
  std::optional<Estimate> integer(const clang::Expr *E) const { return integer(E, Frame()); }
  /// The same in a function that is called by the first of \p Calls, which stands in one that the next calls, and so on.
  std::optional<Estimate> integer(const clang::Expr *E, llvm::ArrayRef<const clang::Expr *> Calls) const { return inCalls(E, Calls, Frame()); }
  /// A floating-point expression: "ceil(n / 256.0)".
  std::optional<RealEstimate> real(const clang::Expr *E) const { return real(E, Frame()); }
  /// The same of the scalar that is \p P of the object \p E: by the object's initialiser, by what is
  /// assigned to the part, or else by what all objects have in the member \p F, if that is not null.
  std::optional<Estimate> integer(const clang::Expr *E, const Part &P, const clang::FieldDecl *F) const { return partOrMember<int64_t>(E, P, F); }
  std::optional<RealEstimate> real(const clang::Expr *E, const Part &P, const clang::FieldDecl *F) const { return partOrMember<double>(E, P, F); }
  /// Elements of the container \p V.
  std::optional<Estimate> elements(const clang::ValueDecl *Container) const { return containerSize(Container, Frame()); }
  /// What the host counts in the member \p F, in the mean of the elements that it counts in.
  std::optional<Estimate> meanCount(const clang::FieldDecl *F) const { return meanCount(F, Frame()); }
  /// A grid or block size: an integer or a dim3. Zeros where unknown.
  void dimensions(const clang::Expr *E, uint64_t Out[3], bool &Assumed) const { dimensions(E, Out, Assumed, Frame()); }
  /// How often the loops around \p E run it; loops that cannot be counted
  /// count as UnknownLoopTrips, and make \p Counted false.
  double timesExecuted(const clang::Stmt *E, bool *Counted = nullptr) const;
  /// The same in all calls of the function, or lambda, that it stands in.
  double timesInAllCalls(const clang::Stmt *E) const;

  /// Trips of the loop around \p S whose counter \p Size looks up a size by: `begin[level + 1] - begin[level]`; 1: there is none.
  double partsOf(const clang::Expr *Size, const clang::Stmt *S) const;

  /// The loop \p For, if its counter moves by a step from one known number to another.
  struct CountedLoop {
    const clang::VarDecl *Counter = nullptr;
    int64_t First = 0, Step = 1;
    uint64_t Trips = 0;
  };
  std::optional<CountedLoop> countedLoop(const clang::ForStmt *For) const;

  using Counters = std::map<const clang::VarDecl *, Estimate>;
  /// Those of the loops around \p S, and around the one call of its function, in the middle of their trips.
  Counters midTrip(const clang::Stmt *S) const;
  /// While it lives, they are what it is given.
  class AtTrip;

  static constexpr double UnknownLoopTrips = 16;
  static constexpr unsigned MaxDepth = 48; ///< of expressions in each other

private:
  /// Of a loop; \p Counted becomes false where they are not known.
  double tripsOf(const clang::Stmt *Loop, bool &Counted) const;
  /// Of `while (first < n) { …; first += count; }` and a `for` that is written so, as many as bring the variable to its limit.
  std::optional<double> tripsByBody(const clang::Expr *Condition, const clang::Stmt *Body) const;
  /// Of loops in each other, the innermost first: how often they run what is in all of them.
  double timesAround(llvm::ArrayRef<const clang::Stmt *> Loops, bool &Counted) const;
  double timesCalled(const clang::FunctionDecl *F) const;
  /// As timesExecuted, where a lambda is executed as often as it is called; calls that are not seen make \p Counted false.
  double timesInFunction(const clang::Stmt *E, bool &Counted, unsigned Depth = 0) const;
  /// The same in the life of \p Container, which may be there before its function is called and after it.
  double timesInLife(const clang::Stmt *E, const clang::ValueDecl *Container, bool &Counted) const;
  /// Calls of \p F in the life of one object of its class, or of the program.
  double callsInLife(const clang::FunctionDecl *F, bool &Counted) const;
  // Recursion.cpp
  /// Calls of \p F, itself among them, that one from outside of it makes; none: they cannot be counted.
  std::optional<double> callsInRecursion(const clang::FunctionDecl *F) const;
  /// Of the condition \p E: 0 or 1 where it is known. \p AnyTrip: in all trips of the loops around it, whose counters vary.
  double probability(const clang::Expr *E, bool AnyTrip = false) const;
  /// The call whose function is being evaluated, and what it was called in.
  struct Frame {
    const clang::FunctionDecl *Callee = nullptr; ///< null: outside of any
    llvm::ArrayRef<const clang::Expr *> Arguments = {};
    const Frame *Outer = nullptr;
    unsigned Depth = 0;
    const clang::Expr *This = nullptr; ///< the object, or a pointer to it, of a member function
    Frame deeper() const { return {Callee, Arguments, Outer, Depth + 1, This}; }
    Frame around() const { return Outer ? Frame{Outer->Callee, Outer->Arguments, Outer->Outer, Depth + 1, Outer->This} : deeper(); }
    Frame into(const clang::FunctionDecl *F, llvm::ArrayRef<const clang::Expr *> Given, const clang::Expr *Object = nullptr) const {
      return {F, Given, this, Depth + 1, Object};
    }
    /// What the call gives the parameter \p P; null: it is none of its function.
    const clang::Expr *argument(const clang::ParmVarDecl *P) const;
  };
  std::optional<Estimate> integer(const clang::Expr *E, Frame In) const;
  std::optional<Estimate> inCalls(const clang::Expr *E, llvm::ArrayRef<const clang::Expr *> Calls, const Frame &In) const;
  std::optional<RealEstimate> real(const clang::Expr *E, Frame In) const;
  template <typename T> std::optional<EstimateOf<T>> value(const clang::Expr *E, Frame In) const;
  template <typename T> std::optional<EstimateOf<T>> variable(const clang::VarDecl *V, Frame In) const;
  /// What \p V, a variable or a member that began as \p Start and has these \p Changes, holds after the loop that only
  /// changes it; \p Start if there is none.
  std::optional<Estimate> grown(const clang::ValueDecl *V, llvm::ArrayRef<const clang::Expr *> Changes, Estimate Start, Frame In) const;
  // RunningSum.cpp
  /// What \p V, which began as \p Start, holds after the loops that only add to it, and do other things too.
  std::optional<Estimate> addedUp(const clang::VarDecl *V, Estimate Start, Frame In) const;
  // Counted.cpp
  /// One that is declared in a loop is another one in each trip: of how many.
  double timesDeclared(const clang::DeclaratorDecl *D) const;
  /// How often \p Condition skips the rest of a trip. `x < 0 || x >= width` does at a border only, which
  /// counts as never: most places have neighbours.
  double shareSkipped(const clang::Expr *Condition) const;
  /// How often the conditions around \p S let it happen, as a share, in \p In or, where that is null, in its function.
  double shareTaken(const clang::Stmt *S, const clang::Stmt *In = nullptr) const;
  /// How often all trips of the loops around \p Update, and the conditions, let it happen; none: that cannot be counted.
  std::optional<double> timesChanged(const clang::Expr *Update) const;
  /// What `++x` and `x += n` add to \p Changed, x, in all.
  std::optional<double> addedBy(const clang::Expr *Changed, Frame In) const;
  /// The same of all elements of the array or container \p V, but for sums of themselves.
  std::optional<double> countedIn(const clang::VarDecl *V, Frame In) const;
  /// \p Sum shared out among the elements of \p Container.
  std::optional<Estimate> perElement(double Sum, const clang::ValueDecl *Container, Frame In) const;
  /// The member \p F, in the mean of the elements of the one container whose elements count in it.
  std::optional<Estimate> meanCount(const clang::FieldDecl *F, Frame In) const;
  /// An element of a container that counts.
  std::optional<Estimate> meanCount(const clang::Expr *Element, Frame In) const;
  /// "begin[n]" after "begin[i + 1] = begin[i] + count(i);", the last of the sums.
  /// By its \p Index; null: the last one.
  std::optional<Estimate> lastSum(const clang::VarDecl *V, const clang::Expr *Index, Frame In) const;
  /// After "x *= 2", "++x" or "x = …".
  std::optional<Estimate> updated(const clang::Expr *Update, Estimate Old, Frame In) const;
  static std::optional<Estimate> applied(clang::BinaryOperatorKind Op, Estimate L, Estimate R);
  // ContainerSize.cpp
  /// Elements of a std::vector, a variable or a member of whatever object, by its constructor, resize, assign and push_back.
  std::optional<Estimate> containerSize(const clang::ValueDecl *D, Frame In) const;
  /// The same where \p Size asks for it: in the loop that makes it grow it has a part of them.
  std::optional<Estimate> sizeSoFar(const clang::CXXMemberCallExpr *Size, const clang::ValueDecl *Container, Frame In) const;
  /// The loop \p For is run by a trip of, as a share of all: behind `if (i == 0)` of the first.
  double shareOfTrips(const clang::ForStmt *For, const clang::Stmt *S, Frame In) const;
  /// Trips of `while (v.size() < n)`, by how much of v one of them appends.
  std::optional<double> tripsToFill(const clang::WhileStmt *While) const;
  std::optional<Estimate> initialSize(const clang::Expr *Init, Frame In) const;
  // NestedSize.cpp
  /// Trips of a loop over all elements of \p Range.
  std::optional<double> tripsOver(const clang::Expr *Range) const;
  /// Elements of each container in \p Outer, in the mean.
  std::optional<double> meanSize(const clang::ValueDecl *Outer) const;
  /// A container, or a parameter that is a reference to it and is given it so often; infinite: that cannot be counted.
  struct ContainerName {
    const clang::ValueDecl *Decl = nullptr;
    double Times = 1;
  };
  std::vector<ContainerName> namesOf(const clang::ValueDecl *Container) const;
  std::optional<Estimate> resizedTo(const clang::ValueDecl *D, std::optional<Estimate> Size, Frame In) const;
  template <typename T> std::optional<EstimateOf<T>> choice(const clang::ConditionalOperator *C, Frame In) const;
  /// min and max, rounding to integers, and functions that compute what they return at their end.
  template <typename T> std::optional<EstimateOf<T>> call(const clang::CallExpr *C, Frame In) const;
  /// What the function that \p C calls returns, if it computes that and does nothing else; null: it does.
  static const clang::Expr *formulaOf(const clang::CallExpr *C);
  static Frame intoCall(const clang::CallExpr *C, const Frame &In);
  // Dimensions.cpp
  /// Of what is given in several places: what is the same in all of them.
  void dimensionsInAll(llvm::ArrayRef<const clang::Expr *> Given, uint64_t Out[3], bool &Assumed, Frame In) const;
  void dimensions(const clang::Expr *E, uint64_t Out[3], bool &Assumed, Frame In) const;
  const clang::Expr *assignedMember(const clang::VarDecl *V, uint64_t Field) const;
  /// "block.x" of a dim3.
  std::optional<Estimate> dimension(const clang::MemberExpr *M, Frame In) const;
  // MemberEstimate.cpp
  template <typename T> std::optional<EstimateOf<T>> member(const clang::MemberExpr *M, Frame In) const;
  /// The element of an array that is a member or a variable, at an index that is known.
  template <typename T> std::optional<EstimateOf<T>> arrayElement(const clang::ArraySubscriptExpr *E, Frame In) const;
  template <typename T> std::optional<EstimateOf<T>> part(const clang::Expr *E, llvm::ArrayRef<uint64_t> P, Frame In) const;
  template <typename T> std::optional<EstimateOf<T>> partOfVariable(const clang::VarDecl *V, llvm::ArrayRef<uint64_t> P, Frame In) const;
  template <typename T> std::optional<EstimateOf<T>> constructed(const clang::CXXConstructExpr *C, llvm::ArrayRef<uint64_t> P, Frame In) const;
  template <typename T> std::optional<EstimateOf<T>> partOrMember(const clang::Expr *E, const Part &P, const clang::FieldDecl *F) const;
  /// What all objects have in the part \p P of the member \p F.
  template <typename T> std::optional<EstimateOf<T>> anywhere(const clang::FieldDecl *F, llvm::ArrayRef<uint64_t> P, Frame In) const;
  /// The part \p P of an object of \p Class of which nothing else is known.
  template <typename T> std::optional<EstimateOf<T>> ofAnyObject(const clang::CXXRecordDecl *Class, llvm::ArrayRef<uint64_t> P, Frame In) const;

  clang::ASTContext &Context;
  const UnitFacts &Facts;
  /// A variable as it was evaluated in a depth of expressions: where that failed, less depth may do.
  template <typename T> struct Evaluated {
    std::optional<EstimateOf<T>> Value;
    unsigned Depth = 0;
  };
  /// What was evaluated outside of calls: `b = a + a; c = b + b; …` looks at each variable once.
  struct Values {
    std::map<const clang::VarDecl *, Evaluated<int64_t>> Integers;
    std::map<const clang::VarDecl *, Evaluated<double>> Reals;
    std::map<const clang::ValueDecl *, std::optional<Estimate>> Containers; ///< and how many elements they have
  };
  mutable Values Known; ///< in the trip of a loop that Sampled says
  mutable std::optional<std::map<const clang::ValueDecl *, std::map<const clang::ParmVarDecl *, double>>> GivenTo; ///< containers, by reference, and how often
  mutable Counters Sampled; ///< in one of their trips, while what depends on them is evaluated
  mutable std::map<const clang::ValueDecl *, Estimate> Trial; ///< in a loop that is being followed
  mutable std::map<const clang::FunctionDecl *, double> Called; ///< how often
  mutable std::map<const clang::FunctionDecl *, std::optional<double>> CalledInLife; ///< callsInLife(); none: not counted, or not yet
  mutable std::map<const clang::VarDecl *, std::vector<const clang::BinaryOperator *>> AssignedElements; ///< what its function assigns to them
  mutable std::map<const clang::VarDecl *, std::vector<const clang::Expr *>> CountedElements; ///< and those of them that it counts in
  mutable std::map<const clang::VarDecl *, unsigned> Summed; ///< arrays of sums while one of them is evaluated, and how often they were read
  mutable unsigned StepsLeft = 1 << 16;                     ///< of such loops, all together
  mutable unsigned SamplesLeft = 1 << 12;                   ///< trips of loops around others that are looked at, all together
  mutable unsigned PartsLeft = 1 << 18;                     ///< steps to parts of objects, all together
  mutable std::set<const clang::ValueDecl *> Measured; ///< containers, while what is in those in them, or counted, is evaluated
  mutable std::set<const clang::ValueDecl *> Sized;   ///< containers, while their sizes are evaluated, in whichever trip
  mutable unsigned Nested = 0;                        ///< evaluations of integers in each other, of loops' bounds and steps too
  mutable std::set<const clang::VarDecl *> AddedUp; ///< while what loops add to them, and how often, is evaluated
  mutable std::set<std::pair<const clang::Decl *, Part>> Active; ///< parts of objects, and members, that are being evaluated
};

/// "int k = std::min(n, 300);" has a temporary that ends with the statement.
const clang::Expr *withoutCleanups(const clang::Expr *E);

/// There is a launch of a kernel in \p S.
bool launches(const clang::Stmt *S);

/// The array of `array[i]` and the index; nulls: \p E is no such element.
std::pair<const clang::VarDecl *, const clang::Expr *> elementOf(const clang::Expr *E);

class Evaluator::AtTrip {
public:
  AtTrip(const Evaluator &Of, Counters Now) : Of(Of), Sampled(std::exchange(Of.Sampled, std::move(Now))), Known(std::exchange(Of.Known, {})) {}
  ~AtTrip() {
    Of.Sampled = std::move(Sampled);
    Of.Known = std::move(Known);
  }
  AtTrip(const AtTrip &) = delete;

private:
  const Evaluator &Of;
  Counters Sampled; ///< before
  Values Known;
};

} // namespace restride

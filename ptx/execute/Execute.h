// Executes a PTX function for the 32 lanes of one warp, to see the addresses it
// touches. Symbolic normal forms break on the shifts, masks, fix-ups and
// divergence of real PTX; executing does not.
//
// Loaded data are not known, nor what is made of them, nor floating-point values
// of less than 32 bits. A loaded value is a leaf: the same address gives the same
// pseudo-random value, each lane its own, and the same field of an element gives
// it in each layout.
// What was stored to local or shared memory before is read back as it is.
//
// Loaded integers compare as what they are, indices in range, with other values;
// tests of floating-point data, for equality and against thresholds fall to
// each lane at random, the same for the same values, and near lanes alike unless
// they walk (flow/Walk.h): of a tenth of the warps no lane passes, and of a tenth
// all do. Data are no special cases: neither infinite nor beyond 1e5 nor below
// 1e-6, where a constant tells such. Then a branch goes as the lanes' predicates say, except that
//  - one that leaves the function (a guard) is not taken if it depends on an
//    argument nobody knows (`if (i >= n) return`),
//  - one that skips a loop whose bounds are loaded is not taken,
//  - one that leaves a loop by data is taken after ExecuteLimits::DataLoopTrips.
//
// Counted loops are cut short and their weights scaled to the true trip count,
// so that a loop of a million trips costs as little as one of 64.
//
// Calls are not followed: run inlineCalls (Inline.h) first.
#pragma once

#include "ptx/execute/KnownObject.h"
#include "ptx/flow/ControlFlow.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <functional>
#include <map>
#include <memory>

namespace restride::ptx {

struct Dim3 {
  uint32_t X = 1, Y = 1, Z = 1;
  uint64_t count() const { return uint64_t(X) * Y * Z; }
  bool operator==(const Dim3 &) const = default;
};

/// How the integers lie that are loaded through a pointer. Sorted: an entry is the
/// one before it or up to 2 more, as of a sorted list with an entry per element.
/// Local: a thread's are within 64 of its own number in the grid.
enum class IndexOrder : uint8_t { Random, Sorted, Local };

/// An integer that is known to lie behind a pointer.
struct KnownInteger {
  int64_t Value = 0;
  /// Neighbours lead to places far apart: an index of random access.
  bool Scattered = false;
  /// It lies near its place, which is all that is known: no begin of a run, nor where a walk goes on.
  bool Guessed = false;
  /// It is some number below Value, and data.
  bool Below = false;
};

/// By the pointer's place in its parameter, as ArrayPlace::Word has it, and offset in bytes, of an array of records in the
/// source's layout; none: not known.
using KnownIntegers = std::function<std::optional<KnownInteger>(unsigned, uint64_t)>;

/// What lies behind one pointer.
struct ArrayPlace {
  uint64_t Bytes = 0; ///< 0: not known
  /// Bytes after which elements lie the same way again, and those of these
  /// elements in the source's layout; 0: not known.
  uint64_t TileBytes = 0, SourceBytes = 0;
  /// By byte of a tile, of one array after the other: its place among the SourceBytes; ~0 for padding.
  std::vector<uint32_t> Source = {};
  uint64_t Elements = 0; ///< in all; 0: not known
  uint64_t RecordBytes = 0; ///< of an element in the source's layout; 0: Source is empty
  unsigned Word = 0;        ///< in the source, the pointer's place in its struct, in 8 bytes
  uint64_t PitchBytes = 0;  ///< from one to the next of several arrays behind the pointer; 0: it is one
};

/// What is known or assumed about one launch.
struct LaunchFacts {
  Dim3 Grid{1024, 1, 1}, Block{256, 1, 1};
  uint64_t DynamicSharedBytes = 0;
  /// By source parameter position: value of an integer argument. A missing
  /// integer argument has the value DefaultInteger.
  std::vector<std::optional<int64_t>> Arguments;
  int64_t DefaultInteger = 4096;
  /// By source parameter position: value of a floating-point argument. One that is missing is data.
  std::vector<std::optional<double>> Reals;
  /// By source parameter position; fewer, or no bytes: nothing is known.
  std::vector<KnownObject> Objects;
  std::map<std::string, KnownObject> Symbols; ///< by name; stronger than what variables begin as
  std::map<std::string, ArrayPlace> SymbolArrays; ///< by name: variables that do not lie as in the source
  /// Elements behind pointers: loaded 32- and 64-bit integers fall in [0, Elements).
  uint64_t Elements = 1u << 22;
  /// By source parameter position, and by pointer in that parameter. Addresses
  /// that come from loaded data stay inside; the data are the same in all layouts.
  std::vector<std::vector<ArrayPlace>> Arrays;
  /// Loaded integers lie near the thread's own number, as in data that somebody
  /// sorted; addresses that follow from them are none that DependsOnLoad,
  /// unless they are far apart.
  bool LocalData = false;
  /// By source parameter position; a missing one is Random. Others than random
  /// values are known: what follows from them is computed, and no leaf.
  std::vector<IndexOrder> Orders;
  /// By source parameter position; a null or missing one: nothing is known. Orders are stronger.
  std::vector<KnownIntegers> Known;
  /// Some of them are known to be in no order; then data that are not known are not either.
  bool Scatters = false;
  /// Records lie in the order of their places in space, so that data that are not known are LocalData.
  bool OnLattice = false;
  /// They lie in no order there, and subscripts that are made of their places are as random.
  bool PlacesAtRandom = false;
  /// That a lane runs the body of a branch that data decides; none: as compared.
  std::optional<double> BodyProbability;
};

/// One warp-wide memory instruction as it was executed.
struct Request {
  unsigned Instruction = 0; ///< index in Function::Body
  uint32_t Mask = 0;        ///< lanes that took part
  /// Bytes. Global: synthetic bases, one 1<<40 range per pointer. Shared:
  /// offset in the block's shared memory. Local: as the hardware interleaves
  /// it, so that lanes at the same offset are neighbours.
  std::array<uint64_t, 32> Address;
  bool DependsOnLoad = false; ///< the address comes from loaded data (indirect)
  Space Mem = Space::Global;  ///< Global, Shared or Local: generic addresses are resolved
  uint8_t Level = 0;          ///< trips so far of a loop around it that descends (flow/Walk.h); 0: there is none
};

/// What one loop did, summed over the times it was entered.
struct LoopTrips {
  uint64_t Entries = 0;
  uint64_t Executed = 0; ///< trips that ran
  double True = 0;       ///< trips without cutting short; equals Executed where the counter is not known
  bool Known = false;    ///< the loop was counted: True is exact
  bool Hurried = false;  ///< a limit on effort ended it
  bool Walk = false;     ///< data end it, and it goes from element to element by what it loads (flow/Walk.h)
  bool Search = false;   ///< it looks for something (flow/Search.h)
  bool Runs = false;     ///< it was counted because runs of elements are taken to be as long as in the mean, but for what such lengths vary by
};

/// Where the body of a loop begins once more.
struct TripStart {
  size_t Request = 0;  ///< index in WarpTrace::Requests of the first one since
  bool Enters = false; ///< the loop's first trip since it was entered
};

struct WarpTrace {
  std::vector<Request> Requests;    ///< in program order; global, generic, shared, local
  std::vector<uint64_t> BlockVisits; ///< per basic block, as executed
  std::vector<double> BlockWeight;   ///< per basic block: visits with loops at their true trip counts
  std::vector<LoopTrips> Loops;      ///< as ControlFlow::Loops
  std::vector<std::vector<TripStart>> TripStarts; ///< per loop, in the order they ran
  /// A limit was hit: Requests are of the part before, apart from a few more
  /// per instruction; loops went on with one trip each, so BlockWeight holds.
  bool Truncated = false;
  std::vector<std::string> Warnings; ///< what was approximated, in words, deduplicated
};

struct ExecuteLimits {
  uint64_t MaxRequests = 3000;
  uint64_t MaxInstructions = 400000; ///< warp-wide; twice as many end the run wherever it is
  /// Trips after which a loop whose exit depends on loaded or float data leaves.
  uint64_t DataLoopTrips = 16;
  /// Of a walk the requests before this trip are left out, but for the very first
  /// trip: all walks start at one element.
  uint64_t WalkStart = 0;
  /// Trips after which a counted loop leaves, its registers as after the last.
  uint64_t MaxTripsPerLoop = 64;
};

/// Is called for requests in program order.
using RequestSink = llvm::function_ref<void(const Request &)>;

class Program;

/// Executes warps of one function, decoding it once. Thread safe.
class WarpExecutor {
public:
  /// \p F and \p C must outlive the executor.
  WarpExecutor(const Function &F, const ControlFlow &C);
  ~WarpExecutor();
  WarpExecutor(WarpExecutor &&) noexcept;

  /// Runs warp \p Warp of block \p BlockIndex. Diverged lanes meet again at the
  /// first block that all can reach, inner loops before what follows them.
  WarpTrace run(const LaunchFacts &L, Dim3 BlockIndex, unsigned Warp, const ExecuteLimits &Limits) const;

  /// The same; \p Each is given the requests instead of the trace, which has none: many of them take more memory than
  /// caches hold.
  WarpTrace run(const LaunchFacts &L, Dim3 BlockIndex, unsigned Warp, const ExecuteLimits &Limits, RequestSink Each) const;

  /// The function goes through runs, of a cell, of the array that its threads' own elements are in, and which run that is
  /// says the element: the elements lie in the order of the runs.
  bool elementsLieByRuns() const;

  /// It makes subscripts of floating-point numbers: cells of places.
  bool makesSubscriptsOfReals() const;

private:
  std::unique_ptr<const Program> P;
};

/// One warp, when no other follows.
WarpTrace execute(const Function &F, const ControlFlow &C, const LaunchFacts &L, Dim3 BlockIndex, unsigned Warp,
                  const ExecuteLimits &Limits);

/// Counts per block and loop, then one line per request.
std::string dump(const Function &F, const WarpTrace &T);

} // namespace restride::ptx

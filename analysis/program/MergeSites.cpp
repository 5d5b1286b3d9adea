#include "analysis/program/MergeSites.h"

#include "llvm/ADT/STLExtras.h"

namespace restride {

/// Instantiations of one template tell the same story about the same text.
template <typename T, typename Same> static void dropRepeats(std::vector<T> &Sites, Same IsSame) {
  std::vector<T> Kept;
  for (T &S : Sites)
    if (llvm::none_of(Kept, [&](const T &K) { return IsSame(K, S); }))
      Kept.push_back(std::move(S));
  Sites = std::move(Kept);
}

static bool samePath(const std::vector<Step> &A, const std::vector<Step> &B) {
  return A.size() == B.size() && std::equal(A.begin(), A.end(), B.begin(), [](const Step &X, const Step &Y) {
           return X.Member == Y.Member && X.Subscripts == Y.Subscripts;
         });
}

void dropRepeats(Candidate &C) {
  dropRepeats(C.Accesses, [](const Access &A, const Access &B) {
    return A.K == B.K && A.Whole == B.Whole && A.Instance == B.Instance && samePath(A.Path, B.Path);
  });
  dropRepeats(C.MemberCalls, [](const MemberCall &A, const MemberCall &B) {
    return A.Whole == B.Whole && A.Instance == B.Instance && A.Method == B.Method && samePath(A.Path, B.Path);
  });
  dropRepeats(C.Aliases, [](const Alias &A, const Alias &B) { return A.Declaration == B.Declaration && A.Instance == B.Instance; });
  dropRepeats(C.Shifts, [](const Shift &A, const Shift &B) { return A.Whole == B.Whole && A.Instance == B.Instance; });
  dropRepeats(C.Places, [](const ElementPlace &A, const ElementPlace &B) { return A.Whole == B.Whole && A.Instance == B.Instance; });
  dropRepeats(C.Arguments, [](const Argument &A, const Argument &B) { return A.Whole == B.Whole && A.Instance == B.Instance; });
  dropRepeats(C.Nulls, [](const NullValue &A, const NullValue &B) { return A.Whole == B.Whole && A.Instance == B.Instance; });
  dropRepeats(C.Tests, [](const PointerTest &A, const PointerTest &B) { return A.Pointer == B.Pointer && A.Instance == B.Instance; });
  dropRepeats(C.OwnerNames, [](const OwnerName &A, const OwnerName &B) { return A.Whole == B.Whole && A.Instance == B.Instance; });
  dropRepeats(C.MemberNames, [](const MemberName &A, const MemberName &B) {
    return A.Name == B.Name && A.Where == B.Where;
  });
  dropRepeats(C.Sizes, [](const SizeOf &A, const SizeOf &B) { return A.Operand == B.Operand && A.Instance == B.Instance; });
  dropRepeats(C.Mentions, [](const Mention &A, const Mention &B) { return A.Name == B.Name; });
  dropRepeats(C.Kernels, [](const KernelParameter &A, const KernelParameter &B) { return A == B; });
  dropRepeats(C.Refusals, [](const Refusal &A, const Refusal &B) {
    return A.Where == B.Where && A.Layout == B.Layout && A.Reason == B.Reason;
  });
  for (const Alias &A : C.Aliases)
    if (A.Together > 1 && llvm::count_if(C.Aliases, [&](const Alias &B) { return A.Group == B.Group && A.Statement == B.Statement && A.Instance == B.Instance; }) < A.Together)
      C.Refusals.push_back({"", A.Where, "'" + A.Name + "' is an element's other name, and is declared together with what is none"});
  // One text that reads differently in two instantiations cannot be edited.
  auto Conflict = [&](const auto &A, const auto &B) {
    if (A.Whole == B.Whole && A.Instance == B.Instance)
      C.Refusals.push_back({"", A.Where, "this access means different things in two instantiations"});
  };
  for (size_t I = 0; I < C.Accesses.size(); ++I)
    for (size_t J = I + 1; J < C.Accesses.size(); ++J)
      Conflict(C.Accesses[I], C.Accesses[J]);
  for (size_t I = 0; I < C.MemberCalls.size(); ++I) {
    for (size_t J = I + 1; J < C.MemberCalls.size(); ++J)
      Conflict(C.MemberCalls[I], C.MemberCalls[J]);
    for (const Access &A : C.Accesses)
      Conflict(C.MemberCalls[I], A);
  }
}

/// The two sides of a device-to-device copy were met one by one.
void joinCopies(Candidate &C) {
  std::vector<HostCall> Out;
  for (HostCall &Call : C.Calls) {
    auto Same = llvm::find_if(Out, [&](const HostCall &O) { return O.Callee == Call.Callee && O.Instance == Call.Instance; });
    if (Same == Out.end()) {
      Out.push_back(std::move(Call));
      continue;
    }
    for (HostCall::Pointer &P : Call.Pointers)
      if (llvm::none_of(Same->Pointers, [&](const HostCall::Pointer &O) { return O.Argument == P.Argument; }))
        Same->Pointers.push_back(std::move(P));
  }
  for (HostCall &Call : Out)
    llvm::sort(Call.Pointers, [](const HostCall::Pointer &A, const HostCall::Pointer &B) { return A.Argument < B.Argument; });
  C.Calls = std::move(Out);
}

} // namespace restride

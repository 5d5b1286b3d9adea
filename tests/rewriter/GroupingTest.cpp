// Which groups of fields are tried, from how kernels use them.
#include "rewriter/decide/Describe.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

Record record(std::initializer_list<const char *> Names) {
  Record R;
  for (const char *Name : Names) {
    Field F;
    F.Name = Name, F.Type = "float", F.Offset = R.Size, F.Size = 4, F.Align = 4;
    R.Fields.push_back(F);
    R.Size += 4;
  }
  R.Name = "R", R.Align = 4;
  return R;
}

bool isTried(const Record &R, const FieldUse &Use, const Grouping &G) { return llvm::is_contained(groupings(R, Use), G); }

TEST(Grouping, FieldsOfTheSameKernels) {
  const Record R = record({"x", "y", "u", "v"});
  const FieldUse Use = {{"x", {{"draw", {1}}}}, {"y", {{"draw", {1}}}}, {"u", {{"move", {1}}}}, {"v", {{"move", {1}}}}};
  EXPECT_EQ(groupings(R, Use).front(), (Grouping{{"x", "y"}, {"u", "v"}}));
}

TEST(Grouping, TheMuchUsedApartFromTheLittleUsed) {
  const Record R = record({"x", "y", "u", "v"});
  const FieldUse Use = {{"x", {{"k", {40}}}}, {"y", {{"k", {1}}}}, {"u", {{"k", {20}}}}, {"v", {{"k", {2}}}}};
  EXPECT_TRUE(isTried(R, Use, {{"x", "u"}, {"y", "v"}}));
}

TEST(Grouping, WhatAKernelWritesApartFromWhatItReads) {
  const Record R = record({"a", "b", "c", "d", "e"});
  const FieldUse Use = {{"a", {{"k", {1, true}}}}, {"b", {{"k", {1}}}}, {"c", {{"k", {1, true}}}}, {"d", {{"k", {1}}}}, {"e", {{"k", {1, true}}}}};
  EXPECT_TRUE(isTried(R, Use, {{"a", "c", "e"}, {"b", "d"}}));
}

TEST(Grouping, IsNeitherTheRecordNorItsFieldsAlone) {
  const Record R = record({"x", "y"});
  EXPECT_TRUE(groupings(R, {{"x", {{"k", {1}}}}, {"y", {{"k", {1}}}}}).empty());
  EXPECT_TRUE(groupings(R, {{"x", {{"k", {1}}}}, {"y", {{"other", {1}}}}}).empty());
}

/// A kernel's loads of \p Line and \p Column, \p Requests each.
cost::AccessCost load(unsigned Line, unsigned Column, double Requests) {
  cost::AccessCost A;
  A.File = "k.cu", A.Line = Line, A.Column = Column, A.RequestsPerWarp = Requests;
  return A;
}

TEST(FieldUse, OfOnePlaceIsSharedByTheFieldsOfItsLine) {
  // As nvcc has it, which knows statements: two fields in a loop that it unrolls twice.
  Program P;
  const std::string Text = "int n = p[i].n;\ns += p[j].x / p[j].y;\n";
  P.Text.add("k.cu", Text);
  Candidate C;
  for (const char *Field : {"n", "x", "y"}) {
    Access A;
    const unsigned At = unsigned(Text.find(std::string("].") + Field)) - 3;
    A.Whole = {At, At + 6};
    A.Path = {Step{}};
    A.Path[0].Member = Field;
    C.Accesses.push_back(A);
  }
  P.Candidates.push_back(C);
  cost::KernelCost K;
  K.Name = "k", K.Calls = 2;
  K.Accesses = {load(1, 1, 1), load(2, 1, 4), load(2, 1, 4), load(2, 1, 4), load(2, 1, 4)};
  cost::Score S;
  S.Kernels = {K};
  llvm::Expected<Rewritten> Same = applyEdits(P.Text, {});
  ASSERT_TRUE(bool(Same)) << llvm::toString(Same.takeError());
  FieldUse Use = fieldUse(P, S, *Same);
  EXPECT_EQ(Use["n"]["k"].Requests, 2);
  EXPECT_EQ(Use["x"]["k"].Requests, 16);
  EXPECT_EQ(Use["y"]["k"].Requests, 16);
  EXPECT_FALSE(Use["x"]["k"].Writes);
}

} // namespace
} // namespace restride

#include "analysis/program/Comments.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

TEST(Comments, askToStay) {
  EXPECT_TRUE(asksToStay("int a;\nstruct P { // NORESTRIDE: the driver reads it\n", 2));
  EXPECT_TRUE(asksToStay("P *p; /* NORESTRIDE */\n", 1));
  EXPECT_TRUE(asksToStay("  // NORESTRIDE\r\n  P *p;\n", 2));
  EXPECT_TRUE(asksToStay("/* NORESTRIDE */\nP *p;", 2));
}

TEST(Comments, areNotNearEnough) {
  EXPECT_FALSE(asksToStay("P *p;\n// NORESTRIDE\n", 1));
  EXPECT_FALSE(asksToStay("// NORESTRIDE\n\nP *p;\n", 3));
  EXPECT_FALSE(asksToStay("P *q; // NORESTRIDE\nP *p;\n", 2));
  EXPECT_FALSE(asksToStay("P *p; // NORESTRIDES\n", 1));
  EXPECT_FALSE(asksToStay("P *NORESTRIDE;\n", 1));
  EXPECT_FALSE(asksToStay("P *p;\n", 3));
}

} // namespace
} // namespace restride

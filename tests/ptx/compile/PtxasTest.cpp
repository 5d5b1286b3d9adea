// Registers as ptxas counts them. A script stands for ptxas and writes down how it is called.
#include "../../TemporaryFiles.h"
#include "ptx/compile/Ptxas.h"

#include "gtest/gtest.h"

using namespace restride;

namespace {

std::string module(const std::string &Before, const std::string &Kernels) {
  return "//\n.version 8.0\n.target sm_90, debug\n.address_size 64\n" + Before + Kernels + "\t.section .debug_info\n{\n}\n";
}

std::string kernel(const std::string &Name, const std::string &Body) {
  return ".visible .entry " + Name + "(\n.param .u64 " + Name + "_param_0\n)\n{\n" + Body + "\tret;\n}\n";
}

class Ptxas : public testing::Test {
protected:
  Ptxas() { answer("echo 'ptxas info    : 0 bytes gmem'; for a in \"$@\"; do case $a in --entry=*) "
                   "echo \"ptxas info    : Compiling entry function '${a#--entry=}' for 'sm_90'\"; "
                   "echo 'ptxas info    : Function properties for x'; "
                   "echo 'ptxas info    : Used 24 registers, used 0 barriers';; esac; done"); }
  void answer(const std::string &Script) {
    Folder.write("ptxas", "#!/bin/sh\necho \"$@\" >> " + Folder.path("calls") + "\n" + Script + "\n");
    std::filesystem::permissions(Folder.path("ptxas"), std::filesystem::perms::owner_all);
  }
  llvm::StringMap<unsigned> count(const std::string &Ptx) {
    llvm::Expected<llvm::StringMap<unsigned>> Found = Counts.of(Ptx);
    if (!Found)
      ADD_FAILURE() << llvm::toString(Found.takeError());
    return Found ? *Found : llvm::StringMap<unsigned>();
  }
  /// Entries of each call so far.
  std::string asked() const {
    std::string Out;
    std::istringstream Words(Folder.read("calls"));
    for (std::string Word; Words >> Word;)
      if (Word == "-v")
        Out += "|";
      else if (Word.rfind("--entry=", 0) == 0)
        Out += Word.substr(8);
    return Out;
  }

  test::TemporaryFolder Folder;
  ptx::RegisterCounts Counts{Folder.path("ptxas"), "sm_90"};
};

TEST_F(Ptxas, CountsTheKernelsOfAModule) {
  llvm::StringMap<unsigned> Found = count(module("", kernel("f", "\tadd.s32 %r1, %r1, 1;\n") + kernel("g", "")));
  EXPECT_EQ(Found.size(), 2u);
  EXPECT_EQ(Found.lookup("f"), 24u);
  EXPECT_NE(Folder.read("calls").find("-arch=sm_90 "), std::string::npos);
}

TEST_F(Ptxas, AsksAgainOnlyForWhatChanged) {
  std::string Loop = "$L__BB0_2: // loop\n\t.loc 1 20 3\n\t@%p1 bra \t$L__BB0_2;\n";
  std::string Moved = "$L__BB3_2:\n\t.loc 1 93 3\n$L__tmp4:\n\t@%p1 bra \t$L__BB3_2;\n";
  count(module("", kernel("f", Loop) + kernel("g", "")));
  EXPECT_EQ(count(module("", kernel("new", "") + kernel("g", "\tbar.sync 0;\n") + kernel("f", Moved))).size(), 3u);
  EXPECT_EQ(asked(), "|fg|newg");
}

TEST_F(Ptxas, WhatAKernelMayCallIsPartOfIt) {
  count(module(".func a()\n{\n\tret;\n}\n", kernel("f", "")));
  count(module(".func a()\n{\n\tbar.sync 0;\n\tret;\n}\n", kernel("f", "")));
  EXPECT_EQ(asked(), "|f|f");
}

TEST_F(Ptxas, APtxasThatFailsKnowsNothing) {
  answer("echo \"ptxas fatal   : Value 'sm_52' is not defined for option 'gpu-name'\"; exit 255");
  EXPECT_TRUE(count(module("", kernel("f", ""))).empty());
}

TEST_F(Ptxas, NoKernelNoCall) {
  EXPECT_TRUE(count("").empty());
  EXPECT_EQ(asked(), "");
}

} // namespace

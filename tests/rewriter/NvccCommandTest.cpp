#include "rewriter/NvccCommand.h"

#include "tests/TemporaryFiles.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

std::string translate(std::vector<std::string> Args, llvm::StringRef Directory = "/") {
  llvm::Expected<ClangFlags> Flags = translateFlags(Args, Directory);
  if (!Flags)
    return "error: " + llvm::toString(Flags.takeError());
  return llvm::join(Flags->Flags, " ") + (Flags->Arch ? " @" + *Flags->Arch : "");
}

TEST(NvccCommand, keepsWhatDefinesTheProgram) {
  EXPECT_EQ(translate({"-std=c++17", "-Iinc", "-I", "more", "-DN=4", "-UX", "-isystem", "sys", "-include", "pre.h"}),
            "-std=c++17 -Iinc -I more -DN=4 -UX -isystem sys -include pre.h");
  EXPECT_EQ(translate({"--std", "c++14", "--define-macro=A=1", "--include-path", "d"}), "-std=c++14 -D A=1 -I d");
}

TEST(NvccCommand, readsTheNewestGpu) {
  EXPECT_EQ(translate({"-gencode", "arch=compute_70,code=sm_70",
                       "--generate-code=arch=compute_90,code=[compute_90,sm_90]", "-arch=sm_80"}),
            " @sm_90");
  EXPECT_EQ(translate({"-arch", "sm_52"}), " @sm_52");
}

TEST(NvccCommand, dropsWhatClangRejects) {
  EXPECT_EQ(translate({"--expt-relaxed-constexpr",
                       "--extended-lambda",
                       "-forward-unknown-to-host-compiler",
                       "-ccbin",
                       "g++-12",
                       "-Xptxas",
                       "-v",
                       "-Xcudafe",
                       "--diag_suppress=1",
                       "--threads",
                       "4",
                       "-t=4",
                       "-maxrregcount=32",
                       "--diag-suppress",
                       "177",
                       "-keep",
                       "-res-usage",
                       "-O3",
                       "-Wall",
                       "-lcurand",
                       "-L/x",
                       "-o",
                       "out",
                       "-c",
                       "in.cu"}),
            "");
}

TEST(NvccCommand, keepsTheLanguage) {
  EXPECT_EQ(translate({"-x", "cu", "--x=c++"}), "-x cu -x c++");
  EXPECT_EQ(translate({"-xcu", "-Xcompiler", "-DA"}), "-x cu -DA");
}

TEST(NvccCommand, translatesWhatClangMisreads) {
  EXPECT_EQ(translate({"-use_fast_math"}), "-fgpu-approx-transcendentals -fgpu-flush-denormals-to-zero -fapprox-func");
  EXPECT_EQ(translate({"-lineinfo", "-G", "-DA"}), "-DA");
  EXPECT_EQ(translate({"-dc", "-DA", "-dlto"}), "-fgpu-rdc -DA");
  EXPECT_EQ(translate({"-rdc=true"}), "-fgpu-rdc");
  EXPECT_EQ(translate({"-rdc=false", "-ftz=true", "-fmad=false"}), "-fgpu-flush-denormals-to-zero -ffp-contract=off");
  EXPECT_EQ(translate({"-default-stream", "per-thread"}), "-fgpu-default-stream=per-thread");
  EXPECT_EQ(translate({"-Werror", "all-warnings", "-DA", "-Werror", "-DB"}), "-DA -DB");
}

TEST(NvccCommand, looksIntoFlagsForTheHostCompiler) {
  EXPECT_EQ(translate({"-Xcompiler", "-Wall,-fopenmp,-DX=1", "-Xcompiler=-O3 -fno-such-thing -DY", "-DZ"}),
            "-fopenmp -DX=1 -DY -DZ");
}

TEST(NvccCommand, readsOptionsFiles) {
  test::TemporaryFolder Folder;
  Folder.write("flags.rsp", "-DA \"-DB=two words\"\n-I inc");
  EXPECT_EQ(translate({"--options-file", "flags.rsp"}, Folder.path()), "-DA -DB=two words -I inc");
  EXPECT_EQ(translate({"-optf", "none.rsp"}, Folder.path()),
            "error: cannot read options file '" + Folder.path("none.rsp") + "': No such file or directory");
  Folder.write("self.rsp", "-optf self.rsp");
  EXPECT_EQ(translate({"-optf", "self.rsp"}, Folder.path()),
            "error: options files include each other: '" + Folder.path("self.rsp") + "'");
}

TEST(NvccCommand, saysWhenAValueIsMissing) {
  EXPECT_EQ(translate({"-DA", "-arch"}), "error: compiler flag '-arch' lacks its value");
  EXPECT_EQ(translate({"-I"}), "error: compiler flag '-I' lacks its value");
}

TEST(NvccCommand, leavesTheRestToClang) {
  EXPECT_EQ(translate({"-fno-exceptions", "--no-such-flag", "-Xclang", "-fsome", "-fgpu-rdc"}),
            "-fno-exceptions --no-such-flag -Xclang -fsome -fgpu-rdc");
}

} // namespace
} // namespace restride

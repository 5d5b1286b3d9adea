#include "rewriter/command/NvccCommand.h"

#include "tests/TemporaryFiles.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace restride {
namespace {

std::string translate(std::vector<std::string> Args, llvm::StringRef Directory = "/", FlagsOf Whose = FlagsOf::Any) {
  llvm::Expected<ClangFlags> Flags = translateFlags(Args, Directory, Whose);
  if (!Flags)
    return "error: " + llvm::toString(Flags.takeError());
  return llvm::join(Flags->Flags, " ") + (Flags->Arch ? " @" + *Flags->Arch : "");
}

std::string ofNvcc(std::vector<std::string> Args) { return translate(std::move(Args), "/", FlagsOf::Nvcc); }

std::string dropped(std::vector<std::string> Args, FlagsOf Whose = FlagsOf::Nvcc) {
  llvm::Expected<ClangFlags> Flags = translateFlags(Args, "/", Whose);
  return Flags ? llvm::join(Flags->Dropped, ", ") : llvm::toString(Flags.takeError());
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
  EXPECT_EQ(translate({"-arch=sm_90a", "-arch=sm_999"}), " @sm_90");
  EXPECT_EQ(translate({"-arch=native", "-arch=all-major"}), "");
}

TEST(NvccCommand, dropsWhatClangRejects) {
  EXPECT_EQ(translate({"-forward-unknown-to-host-compiler",
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
  EXPECT_EQ(translate({"-use_fast_math"}), "-fgpu-approx-transcendentals -fgpu-flush-denormals-to-zero -fapprox-func -D__RESTRIDE_APPROX_SQRT");
  EXPECT_EQ(translate({"-lineinfo", "-G", "-DA"}), "-DA");
  EXPECT_EQ(translate({"-dc", "-DA", "-dlto"}), "-fgpu-rdc -DA");
  EXPECT_EQ(translate({"-rdc=true"}), "-fgpu-rdc");
  EXPECT_EQ(translate({"-rdc=false", "-ftz=true", "-fmad=false"}), "-fgpu-flush-denormals-to-zero -ffp-contract=off");
  EXPECT_EQ(translate({"-prec-div=false", "-prec-sqrt=false"}), "-fapprox-func -D__RESTRIDE_APPROX_SQRT");
  EXPECT_EQ(translate({"-prec-div=true", "-prec-sqrt=true"}), "");
  EXPECT_EQ(translate({"-default-stream", "per-thread"}), "-fgpu-default-stream=per-thread");
  EXPECT_EQ(translate({"-Werror", "all-warnings", "-DA", "-Werror", "-DB"}), "-DA -DB");
}

TEST(NvccCommand, looksIntoFlagsForTheHostCompiler) {
  EXPECT_EQ(translate({"-Xcompiler", "-Wall,-fopenmp,-DX=1", "-Xcompiler=-O3 -fno-such-thing -DY", "-DZ"}),
            "-DZ -fopenmp -DX=1 -DY");
  EXPECT_EQ(translate({"--compiler-options", "-DA", "--compiler-options=-DB,-DC", "-Xcompiler=\"-DD=1\"", "-Xcompiler='-DE -DF'"}),
            "-DA -DB -DC -DD=1 -DE -DF");
  EXPECT_EQ(translate({"-Xcompiler", "-isystem", "-Xcompiler", "sys", "-Xcompiler=-I,inc"}), "-isystem sys -I inc");
  EXPECT_EQ(translate({"-Xcompiler=-DA=1\\,2", "-Xcompiler", "\"-DB=3,4\""}), "-DA=1,2 -DB=3,4");
}

TEST(NvccCommand, leavesTheHostsCodeToTheHostsCompiler) {
  EXPECT_EQ(translate({"-Xcompiler", "-ffast-math,-flto,-march=native,-fPIC,-fsanitize=address,-fno-exceptions"}),
            "-march=native -fno-exceptions");
  EXPECT_EQ(dropped({"-Xcompiler", "-ffast-math,-fPIC,-DA"}), "-ffast-math, -fPIC");
}

TEST(NvccCommand, forwardsWhatNvccForwards) {
  EXPECT_EQ(ofNvcc({"-forward-unknown-to-host-compiler", "-fopenmp", "-fno-gnu-unique", "-march=native", "-DA"}),
            "-DA -fopenmp -march=native");
  EXPECT_EQ(dropped({"-forward-unknown-to-host-compiler", "-fno-gnu-unique"}), "-forward-unknown-to-host-compiler, -fno-gnu-unique");
  EXPECT_EQ(translate({"-fconcepts", "-DA=1,2", "-std=c++17"}, "/", FlagsOf::Gcc), "-DA=1,2 -std=c++17");
}

TEST(NvccCommand, splitsNvccsLists) {
  EXPECT_EQ(ofNvcc({"-Ia,b", "-I=c", "-DX=1,Y", "-D", "Z", "-isystem=s,t", "-include", "p.h,q.h"}),
            "-Ia -Ib -I c -DX=1 -DY -D Z -isystem s -isystem t -include p.h -include q.h");
  EXPECT_EQ(ofNvcc({"-DF(a\\,b)=a"}), "-DF(a,b)=a");
  EXPECT_EQ(translate({"-DX=1,2"}), "-DX=1,2");
}

TEST(NvccCommand, listsWhatItDrops) {
  EXPECT_EQ(dropped({"-lineinfo", "-Xptxas", "-v", "-maxrregcount=32", "-Wall", "-Werror", "reorder", "-O3", "-DA", "-arch=sm_90",
                     "-c", "a.cu", "-o", "a.o", "-G"}),
            "-lineinfo, -Xptxas -v, -maxrregcount=32, -Wall, -Werror reorder, -O3, -G");
}

TEST(NvccCommand, setsTheMacrosOfItsModes) {
  EXPECT_EQ(ofNvcc({"--expt-relaxed-constexpr", "--extended-lambda"}), "-D__CUDACC_RELAXED_CONSTEXPR__ -D__CUDACC_EXTENDED_LAMBDA__");
}

TEST(NvccCommand, knowsWholeNamesBeforeBeginnings) {
  EXPECT_EQ(ofNvcc({"-ldir", "x", "-lto", "-lineinfo", "-t0", "-t", "2", "-time", "t.csv", "-ftemplate-depth", "99", "-noeh", "-DA"}),
            "-ftemplate-depth=99 -fno-exceptions -DA");
}

TEST(NvccCommand, knowsCompilersByTheirNames) {
  EXPECT_EQ(compilerOf("/usr/local/cuda/bin/nvcc"), FlagsOf::Nvcc);
  EXPECT_EQ(compilerOf("clang++-22"), FlagsOf::Any);
  EXPECT_EQ(compilerOf("/usr/bin/g++"), FlagsOf::Gcc);
}

TEST(NvccCommand, readsOptionsFiles) {
  test::TemporaryFolder Folder;
  Folder.write("flags.rsp", "-DA \"-DB=two words\"\n-I inc");
  EXPECT_EQ(translate({"--options-file", "flags.rsp"}, Folder.path()), "-DA -DB=two words -I inc");
  EXPECT_EQ(translate({"-optf", "none.rsp"}, Folder.path()),
            "error: cannot read options file '" + Folder.path("none.rsp") + "': No such file or directory");
  Folder.write("more.rsp", "-DC");
  EXPECT_EQ(translate({"--options-file=flags.rsp,more.rsp", "@more.rsp"}, Folder.path()), "-DA -DB=two words -I inc -DC -DC");
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

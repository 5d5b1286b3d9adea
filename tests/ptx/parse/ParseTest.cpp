#include "tests/ptx/Inputs.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

using namespace restride::ptx;
using namespace restride::ptx::test;

namespace {

/// The one instruction that \p Text is.
Instruction one(const std::string &Text) {
  Module M = parsed(kernel(Text));
  if (M.Functions.size() != 1 || M.Functions[0].Body.size() != 1) {
    ADD_FAILURE() << Text << ": not one instruction";
    return {};
  }
  return M.Functions[0].Body[0];
}

struct OpcodeCase {
  const char *Text;
  Opcode Op;
  Type Ty;
  Type SrcTy;
  Space Mem;
  size_t Dests, Sources;
};

constexpr Type U8{Type::Unsigned, 8}, U32{Type::Unsigned, 32}, S32{Type::Signed, 32}, S64{Type::Signed, 64},
    U64{Type::Unsigned, 64}, B16{Type::Untyped, 16}, B32{Type::Untyped, 32}, B64{Type::Untyped, 64},
    F32{Type::Float, 32}, F64{Type::Float, 64}, Pred{Type::Pred, 1}, NoType{};

const OpcodeCase Opcodes[] = {
    {"add.s32 %r1, %r2, -1;", Opcode::Add, S32, S32, Space::None, 1, 2},
    {"add.rn.f32 %f1, %f2, 0f3F800000;", Opcode::FAdd, F32, F32, Space::None, 1, 2},
    {"mul.wide.s32 %rd1, %r1, 4;", Opcode::MulWide, S64, S32, Space::None, 1, 2},
    {"mad.wide.u32 %rd1, %r1, 4, %rd2;", Opcode::MadWide, U64, U32, Space::None, 1, 3},
    {"mul.hi.s32 %r1, %r2, 1431655766;", Opcode::MulHi, S32, S32, Space::None, 1, 2},
    {"mad.lo.s32 %r1, %r2, %r3, %r4;", Opcode::Mad, S32, S32, Space::None, 1, 3},
    {"fma.rn.f32 %f1, %f2, %f3, %f4;", Opcode::FFma, F32, F32, Space::None, 1, 3},
    {"setp.ge.s32 %p1, %r1, %r2;", Opcode::Setp, Pred, S32, Space::None, 1, 2},
    {"setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", Opcode::Setp, Pred, S32, Space::None, 2, 3},
    {"set.eq.u32.f32 %r1, %f1, %f2;", Opcode::Set, U32, F32, Space::None, 1, 2},
    {"selp.b32 %r1, %r2, %r3, %p1;", Opcode::Selp, B32, B32, Space::None, 1, 3},
    {"cvt.rn.f32.s32 %f1, %r1;", Opcode::Cvt, F32, S32, Space::None, 1, 1},
    {"cvta.to.global.u64 %rd1, %rd2;", Opcode::Cvta, U64, U64, Space::Global, 1, 1},
    {"popc.b64 %r1, %rd1;", Opcode::Popc, U32, B64, Space::None, 1, 1},
    {"lop3.b32 %r1, %r2, %r3, %r4, 0x96;", Opcode::Lop3, B32, B32, Space::None, 1, 4},
    {"mov.b64 {%r1, %r2}, %rd1;", Opcode::Mov, B64, B64, Space::None, 2, 1},
    {"mov.u32 %r1, %tid.x;", Opcode::Mov, U32, U32, Space::None, 1, 1},
    {"ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];", Opcode::Ld, F32, F32,
     Space::Global, 4, 0},
    {"ld.global.v2.b32 {_, %r2}, [%rd1];", Opcode::Ld, B32, B32, Space::Global, 2, 0},
    {"ld.u8 %rs1, [%rd1];", Opcode::Ld, U8, U8, Space::Generic, 1, 0},
    {"ld.param.u64 %rd1, [p];", Opcode::LdParam, U64, U64, Space::Param, 1, 0},
    {"st.param.b32 [n+0], %r1;", Opcode::StParam, B32, B32, Space::Param, 0, 1},
    {"st.shared::cta.v2.f32 [%r1+-8], {%f1, %f2};", Opcode::St, F32, F32, Space::Shared, 0, 2},
    {"atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", Opcode::Atom, B32, B32, Space::Global, 1, 2},
    {"red.relaxed.gpu.global.add.f32 [%rd1], %f1;", Opcode::Red, F32, F32, Space::Global, 0, 1},
    {"shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;", Opcode::Shfl, B32, B32, Space::None, 2, 4},
    {"vote.sync.ballot.b32 %r1, !%p1, -1;", Opcode::Vote, B32, B32, Space::None, 1, 2},
    {"bar.sync 0;", Opcode::Bar, NoType, NoType, Space::None, 0, 1},
    {"barrier.cluster.arrive.aligned;", Opcode::Bar, NoType, NoType, Space::None, 0, 0},
    {"cp.async.ca.shared.global [%r1], [%rd1], 16;",
     Opcode::CpAsync,
     {Type::Untyped, 128},
     {Type::Untyped, 128},
     Space::Global,
     1,
     1},
    {"prmt.b32 %r1, %r2, 0, 0x4440U;", Opcode::Prmt, B32, B32, Space::None, 1, 3},
    {"sqrt.rn.f64 %rd1, %rd2;", Opcode::FSqrt, F64, F64, Space::None, 1, 1},
    {"mov.b32 %r1, {%rs1, %rs2};", Opcode::Mov, B32, B32, Space::None, 1, 2},
    {"shr.u16 %rs1, %rs2, 3;", Opcode::Shr, {Type::Unsigned, 16}, {Type::Unsigned, 16}, Space::None, 1, 2},
    {"xor.b16 %rs1, %rs2, %rs3;", Opcode::Xor, B16, B16, Space::None, 1, 2},
    {"tcgen05.mma.kind::f16 [%r1], {%r2, %r3}, 7;", Opcode::Unknown, NoType, NoType, Space::None, 0, 3},
};

TEST(Parse, Opcodes) {
  for (const OpcodeCase &Case : Opcodes) {
    Instruction I = one(Case.Text);
    EXPECT_EQ(I.Op, Case.Op) << Case.Text;
    EXPECT_EQ(I.Ty, Case.Ty) << Case.Text;
    EXPECT_EQ(I.SrcTy, Case.SrcTy) << Case.Text;
    EXPECT_EQ(I.Mem, Case.Mem) << Case.Text;
    EXPECT_EQ(I.Dest.size(), Case.Dests) << Case.Text;
    EXPECT_EQ(I.Src.size(), Case.Sources) << Case.Text;
  }
}

TEST(Parse, AccessSizesAndOffsets) {
  Instruction Load = one("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+-16];");
  EXPECT_EQ(Load.accessBytes(), 16u);
  ASSERT_TRUE(Load.Addr);
  EXPECT_EQ(Load.Addr->Imm, -16);
  EXPECT_EQ(one("ld.param.u32 %r1, [p+24];").Addr->Name, "p");
  EXPECT_EQ(one("ld.param.u32 %r1, [p+24];").Addr->Imm, 24);
}

TEST(Parse, Immediates) {
  auto Immediate = [](const char *Text) { return one(std::string("mov.b64 %rd1, ") + Text + ";").Src.at(0); };
  EXPECT_EQ(Immediate("-1").Imm, -1);
  EXPECT_EQ(Immediate("0x10").Imm, 16);
  EXPECT_EQ(Immediate("18446744073709551615").Imm, -1);
  EXPECT_EQ(Immediate("0f3F800000").K, Operand::FloatImmediate);
  EXPECT_EQ(Immediate("0f3F800000").Imm, 0x3f800000);
  EXPECT_EQ(Immediate("0d4008000000000000").Imm, 0x4008000000000000);
  EXPECT_EQ(Immediate("WARP_SZ").Imm, 32);
}

TEST(Parse, InitialValues) {
  Module M = parsed(R"(.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b8 bytes[12] = {1, 0, 0, 0, 255, 255};
.const .align 4 .f32 real = 0f3FC00000;
.global .align 4 .u32 words[2] = {7, -1};
.global .align 8 .u64 pointer = generic(words);
.const .align 4 .u32 host;
.global .align 4 .u32 other;
.visible .entry k(.param .u64 p) {
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
mov.u64 %rd1, words;
ld.const.u32 %r1, [bytes];
ld.const.u32 %r2, [host];
ld.global.u32 %r3, [other];
ret;
})");
  auto initial = [&](llvm::StringRef Name) { return llvm::find_if(M.Variables, [&](const Variable &V) { return V.Name == Name; })->Initial; };
  EXPECT_EQ(initial("bytes"), (std::vector<uint8_t>{1, 0, 0, 0, 255, 255}));
  EXPECT_EQ(initial("real"), (std::vector<uint8_t>{0, 0, 0xc0, 0x3f}));
  EXPECT_EQ(initial("words"), (std::vector<uint8_t>{7, 0, 0, 0, 255, 255, 255, 255}));
  EXPECT_TRUE(initial("pointer").empty()) << "an address";
  EXPECT_TRUE(initial("host").empty());
  std::vector<std::string> Names;
  for (const Variable &V : M.Functions.at(0).Variables)
    Names.push_back(V.Name);
  EXPECT_EQ(Names, (std::vector<std::string>{"words", "bytes", "host"}));
}

TEST(Parse, GuardsAndNegation) {
  Instruction I = one("@!%p3 add.s32 %r1, %r2, %r3;");
  EXPECT_GE(I.Guard, 0);
  EXPECT_TRUE(I.GuardNegated);
  EXPECT_TRUE(one("setp.lt.and.s32 %p1, %r1, %r2, !%p3;").Src.at(2).Negated);
}

TEST(Parse, ModuleOfBothCompilers) {
  for (const char *Name : {"flow.clang.ptx", "flow.nvcc.ptx", "layouts.clang.ptx", "layouts.nvcc.ptx"}) {
    Module M = parsed(input(Name));
    EXPECT_EQ(M.Target, "sm_90") << Name;
    EXPECT_TRUE(M.Warnings.empty()) << Name << ": " << M.Warnings[0];
    EXPECT_GE(M.Functions.size(), 6u) << Name;
    ASSERT_GE(M.Files.size(), 2u) << Name;
    for (const Function &F : M.Functions)
      for (const Instruction &I : F.Body)
        EXPECT_NE(I.Op, Opcode::Unknown) << Name << ": " << I.Mnemonic;
  }
}

TEST(Parse, KernelHeader) {
  Module M = parsed(R"(.version 9.0
.target sm_90a, debug
.address_size 64
.extern .func  (.param .b32 func_retval0) vprintf(.param .b64 a, .param .b64 b);
.global .align 4 .b8 table[64] = {1, 0, 0, 0};
.const .align 8 .u64 pointers[2] = {generic(table), table+8};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(
	.param .u64 .ptr .global .align 16 k_param_0,
	.param .align 8 .b8 k_param_1[32]
)
.maxntid 16, 8, 2
.minnctapersm 3
.maxnreg 64
{
	.local .align 16 .b8 depot[80];
	.shared .align 4 .f32 tile[32][33];
	.reg .b64 %SP;
	.reg .b32 %r<10>;
	mov.u32 %r1, dynamic;
	ret;
}
)");
  EXPECT_EQ(M.Target, "sm_90a");
  ASSERT_EQ(M.Variables.size(), 3u);
  EXPECT_EQ(M.Variables[0].Bytes, 64u);
  EXPECT_EQ(M.Variables[1].Bytes, 16u);
  EXPECT_EQ(M.Variables[2].Bytes, 0u);
  const Function *K = M.find("k");
  ASSERT_TRUE(K);
  EXPECT_TRUE(K->IsEntry);
  EXPECT_EQ(K->MaxThreads, 256u);
  EXPECT_EQ(K->MinBlocks, 3u);
  EXPECT_EQ(K->MaxRegs, 64u);
  ASSERT_EQ(K->Params.size(), 2u);
  EXPECT_TRUE(K->Params[0].IsPointer);
  EXPECT_EQ(K->Params[0].Align, 8u);
  EXPECT_EQ(K->Params[1].Bytes, 32u);
  EXPECT_EQ(K->Params[1].Ty.bytes(), 1u);
  // Its own two, and the module's shared array that it mentions.
  ASSERT_EQ(K->Variables.size(), 3u);
  EXPECT_EQ(K->Variables[0].Mem, Space::Local);
  EXPECT_EQ(K->Variables[1].Bytes, 32u * 33 * 4);
  EXPECT_EQ(K->Variables[2].Name, "dynamic");
  EXPECT_EQ(M.find("vprintf"), nullptr);
}

TEST(Parse, LocationsAndInlining) {
  // nvcc spells call sites in .loc, Clang in the comment after it.
  for (const char *Name : {"flow.nvcc.ptx", "flow.clang.ptx"}) {
    Module M = parsed(input(Name));
    const Function *F = M.find("warp");
    ASSERT_TRUE(F);
    auto Shuffle = llvm::find_if(F->Body, [](const Instruction &I) { return I.Op == Opcode::Shfl; });
    ASSERT_NE(Shuffle, F->Body.end());
    ASSERT_EQ(Shuffle->InlinedAt.size(), 1u) << Name;
    EXPECT_EQ(M.Files[Shuffle->InlinedAt[0].File], "/src/flow.cu") << Name;
    EXPECT_EQ(Shuffle->InlinedAt[0].Line, 85u) << Name;
    EXPECT_NE(M.Files[Shuffle->Loc.File], "/src/flow.cu") << Name;
    auto Atomic = llvm::find_if(F->Body, [](const Instruction &I) { return I.Op == Opcode::Atom; });
    ASSERT_NE(Atomic, F->Body.end());
    EXPECT_EQ(M.Files[Atomic->InlinedAt.back().File], "/src/flow.cu") << Name;
    EXPECT_EQ(Atomic->InlinedAt.back().Line, 89u) << Name;
  }
}

TEST(Parse, InlinedAtChainOfNvcc) {
  Module M = parsed(kernel(R"(.loc 1 50 3
.loc 2 20 5, function_name $L__info_string0, inlined_at 1 50 3
.loc 3 7 9, function_name $L__info_string1+8, inlined_at 2 20 5
add.s32 %r1, %r2, %r3;
.loc 1 51 3
add.s32 %r1, %r2, %r3;)"));
  const std::vector<Instruction> &Body = M.Functions.at(0).Body;
  ASSERT_EQ(Body[0].InlinedAt.size(), 2u);
  EXPECT_EQ(Body[0].Loc.Line, 7u);
  EXPECT_EQ(Body[0].InlinedAt[0].Line, 20u);
  EXPECT_EQ(Body[0].InlinedAt[1].Line, 50u);
  EXPECT_TRUE(Body[1].InlinedAt.empty());
}

TEST(Parse, CallsOnOneLineAndOnMany) {
  for (const char *Call :
       {"call.uni (retval0), f, (param0, param1);", "call.uni (retval0), \n f, \n (\n param0, \n param1\n );"}) {
    Instruction I = one(Call);
    EXPECT_EQ(I.Op, Opcode::Call);
    EXPECT_EQ(I.Target, "f");
    EXPECT_EQ(I.Dest.size(), 1u);
    EXPECT_EQ(I.Src.size(), 2u);
  }
  EXPECT_EQ(one("call.uni f;").Target, "f");
  EXPECT_EQ(one("call (retval0), %rd1, (param0), prototype_0;").Target, "");
}

TEST(Parse, ScopesOfInlineAssembly) {
  // The same block twice: its register and label are each block's own.
  const std::string Block =
      "{ .reg .pred p; .reg .b32 t;\nLOOP: setp.eq.s32 p, %r1, 0;\n@p bra LOOP;\nmov.u32 t, 1; }\n";
  Module M = parsed(kernel(Block + Block + "ret;"));
  const Function &F = M.Functions.at(0);
  ASSERT_EQ(F.Labels.size(), 2u);
  EXPECT_NE(F.Labels[0].first, F.Labels[1].first);
  EXPECT_EQ(*F.label(F.Body[1].Target), 0u);
  EXPECT_EQ(*F.label(F.Body[4].Target), 3u);
  EXPECT_NE(F.Body[1].Guard, F.Body[4].Guard);
}

TEST(Parse, BranchTable) {
  Module M = parsed(input("flow.clang.ptx"));
  const Function *F = M.find("choose");
  ASSERT_TRUE(F);
  auto Branch = llvm::find_if(F->Body, [](const Instruction &I) { return I.Op == Opcode::BrxIdx; });
  ASSERT_NE(Branch, F->Body.end());
  EXPECT_EQ(Branch->Targets.size(), 6u);
  for (const std::string &Target : Branch->Targets)
    EXPECT_TRUE(F->label(Target)) << Target;
}

TEST(Parse, FileNames) {
  Module M = parsed(R"PTX(.version 8.0
.target sm_90
.address_size 64
.file 1 "a \"b\" \\ \303\244.cu"
)PTX");
  ASSERT_EQ(M.Files.size(), 2u);
  EXPECT_EQ(M.Files[1], "a \"b\" \\ \303\244.cu");
}

TEST(Parse, UnknownInstructionsAreCounted) {
  Module M = parsed(kernel("frob.u32 %r1, %r2;\nfrob.u32 %r1, [%rd1];\nweird {{%r1}} <nothing> (usual);\nret;"));
  ASSERT_EQ(M.Warnings.size(), 2u);
  EXPECT_EQ(M.Warnings[0], "2 instructions not understood: frob.u32");
  EXPECT_EQ(M.Warnings[1], "1 instruction not understood: weird");
  EXPECT_EQ(M.Functions.at(0).Body.size(), 4u);
}

TEST(Parse, DebugSectionsAreSkipped) {
  Module M = parsed(kernel("ret;") + R"(
	.file	1 "/src/a.cu", 1234, 56
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
.b32 $L__func_end0-$L__func_begin0
	}
	.section	.debug_macinfo	{	}
)");
  EXPECT_EQ(M.Functions.size(), 1u);
  EXPECT_EQ(M.Files.at(1), "/src/a.cu");
}

struct ErrorCase {
  std::string Text;
  const char *Message;
};

TEST(Parse, Errors) {
  const ErrorCase Cases[] = {
      {"int main() {}", "line 1: directive expected, found 'int'"},
      {kernel("bra $L__nowhere;"), "line 11: branch to the missing label '$L__nowhere'"},
      {kernel("brx.idx %r1, table;"), "line 11: branch through the missing table 'table'"},
      {".visible .entry k()\n{\nret;\n", "line 4: '}' missing at the end of k"},
      {".visible .entry k(.param .u64 p", "line 1: ')' expected, found ''"},
      {kernel("add.s32 %r1, %r2"), "line 12: ';' expected, found '}'"},
      {kernel("ld.global.f32 %f1, [%rd1+;"), "line 11: offset expected, found ';'"},
      {kernel("@%nothing bra X;"), "line 11: predicate register expected, found '%nothing'"},
      {".global .align x .b8 a[4];", "line 1: number expected, found 'x'"},
      {".section .debug {", "line 1: unbalanced braces in a .section"},
      {".nonsense", "line 1: unknown directive '.nonsense'"},
      {".file 1 \"unterminated", "line 1: file name expected, found ''"},
  };
  for (const ErrorCase &Case : Cases) {
    llvm::Expected<Module> M = parse(Case.Text);
    ASSERT_FALSE(bool(M)) << Case.Text;
    EXPECT_EQ(llvm::toString(M.takeError()), Case.Message);
  }
}

/// Either outcome is fine; what matters is that there is one.
void survives(llvm::StringRef Text) {
  llvm::Expected<Module> M = parse(Text);
  if (!M)
    llvm::consumeError(M.takeError());
}

TEST(Parse, SurvivesTruncation) {
  const std::string Text = input("flow.nvcc.ptx");
  for (size_t Length = 0; Length < Text.size(); Length += 37)
    survives(llvm::StringRef(Text).take_front(Length));
}

TEST(Parse, SurvivesNoise) {
  std::mt19937 Random(1);
  const std::string Good = input("flow.clang.ptx");
  for (unsigned Round = 0; Round < 200; ++Round) {
    std::string Noise(300, ' ');
    for (char &C : Noise)
      C = char(Random());
    survives(Noise);
    std::string Damaged = Good;
    for (unsigned Hit = 0; Hit < 5; ++Hit)
      Damaged[Random() % Damaged.size()] = "{}[]();:,.@%!0x\"\n/ab"[Random() % 20];
    survives(Damaged);
  }
}

TEST(Parse, SurvivesExtremes) {
  survives(kernel("// " + std::string(1 << 20, 'x') + "\nret;"));
  survives(kernel(std::string(1 << 20, 'a')));
  survives(kernel(std::string(100000, '{')));
  survives(std::string(100000, '{'));
  survives(".global .b8 a[18446744073709551615][18446744073709551615];");
  survives(".visible .entry k() { .reg .b32 %r<99999999999>; mov.u32 %r99999999, 1; ret; }");
  survives(".file 4294967295 \"x\"");
  survives("/*");
  EXPECT_EQ(parsed(kernel("mov.u32 %r1, 1; /* " + std::string(1 << 20, '*') + " */ ret;")).Functions.at(0).Body.size(),
            2u);
}

TEST(Parse, DumpIsComplete) {
  Module M =
      parsed(kernel("setp.lt.s32 %p1, %r1, -3;\n@!%p1 bra END;\nst.global.v2.f32 [%rd1+4], {%f1, %f2};\nEND:\nret;"));
  EXPECT_EQ(dump(M), R"(target sm_90
entry k(p:8, n:4)
  0: setp.lt.s32 %p1 <- %r1, -3
  1: @!%p1 bra -> END
  2: st.global.v2.f32 [%rd1+4] %f1, %f2
END:
  3: ret
)");
}

} // namespace

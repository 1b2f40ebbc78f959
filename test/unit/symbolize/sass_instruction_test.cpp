// Tests which registers instructions read and write, as nvdisasm prints them for sm_70 to sm_100.
#include "symbolize/gpu/sass_instruction.h"

#include <string>
#include <vector>

#include "catch.h"

using namespace gpuprof::symbolize;

namespace {

// Formats a set as "R4 R5 P0".
std::string names_of(const SassRegisterSet& set) {
  std::string names;
  const auto add = [&](const char* file, size_t number) {
    names += (names.empty() ? "" : " ") + std::string(file) + std::to_string(number);
  };
  for (size_t i = 0; i < 255; ++i) {
    if (set.test(sass_register(i))) {
      add("R", i);
    }
  }
  for (size_t i = 0; i < 255; ++i) {
    if (set.test(sass_uniform(i))) {
      add("UR", i);
    }
  }
  for (size_t i = 0; i < 7; ++i) {
    if (set.test(sass_predicate(i))) {
      add("P", i);
    }
  }
  for (size_t i = 0; i < 7; ++i) {
    if (set.test(sass_uniform_predicate(i))) {
      add("UP", i);
    }
  }
  return names + (set.test(kSassCopies) ? "copies" : "");
}

struct Expected {
  const char* text;
  const char* writes;
  const char* reads;
};

void check(const std::vector<Expected>& all, SassKind kind) {
  for (const Expected& each : all) {
    INFO(each.text);
    const SassInstruction found = parse_sass(each.text);
    CHECK(found.understood);
    CHECK(found.kind == kind);
    CHECK(names_of(found.writes) == each.writes);
    CHECK(names_of(found.reads) == each.reads);
    CHECK(found.may_write.none());
  }
}

}  // namespace

TEST_CASE("arithmetic writes its first register and the predicates after it") {
  check({{"MOV R1, c[0x0][0x28]", "R1", ""},
         {"FADD R0, -R0.reuse, |R3|", "R0", "R0 R3"},
         {"FFMA.FTZ R8, R4, R5, R8", "R8", "R4 R5 R8"},
         {"IADD3 R4, P0, P1, R2, R3, RZ", "R4 P0 P1", "R2 R3"},
         {"IADD3.X R5, R7, R6, RZ, P0, !PT", "R5", "R6 R7 P0"},
         {"LEA R4, P0, R2, c[0x0][0x168], 0x2", "R4 P0", "R2"},
         {"LEA.HI.X R5, R2, UR5, R3, 0x2, P0", "R5", "R2 R3 UR5 P0"},
         {"LOP3.LUT P0, RZ, R0, 0x1f, RZ, 0xc0, !PT", "P0", "R0"},
         {"SEL R0, R1, R2, !P3", "R0", "R1 R2 P3"},
         {"IMAD.WIDE.U32 R2, R0, R3, c[0x0][0x160]", "R2 R3", "R0 R3"},
         {"IMAD.WIDE R2, R0, 0x4, R6", "R2 R3", "R0 R6 R7"},
         {"IMAD.WIDE.U32 R2, P0, R4, R5, R6", "R2 R3 P0", "R4 R5 R6 R7"},
         {"IADD3.X R94, PT, PT, RZ, R7, RZ, P0, P6", "R94", "R7 P0 P6"},
         {"UIMAD.WIDE UR4, UR6, 0x4, UR8", "UR4 UR5", "UR6 UR8 UR9"},
         {"SHF.R.U64 R0, R2, 0x3, R5", "R0", "R2 R5"},
         {"DFMA R2, R4, -R6, R8", "R2 R3", "R4 R5 R6 R7 R8 R9"},
         {"HADD2.F32 R3, -RZ, R2.H0_H0", "R3", "R2"},
         {"VOTE.ANY R4, PT, P0", "R4", "P0"},
         {"VOTE.ALL P0, !P1", "P0", "P1"},
         {"VOTEU.ANY UP2, P3", "UP2", "P3"},
         {"R2UR P1, UR12, R11", "UR12 P1", "R11"},
         {"HFMA2 R0, R8.H0_H0, c[0x0] [0x168].H0_H0, -R5.H0_H0", "R0", "R5 R8"},
         {"BMOV.32.CLEAR R16, B6", "R16", ""},
         {"BMOV.32 B6, R16", "", "R16"},
         {"P2R R0, PR, RZ, 0x7f", "R0", "P0 P1 P2 P3 P4 P5 P6"},
         {"R2UR UR4, R2", "UR4", "R2"},
         {"@!P2 MOV R3, R4", "R3", "R4 P2"},
         {"ISETP.GE.AND P0, PT, R0, UR4, PT", "P0", "R0 UR4"},
         {"ISETP.GE.U32.AND.EX P1, P2, R1, R2, !P0, P3", "P1 P2", "R1 R2 P0 P3"},
         {"DSETP.GT.AND P0, PT, R2, R4, PT", "P0", "R2 R3 R4 R5"},
         {"PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0", "P0", "P1 P2"}},
        SassKind::arithmetic);
  CHECK(parse_sass("@!P2 MOV R3, R4").guarded);
  CHECK_FALSE(parse_sass("@PT MOV R3, R4").guarded);
}

TEST_CASE("loads have the width of their suffix and of their address") {
  check({{"LDG.E R0, [R2.64]", "R0", "R2 R3"},
         {"LDG.E.128.CONSTANT R4, desc[UR6][R2.64+0x10]", "R4 R5 R6 R7", "R2 R3 UR6"},
         {"LDG.E.64 R254, [R2.U32+UR4]", "R254", "R2 UR4"},
         {"@P0 LDG.E.U8 R9, [R2.64+-0x1]", "R9", "R2 R3 P0"},
         {"LDG.E.ENL2.256 R12, R8, desc[UR4][R2.64]", "R8 R9 R10 R11 R12 R13 R14 R15", "R2 R3 UR4"}},
        SassKind::load);
  check({{"LDL.64 R2, [R1+0x8]", "R2 R3", "R1"}}, SassKind::local_load);
  check({{"LDS.U.128 R4, [R0.X4+UR4]", "R4 R5 R6 R7", "R0 UR4"},
         {"LDSM.16.MT88.4 R8, [R3+0x20]", "R8 R9 R10 R11", "R3"},
         {"LDSM.16.M88 R8, [R3]", "R8", "R3"}},
        SassKind::shared_load);
  check({{"ULDC.64 UR4, c[0x0][0x118]", "UR4 UR5", ""}, {"LDC R0, c[0x3][R4]", "R0", "R4"}}, SassKind::constant_load);
}

TEST_CASE("registers of atomics, special functions and tensor cores are parsed") {
  check({{"ATOMG.E.ADD.STRONG.GPU PT, R4, [R2.64], R5", "R4", "R2 R3 R5"},
         {"ATOMG.E.CAS.64.STRONG.GPU P1, R4, [R2], R6, R8", "R4 R5 P1", "R2 R6 R7 R8 R9"}},
        SassKind::atomic);
  check({{"ATOMS.ADD R4, [R2], R5", "R4", "R2 R5"}}, SassKind::shared_atomic);
  check({{"MUFU.EX2 R5, R0", "R5", "R0"},
         {"F2F.F64.F32 R2, R0", "R2 R3", "R0"},
         {"F2F.F32.F64 R0, R2", "R0", "R2 R3"},
         {"I2F.F64 R2, R0", "R2 R3", "R0"},
         {"I2F.U64.RP R0, R2", "R0", "R2 R3"},
         {"F2I.S64.F64.TRUNC R2, R4", "R2 R3", "R4 R5"}},
        SassKind::special_function);
  check({{"SHFL.BFLY PT, R5, R4, 0x10, 0x1f", "R5", "R4"}, {"SHFL.IDX P1, R5, R4, R6, R7", "R5 P1", "R4 R6 R7"}},
        SassKind::shuffle);
  check({{"S2R R0, SR_TID.X", "R0", ""}, {"CS2R R2, SRZ", "R2 R3", ""}, {"CS2R.32 R2, SR_CLOCKLO", "R2", ""}},
        SassKind::special_register);
  check({{"HMMA.16816.F32 R4, R8, R12, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13"},
         {"HMMA.1688.F16 R4, R8, R12, RZ", "R4 R5", "R8 R9 R12"},
         {"IMMA.16832.S4.U4 R24, R22.ROW, R58.reuse.COL, R8", "R24 R25 R26 R27", "R8 R9 R10 R11 R22 R23 R58"},
         {"HMMA.1688.F32.TF32 R4, R36.reuse, R2, RZ", "R4 R5 R6 R7", "R2 R3 R36 R37 R38 R39"},
         {"DMMA.884 R16, R64, |R40|, R16", "R16 R17 R18 R19", "R16 R17 R18 R19 R40 R41 R64 R65"},
         {"IMMA.16816.S8.S8.SAT R4, R8.ROW, R10.COL, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R8 R9 R10"}},
        SassKind::tensor);
}

TEST_CASE("stores, barriers and waits write no register") {
  check({{"STG.E.128 desc[UR4][R2.64], R8", "", "R2 R3 R8 R9 R10 R11 UR4"},
         {"STS [R0+0x4], R3", "", "R0 R3"},
         {"RED.E.ADD.F64.RN.STRONG.GPU [R2.64], R6", "", "R2 R3 R6 R7"},
         {"BAR.SYNC.DEFER_BLOCKING 0x0", "", ""},
         {"DEPBAR.LE SB0, 0x1", "", ""},
         {"DEPBAR.LE SB0, 0x0, 2,1", "", ""},
         {"DEPBAR.LE SB0, 0x0", "", "copies"},
         {"@P0 BRA P1, `(.L_x_R4)", "", "P0 P1"}},
        SassKind::none);
  check({{"LDGSTS.E.BYPASS.128 [R5], [R2.64], P0", "copies", "R2 R3 R5 P0"}}, SassKind::async_copy);
}

TEST_CASE("control flow is parsed with its condition") {
  const auto flow = [](const char* text) {
    const SassInstruction found = parse_sass(text);
    return std::pair(found.flow, found.conditional);
  };
  CHECK(flow("BRA `(.L_x_0)") == std::pair(SassFlow::branch, false));
  CHECK(flow("@P0 BRA `(.L_x_0)") == std::pair(SassFlow::branch, true));
  CHECK(flow("BRA.U !UP0, `(.L_x_0)") == std::pair(SassFlow::branch, true));
  CHECK(flow("BRA.DIV UR4, `(.L_x_0)") == std::pair(SassFlow::branch, true));
  CHECK(flow("EXIT") == std::pair(SassFlow::end, false));
  CHECK(flow("@!PT EXIT").second);
  CHECK(flow("RET.REL.NODEC R2 `(kernel)").first == SassFlow::ret);
  CHECK(flow("BRX R2 -0x50").first == SassFlow::indirect);
  CHECK(flow("CALL.REL.NOINC `($kernel$__internal_0)").first == SassFlow::call);
  CHECK(flow("BSSY B3, `(.L_x_1)").first == SassFlow::barrier);
  CHECK(parse_sass("BSSY.RECONVERGENT B3, `(.L_x_1)").barrier == 3);
  CHECK(parse_sass("BSYNC B3").barrier == 3);
}

TEST_CASE("unknown instructions may write the registers that they name, and the following ones") {
  const SassInstruction found = parse_sass("UNHEARD.OF R4, [R8], P0");
  CHECK_FALSE(found.understood);
  CHECK(found.kind == SassKind::unknown);
  CHECK(found.reads.none());
  CHECK(found.writes.none());
  CHECK(found.may_write.test(sass_register(4)));
  CHECK(found.may_write.test(sass_register(11)));
  CHECK(found.may_write.test(sass_predicate(0)));
  CHECK_FALSE(parse_sass("MOV R255, R256").understood);
  // An unknown shape, a warp group and a texture instruction may write more registers than the instruction names.
  CHECK(parse_sass("HMMA.987 R4, R8, R12, R4").may_write.test(sass_register(5)));
  CHECK(parse_sass("HGMMA.64x128x16.F32 R24, gdesc[UR8], R24").may_write.test(sass_register(87)));
  CHECK(parse_sass("TEX.SCR.LL R4, R6, R2, R3, 0x0, 2D").may_write.test(sass_register(5)));
}

TEST_CASE("any text is parsed without a crash") {
  const std::string all = "@!UP0 IMAD.WIDE.U32 R2, P0, c[0x0][UR4], desc[UR4][R2.64+-0x10], `(.L,[x)), PR, -|R3|.H0_H0";
  for (size_t begin = 0; begin < all.size(); ++begin) {
    for (size_t length = 0; begin + length <= all.size(); ++length) {
      parse_sass(std::string_view(all).substr(begin, length));
    }
  }
  for (const char* text : {"", "@", "@ ", ".", "..", "MOV .", "MOV ,,,,", "MOV R99999999999999999999, R1", "MOV [[[[[[",
                           "MOV R", "MOV UP7, UP6", "MOV R1.", "MOV R1..64", "\x80\xff"}) {
    parse_sass(text);
  }
  std::string many = "MOV R1";
  for (int i = 0; i < 1000; ++i) {
    many += ", R2";
  }
  CHECK_FALSE(parse_sass(many).understood);
}

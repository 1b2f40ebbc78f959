// Tests which earlier instructions a stalled instruction may wait for.
#include "symbolize/gpu/sass_slice.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "symbolize/gpu/cubin_lines.h"

using namespace gpuprof::symbolize;

namespace {

// Parses lines in the form of nvdisasm: one instruction or label a line.
std::vector<GpuInstruction> code(const std::vector<std::string>& lines) {
  std::string text = "\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n";
  uint64_t offset = 0;
  for (const std::string& line : lines) {
    if (line.ends_with(':')) {
      text += line + "\n";
      continue;
    }
    char place[32];
    std::snprintf(place, sizeof place, "        /*%04llx*/ ", static_cast<unsigned long long>(offset));
    text += place + line + " ;\n";
    offset += 16;
  }
  CubinFunction function;
  function.name = "k";
  function.size = offset;
  return parse_disassembly(text, function);
}

// Formats producers as "load@0 load@20", with a "?" if the list may be incomplete.
std::string waits(const std::vector<GpuInstruction>& all, uint64_t offset, const char* reason = "long_scoreboard") {
  const SassWaits found = SassSlice(all).waits_for(offset, reason);
  std::string text;
  for (const SassProducer& each : found.producers) {
    char place[32];
    std::snprintf(place, sizeof place, "@%llx", static_cast<unsigned long long>(each.offset));
    text += (text.empty() ? "" : " ") + std::string(sass_kind_word(each.kind)) + place;
  }
  return text + (found.complete ? "" : "?");
}

std::string read_listing(const std::string& file) {
  std::ifstream stream(std::string(GPUPROF_TEST_DATA) + "/cubin/" + file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  REQUIRE_FALSE(text.empty());
  return text;
}

}  // namespace

TEST_CASE("each stall of a real kernel waits for producers that match its reason") {
  CubinFunction function;
  function.name = "softmax_kernel";
  function.size = 0x180;
  const auto all = parse_disassembly(read_listing("python.sm_80.sass"), function);
  REQUIRE(all.size() == 24);
  CHECK(all[10].target == 0xa0);
  CHECK(waits(all, 0x50) == "load@40");
  CHECK(waits(all, 0x50, "long_scoreboard_not_issued") == "load@40");
  CHECK(waits(all, 0x60, "wait") == "arithmetic@50");
  CHECK(waits(all, 0x80, "short_scoreboard") == "special function@70");
  // This load's address comes from moves. A short_scoreboard stall never waits for a move.
  CHECK(waits(all, 0x40, "short_scoreboard") == "");
  // An instruction does not wait for registers that it does not read, nor for producers of another kind.
  CHECK(waits(all, 0x60) == "");
  CHECK(waits(all, 0x50, "barrier") == "");
  CHECK(waits(all, 0x50, "") == "");
  CHECK(waits(all, 0x55) == "");
}

TEST_CASE("an instruction waits for a wide load through each of its registers") {
  const auto all = code({"LDG.E.128 R4, [R2.64]", "FADD R0, R7, R7", "FADD R0, R8, R8", "EXIT"});
  CHECK(waits(all, 0x10) == "load@0");
  CHECK(waits(all, 0x20) == "");
}

TEST_CASE("an instruction does not wait for values that were overwritten") {
  CHECK(waits(code({"LDG.E R4, [R2.64]", "MOV R4, R9", "FADD R0, R4, R4", "EXIT"}), 0x20) == "");
  CHECK(waits(code({"LDG.E R4, [R2.64]", "@P0 MOV R4, R9", "FADD R0, R4, R4", "EXIT"}), 0x20) == "load@0");
  CHECK(waits(code({"@P0 LDG.E R4, [R2.64]", "@!P0 LDG.E R4, [R8.64]", "FADD R0, R4, R4", "EXIT"}), 0x20) ==
        "load@10 load@0");
}

TEST_CASE("producers on all paths are found, the nearest first") {
  const auto all = code({"LDG.E R4, [R2.64]", "@P0 BRA `(.L_x_1)", "LDG.E R4, [R6.64]", "MOV R9, R8", "MOV R9, R8",
                         ".L_x_1:", "FADD R0, R4, R4", "EXIT"});
  CHECK(waits(all, 0x50) == "load@0 load@20");
  // In a loop, the producer comes after the stalled instruction.
  const auto list =
      code({".L_x_0:", "ISETP.NE.AND P0, PT, R4, RZ, PT", "@P0 LDG.E R4, [R4.64]", "@P0 BRA `(.L_x_0)", "EXIT"});
  CHECK(waits(list, 0x0) == "load@10");
  CHECK(waits(list, 0x10) == "load@10");
}

TEST_CASE("control continues after BSYNC at the target of BSSY") {
  const auto all = code({"BSSY B0, `(.L_x_2)", "@P0 BRA `(.L_x_1)", "LDG.E R4, [R2.64]", ".L_x_1:", "BSYNC B0",
                         ".L_x_2:", "FADD R0, R4, R4", "EXIT"});
  CHECK(waits(all, 0x40) == "load@20");
  const auto far = code({"BSSY B0, `(.L_x_2)", "LDG.E R4, [R2.64]", "BSYNC B0", "MOV R4, R5", "EXIT",
                         ".L_x_2:", "FADD R0, R4, R4", "EXIT"});
  CHECK(waits(far, 0x50) == "load@10");
}

TEST_CASE("if the flow or an instruction is unknown, the result is marked as incomplete") {
  CHECK(waits(code({"LDG.E R4, [R2.64]", "CALL.REL.NOINC `(f)", "FADD R0, R4, R4", "EXIT"}), 0x20) == "?");
  CHECK(waits(code({"LDG.E R4, [R2.64]", "UNHEARD.OF R4, R9", "FADD R0, R4, R4", "EXIT"}), 0x20) == "?");
  CHECK(waits(code({"LDG.E R4, [R2.64]", "UNHEARD.OF R10, R9", "FADD R0, R4, R4", "EXIT"}), 0x20) == "load@0");
  CHECK(waits(code({"LDG.E R4, [R2.64]", "UNHEARD.OF R4, R9"}), 0x10) == "?");
  CHECK(waits(code({"LDG.E R4, [R2.64]", "TEX.SCR.LL R2, R3, R8, 0x0, 2D", "FADD R0, R4, R4", "EXIT"}), 0x20) == "?");
  // The list may be incomplete if an indirect branch, or the return of a called function, may lead to the instruction.
  CHECK(waits(code({"BRX R8 -0x10", "LDG.E R4, [R2.64]", "FADD R0, R4, R4", "EXIT"}), 0x20) == "load@10");
  CHECK(waits(code({"LDG.E R4, [R2.64]", "BRX R8 -0x10", "FADD R0, R4, R4", "EXIT"}), 0x20) == "?");
  CHECK(waits(code({"FADD R0, R4, R4", "RET.REL.NODEC R2 `(f)"}), 0x0) == "?");
  CHECK(waits(code({"FADD R0, R4, R4", "EXIT"}), 0x0) == "");
  // If the listing lacks an instruction, the list may be incomplete.
  auto gap = code({"LDG.E R4, [R2.64]", "MOV R4, R5", "FADD R0, R4, R4", "EXIT"});
  gap.erase(gap.begin() + 1);
  CHECK(waits(gap, 0x20) == "?");
}

TEST_CASE("waiting for all asynchronous copies means waiting for the last of them") {
  const auto all = code({"LDGSTS.E.128 [R5], [R2.64]", "LDGSTS.E.128 [R5+0x10], [R2.64+0x10]", "LDGDEPBAR",
                         "DEPBAR.LE SB0, 0x0", "DEPBAR.LE SB0, 0x1", "EXIT"});
  CHECK(waits(all, 0x30) == "asynchronous copy@10");
  CHECK(waits(all, 0x40) == "");
}

TEST_CASE("arithmetic results are not waited for beyond the longest latency") {
  std::vector<std::string> lines = {"FADD R4, R5, R6"};
  lines.insert(lines.end(), 15, "NOP");
  lines.push_back("FMUL R0, R4, R4");
  lines.push_back("EXIT");
  CHECK(waits(code(lines), 0x100, "wait") == "arithmetic@0");
  lines.insert(lines.begin() + 1, "NOP");
  CHECK(waits(code(lines), 0x110, "wait") == "");
}

TEST_CASE("any code is analyzed in limited time") {
  std::mt19937 random(3);
  const std::vector<std::string> words = {"LDG.E.64 R4, [R2.64]",
                                          "@P0 MOV R5, R4",
                                          "BRA `(.L_0)",
                                          "@P1 BRA `(.L_1)",
                                          "BSSY B0, `(.L_2)",
                                          "BSYNC B0",
                                          "IADD3 R2, R4, R5, RZ",
                                          "CALL.REL.NOINC `(.L_3)",
                                          "EXIT",
                                          "BRX R2",
                                          "?",
                                          "HMMA.16816.F32 R4, R8, R12, R4"};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> lines;
    for (int i = 0; i < 40; ++i) {
      if (random() % 5 == 0) {
        lines.push_back(".L_" + std::to_string(random() % 4) + ":");
      }
      lines.push_back(words[random() % words.size()]);
    }
    const auto all = code(lines);
    const SassSlice slice(all);
    for (const GpuInstruction& each : all) {
      for (const char* reason : {"long_scoreboard", "wait"}) {
        for (const SassProducer& found : slice.waits_for(each.offset, reason).producers) {
          CHECK(found.offset % 16 == 0);
        }
      }
    }
  }
  // 20000 instructions exceed the limit. Half are BSSYs, half are branches to the reconvergence points.
  std::vector<GpuInstruction> many;
  for (uint64_t i = 0; i < 20000; ++i) {
    many.push_back({.offset = 16 * i, .text = i % 2 == 0 ? "BSSY B0, `(x)" : "@P0 BSYNC B0", .target = 16 * (i / 3)});
  }
  CHECK(SassSlice(many).waits_for(16 * 9999, "wait").producers.empty());
  many.assign(SassSlice::kMostInstructions + 1, {.offset = 0, .text = "NOP", .target = {}});
  CHECK(SassSlice(many).waits_for(0, "wait").producers.empty());
  CHECK(SassSlice({}).waits_for(0, "wait").producers.empty());
}

TEST_CASE("instructions printed by the installed nvdisasm are understood") {
  const char* path = std::getenv("PATH");
  const auto disassembler = Disassembler::find(std::string(path != nullptr ? path : "") + ":/usr/local/cuda/bin");
  if (!disassembler) {
    WARN("skipped: no nvdisasm");
    return;
  }
  for (const char* file : {"inlined.sm_80.cubin", "inlined.sm_90.cubin", "inlined.sm_100.cubin"}) {
    const std::string cubin = read_listing(file);
    const auto bytes = std::as_bytes(std::span(cubin));
    const auto lines = CubinLines::open(bytes);
    REQUIRE(lines);
    for (const CubinFunction& each : lines->functions()) {
      for (const GpuInstruction& instruction : disassembler->run(code_file(bytes).get(), each, {})) {
        INFO(file << " " << each.name << ": " << instruction.text);
        CHECK(parse_sass(instruction.text).understood);
        CHECK((instruction.text.find("`(.L_") == std::string::npos || instruction.target.has_value()));
      }
    }
  }
}

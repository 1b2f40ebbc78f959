#include "symbolize/gpu/xe_disassembler.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"
#include "catch.h"

namespace gpuprof::symbolize::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

// Compiles two kernels with ocloc. Returns nothing if ocloc is missing or does not know the GPU.
std::vector<std::byte> compiled(const std::string& device) {
  std::string folder = (fs::temp_directory_path() / "gpuprof-zebin-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  std::ofstream(folder + "/k.cl") << "kernel void scale(global float* x, float a) { x[get_global_id(0)] *= a; }\n"
                                     "kernel void sum(global int* out, global const int* in, int n) {\n"
                                     "  int s = 0;\n"
                                     "  for (int i = 0; i < n; ++i) { s += in[s & 1023] ^ i; }\n"
                                     "  out[get_global_id(0)] = s;\n"
                                     "}\n";
  const std::string command = "cd " + folder + " && ocloc compile -device " + device +
                              " -file k.cl --format zebin -output k -output_no_suffix -q >/dev/null 2>&1";
  std::vector<std::byte> bytes;
  if (std::system(command.c_str()) == 0) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".bin" || entry.path().filename() == "k") {
        bytes = read_file(entry.path());
      }
    }
  }
  fs::remove_all(folder);
  return bytes;
}

UniqueFd file_of(std::span<const std::byte> bytes) {
  UniqueFd file(::memfd_create("code", 0));
  REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return file;
}

std::vector<GpuInstruction> instructions_of(std::span<const std::byte> code, GpuPlatform platform) {
  const UniqueFd source = file_of(code);
  const UniqueFd output(::memfd_create("text", 0));
  REQUIRE(disassemble_xe(
      platform, [] { return true; }, source.get(), output.get()));
  std::string text(static_cast<size_t>(::lseek(output.get(), 0, SEEK_END)), '\0');
  REQUIRE(::pread(output.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return parse_xe_disassembly(text);
}

bool any(const std::vector<GpuInstruction>& instructions, std::string_view word) {
  return std::any_of(instructions.begin(), instructions.end(),
                     [word](const auto& one) { return one.text.find(word) != std::string::npos; });
}

}  // namespace

TEST_CASE("disassembled instructions are contiguous and match the source") {
  if (find_xe_assembler().empty()) {
    WARN("skipped: no libiga64 here (package libigc1)");
    return;
  }
  size_t tried = 0;
  for (const auto& [device, platform] :
       {std::pair{"pvc", GpuPlatform::xe_hpc}, std::pair{"dg2", GpuPlatform::xe_hpg}}) {
    INFO(device);
    const std::vector<std::byte> bytes = compiled(device);
    ReadingBudget budget({}, {});
    const auto zebin = bytes.empty() ? nullptr : Zebin::parse(bytes, budget);
    if (bytes.empty()) {
      continue;
    }
    ++tried;
    REQUIRE(zebin != nullptr);
    CHECK(zebin->platform() == platform);
    for (const char* name : {"scale", "sum"}) {
      INFO(name);
      const Zebin::Kernel* const kernel = zebin->find(name);
      REQUIRE(kernel != nullptr);
      const auto code = std::span(bytes).subspan(kernel->offset, kernel->bytes);
      const auto instructions = instructions_of(code, platform);
      REQUIRE(instructions.size() > 8);
      CHECK(instructions.front().offset == 0);
      for (size_t i = 1; i < instructions.size(); ++i) {
        const uint64_t length = instructions[i].offset - instructions[i - 1].offset;
        CHECK((length == 8 || length == 16));
      }
      CHECK(any(instructions, "send"));
      CHECK(any(instructions, "EOT"));
      CHECK(any(instructions, ":f") == (std::string_view(name) == "scale"));  // only `scale` uses floating point
      CHECK(any(instructions, "xor") == (std::string_view(name) == "sum"));
    }
  }
  if (tried == 0) {
    WARN("skipped: no ocloc here that knows these GPUs (package intel-opencl-icd)");
  }
}

TEST_CASE("data that is not code has no instructions and is read in finite time") {
  if (find_xe_assembler().empty()) {
    WARN("skipped: no libiga64 here (package libigc1)");
    return;
  }
  std::vector<std::byte> noise(4099);
  for (size_t i = 0; i < noise.size(); ++i) {
    noise[i] = static_cast<std::byte>(i * 2654435761U >> 13U);
  }
  CHECK(instructions_of(std::span(noise).first(7), GpuPlatform::xe_hpc).empty());
  const UniqueFd code = file_of(std::span(noise).first(16));
  CHECK_FALSE(disassemble_xe(
      GpuPlatform::unknown, [] { return true; }, code.get(), code.get()));
}

TEST_CASE("only valid instruction lines in ascending order are parsed") {
  const auto found = parse_xe_disassembly(
      "0\tmov (8|M0) r1.0<1>:f r2.0:f\n10\tsend.ugm (1|M0)\nnonsense\n8\tback\n20\t\n"
      "zz\tx\n28\tadd\n30 no tab\n40\tcut");
  REQUIRE(found.size() == 4);
  CHECK(found[0].text == "mov (8|M0) r1.0<1>:f r2.0:f");
  CHECK(found[1].offset == 0x10);
  CHECK(found[2].text == "add");
  CHECK(found[3].text == "cut");
}

TEST_CASE("each platform name leads back to its platform") {
  for (const char* name : {"xe", "xe_hp", "xe_hpg", "xe_hpc", "xe2", "xe3"}) {
    CHECK(platform_name(platform_of(name)) == name);
  }
  CHECK(platform_of("unknown") == GpuPlatform::unknown);
  CHECK(platform_of("") == GpuPlatform::unknown);
  CHECK(xe_instructions({}, GpuPlatform::xe2, {}).empty());
}

}  // namespace gpuprof::symbolize::test

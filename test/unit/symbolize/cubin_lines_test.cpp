#include "symbolize/gpu/cubin_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "catch.h"

using gpuprof::symbolize::CubinFunction;
using gpuprof::symbolize::CubinLines;
using gpuprof::symbolize::SourceFrame;

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

fs::path data() {
  return fs::path(GPUPROF_TEST_DATA) / "cubin";
}

Bytes read_cubin(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Formats frames as "name file:line", outermost first.
std::vector<std::string> texts(const std::vector<SourceFrame>& frames) {
  std::vector<std::string> lines;
  for (const SourceFrame& frame : frames) {
    lines.push_back(frame.name + " " + frame.file + ":" + std::to_string(frame.line));
  }
  return lines;
}

using Texts = std::vector<std::string>;

// Source lines that nvdisasm prints for an instruction: "file:line", then the line of each call that inlined it.
// nvdisasm omits all of these lines if "file:line" is that of the previous instruction, even if the inlining calls
// differ.
struct Instruction {
  Texts lines;
  bool repeated = false;
};

// Reads a file of data/cubin/make_cubins.sh. Instructions are keyed by the function's section and the offset.
std::map<std::pair<std::string, uint64_t>, Instruction> read_disassembly(const fs::path& path) {
  std::ifstream file(path);
  std::map<std::pair<std::string, uint64_t>, Instruction> instructions;
  std::string section;
  Instruction current;
  bool complete = true;  // `current` has all lines, up to the outermost call
  for (std::string line; std::getline(file, line);) {
    if (const size_t text = line.find("\t.text."); line.starts_with(".section")) {
      section = text == std::string::npos ? "" : line.substr(text + 7, line.find(',') - text - 7);
      section.erase(std::remove(section.begin(), section.end(), '"'), section.end());
      current = {};
    } else if (line.starts_with("//## File ")) {
      const size_t end = line.find('"', 11);
      const size_t number = line.find("line ", end) + 5;
      if (complete) {
        current = {};
      }
      current.lines.push_back(line.substr(11, end - 11) + ":" + std::to_string(std::atoi(line.c_str() + number)));
      complete = line.find("inlined at") == std::string::npos;
    } else if (line.starts_with("/*")) {
      instructions[{section, std::strtoull(line.c_str() + 2, nullptr, 16)}] = current;
      current.repeated = true;
    } else {
      current = {};  // A function begins: the lines belong to the function before it.
    }
  }
  return instructions;
}

// Compares the lines with nvdisasm's. Returns the number of instructions with a known line.
size_t compare(const fs::path& cubin) {
  INFO(cubin);
  const Bytes bytes = read_cubin(cubin);
  auto lines = CubinLines::open(bytes);
  REQUIRE(lines);
  size_t known = 0;
  const auto instructions = read_disassembly(fs::path(cubin).replace_extension(".lines"));
  REQUIRE_FALSE(instructions.empty());
  for (const auto& [place, expected] : instructions) {
    Texts found;
    for (const SourceFrame& frame : lines->frames(place.first, place.second)) {
      if (frame.line != 0) {
        found.insert(found.begin(), frame.file + ":" + std::to_string(frame.line));
      }
    }
    INFO(place.first << " +0x" << std::hex << place.second);
    if (expected.repeated && !expected.lines.empty()) {
      REQUIRE_FALSE(found.empty());
      REQUIRE(found.front() == expected.lines.front());
    } else {
      REQUIRE(found == expected.lines);
    }
    known += found.empty() ? 0 : 1;
  }
  return known;
}

size_t compare_all(const fs::path& folder) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cubin") {
      compare(entry.path());
      ++files;
    }
  }
  return files;
}

bool runs(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

TEST_CASE("each instruction of a cubin has the lines that nvdisasm prints for it") {
  CHECK(compare(data() / "inlined.sm_80.cubin") > 100);
  CHECK(compare(data() / "inlined.sm_90.cubin") > 100);
  CHECK(compare(data() / "inlined.sm_100.cubin") > 100);
  CHECK(compare(data() / "debug.sm_90.cubin") > 20);
  CHECK(compare(data() / "linked.sm_90.cubin") > 50);
  CHECK(compare(data() / "python.sm_80.cubin") == 24);
  CHECK(compare(data() / "nolines.sm_90.cubin") == 0);
}

TEST_CASE("instructions of the installed CUDA toolkit's cubins have nvdisasm's lines") {
  if (const char* folder = std::getenv("GPUPROF_TEST_CUBINS"); folder != nullptr) {
    WARN(compare_all(folder) << " cubins of GPUPROF_TEST_CUBINS");
    return;
  }
  for (const char* tool : {"nvcc", "ptxas", "nvlink", "nvdisasm"}) {
    if (!runs(std::string(tool) + " --version")) {
      WARN("skipped: no " << tool);
      return;
    }
  }
  const fs::path folder = fs::temp_directory_path() / ("gpuprof-cubins-" + std::to_string(::getpid()));
  REQUIRE(runs((data() / "make_cubins.sh").string() + " " + folder.string()));
  CHECK(compare_all(folder) == 7);
  fs::remove_all(folder);
}

TEST_CASE("inlined functions are named, outermost first") {
  for (const char* file : {"inlined.sm_80.cubin", "inlined.sm_90.cubin", "inlined.sm_100.cubin"}) {
    INFO(file);
    const Bytes bytes = read_cubin(data() / file);
    auto lines = CubinLines::open(bytes);
    REQUIRE(lines);
    std::map<Texts, int> found;
    for (uint64_t offset = 0; offset < 0x2000; offset += 16) {
      ++found[texts(lines->frames("_Z6kernelIfEvPT_i", offset))];
      ++found[texts(lines->frames("plain", offset))];
    }
    CHECK(found.contains(
        {"void kernel<float>(float*, int) /source/inlined.cu:31", "app::outer(float) /source/inlined.cu:13",
         "float app::middle<float>(float) /source/inlined.cu:8", "float scaled<3>(float) /source/shapes.h:6"}));
    // A called function lies in the section of its only caller.
    CHECK(found.contains({"callee(float) /source/inlined.cu:24", "app::outer(float) /source/inlined.cu:13"}));
    // The division routine has no source line.
    CHECK(found.contains({"__cuda_sm3x_div_rn_noftz_f32_slowpath :0"}));
    CHECK(found.contains({"plain /source/inlined.cu:41",
                          "float app::apply<plain(float*)::{lambda(float)#1}>(plain(float*)::{lambda(float)#1}, float) "
                          "/source/inlined.cu:18",
                          "plain(float*)::{lambda(float)#1}::operator()(float) const /source/inlined.cu:39",
                          "Point::norm() const /source/shapes.h:12"}));
    // An offset beyond the end of a function has no frames.
    CHECK(found.contains({}));
  }
}

TEST_CASE("lines of a called function are found by its own name") {
  const Bytes bytes = read_cubin(data() / "inlined.sm_90.cubin");
  auto lines = CubinLines::open(bytes);
  REQUIRE(lines);
  const std::string name = "$_Z6kernelIfEvPT_i$_Z6calleef";
  uint64_t begin = 0;
  for (const CubinFunction& function : lines->functions()) {
    if (function.name == name) {
      begin = function.begin;
      CHECK_FALSE(function.kernel);
      CHECK(function.size > 0);
    }
  }
  REQUIRE(begin > 0);
  const Texts expected = texts(lines->frames("_Z6kernelIfEvPT_i", begin));
  CHECK(expected.front() == "callee(float) /source/inlined.cu:24");
  CHECK(texts(lines->frames(name, 0)) == expected);
  CHECK(lines->has_lines(name));
}

TEST_CASE("functions and kernels of a cubin are listed") {
  const Bytes bytes = read_cubin(data() / "inlined.sm_90.cubin");
  const auto lines = CubinLines::open(bytes);
  REQUIRE(lines);
  std::map<std::string, bool> found;
  for (const CubinFunction& function : lines->functions()) {
    found[std::string(function.name)] = function.kernel;
  }
  CHECK(found == std::map<std::string, bool>{{"$__internal_0_$__cuda_sm20_sqrt_rn_f32_slowpath", false},
                                             {"$__internal_1_$__cuda_sm3x_div_rn_noftz_f32_slowpath", false},
                                             {"$_Z6kernelIfEvPT_i$_Z6calleef", false},
                                             {"_Z6kernelIfEvPT_i", true},
                                             {"looped", true},
                                             {"plain", true}});
}

TEST_CASE("PTX of a Python compiler has Python source lines") {
  const Bytes bytes = read_cubin(data() / "python.sm_80.cubin");
  auto lines = CubinLines::open(bytes);
  REQUIRE(lines);
  CHECK(lines->facts().lines);
  CHECK(texts(lines->frames("softmax_kernel", 0x40)) == Texts{"softmax_kernel /source/model/softmax.py:11"});
  CHECK(texts(lines->frames("softmax_kernel", 0x70)) ==
        Texts{"softmax_kernel /source/model/softmax.py:12", "square standard.py:100", "exp standard.py:200"});
}

TEST_CASE("functions inlined before nvlink have no name if nvlink moved the names") {
  const Bytes bytes = read_cubin(data() / "linked.sm_90.cubin");
  auto lines = CubinLines::open(bytes);
  REQUIRE(lines);
  CHECK(texts(lines->frames("_Z7distantf", 0x30)) ==
        Texts{"distant(float) /source/linked_a.cu:6", "square(float) /source/linked_a.cu:3"});
  CHECK(texts(lines->frames("_Z10far_kernelPf", 0x70)) ==
        Texts{"far_kernel(float*) /source/linked_b.cu:6", " /source/linked_b.cu:3"});
  CHECK(lines->has_lines("_Z7distantf"));
  CHECK_FALSE(lines->has_lines("__cuda_sm3x_div_rn_noftz_f32_slowpath"));
  CHECK(lines->frames("__cuda_sm3x_div_rn_noftz_f32_slowpath", 0).empty());
}

TEST_CASE("facts about the build of a cubin are read") {
  const auto facts = [](const char* file) {
    const Bytes bytes = read_cubin(data() / file);
    const auto lines = CubinLines::open(bytes);
    REQUIRE(lines);
    return lines->facts();
  };
  CHECK(facts("inlined.sm_80.cubin").architecture == "sm_80");
  CHECK(facts("inlined.sm_100.cubin").architecture == "sm_100");
  const auto with = facts("inlined.sm_90.cubin");
  CHECK(with.architecture == "sm_90");
  CHECK(with.lines);
  CHECK_FALSE(with.debug);
  CHECK(with.options == "-lineinfo  -arch sm_90 ");
  CHECK_FALSE(facts("nolines.sm_90.cubin").lines);
  CHECK(facts("debug.sm_90.cubin").lines);
  CHECK(facts("debug.sm_90.cubin").debug);
}

TEST_CASE("files that are not cubins, unknown names and unknown offsets give nothing") {
  CHECK_FALSE(CubinLines::open({}));
  CHECK_FALSE(CubinLines::open(Bytes(64)));
  CHECK_FALSE(CubinLines::open(read_cubin("/proc/self/exe")));
  const Bytes bytes = read_cubin(data() / "inlined.sm_90.cubin");
  auto lines = CubinLines::open(bytes);
  REQUIRE(lines);
  CHECK(lines->frames("no such function", 0).empty());
  CHECK(lines->frames("plain", ~uint64_t{0}).empty());
  CHECK_FALSE(lines->has_lines("no such function"));
}

TEST_CASE("a call chain that does not lead to an earlier row is ignored") {
  Bytes bytes = read_cubin(data() / "python.sm_80.cubin");
  // The context of the second inlined function is row 6; its name is at offset 7.
  const std::vector<std::byte> call = {std::byte{0}, std::byte{3}, std::byte{0x90}, std::byte{6}, std::byte{7}};
  const auto at = std::search(bytes.begin(), bytes.end(), call.begin(), call.end());
  REQUIRE(at != bytes.end());
  for (const int context : {7, 8, 127}) {
    at[3] = std::byte(context);
    auto lines = CubinLines::open(bytes);
    REQUIRE(lines);
    CHECK(lines->frames("softmax_kernel", 0x70).empty());
    CHECK(lines->frames("softmax_kernel", 0x60).size() == 2);
  }
}

TEST_CASE("a truncated or damaged cubin gives fewer or no lines, without a crash") {
  const Bytes whole = read_cubin(data() / "python.sm_80.cubin");
  const auto use = [](const Bytes& bytes) {
    if (auto lines = CubinLines::open(bytes); lines) {
      for (const CubinFunction& function : lines->functions()) {
        const std::string name(function.name);
        for (const uint64_t offset : {0, 0x60, 0x70, 0x170}) {
          for (const SourceFrame& frame : lines->frames(name, offset)) {
            REQUIRE(frame.file.size() <= size_t{8193});
          }
        }
      }
    }
  };
  for (size_t size = 0; size < whole.size(); size += 7) {
    use(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned value : {0x00U, 0x7fU, 0xffU}) {
      Bytes changed = whole;
      changed[at] = std::byte(value);
      use(changed);
    }
  }
}

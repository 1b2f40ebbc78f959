#include "symbolize/gpu/disassembler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "symbolize/gpu/cubin_lines.h"

using gpuprof::symbolize::code_file;
using gpuprof::symbolize::CubinFunction;
using gpuprof::symbolize::CubinLines;
using gpuprof::symbolize::Disassembler;
using gpuprof::symbolize::GpuInstruction;
using gpuprof::symbolize::parse_disassembly;

namespace {

namespace fs = std::filesystem;

std::string read_text(const std::string& file) {
  std::ifstream stream(std::string(GPUPROF_TEST_DATA) + "/cubin/" + file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  REQUIRE_FALSE(text.empty());
  return text;
}

// Creates a folder with a shell script in place of nvdisasm.
class Fake {
 public:
  explicit Fake(const std::string& script) {
    std::string name = (fs::temp_directory_path() / "gpuprof-sass-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    ::chmod(name.c_str(), 0755);
    std::ofstream(folder_ / "nvdisasm") << "#!/bin/sh\n" << script << '\n';
    ::chmod((folder_ / "nvdisasm").c_str(), 0755);
  }
  ~Fake() { fs::remove_all(folder_); }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;

  [[nodiscard]] Disassembler found() const {
    const auto found = Disassembler::find("relative:/no such folder:" + folder_.string() + ":/bin");
    REQUIRE(found);
    CHECK(found->program() == (folder_ / "nvdisasm").string());
    return *found;
  }

 private:
  fs::path folder_;
};

CubinFunction function(std::string_view name, uint64_t begin = 0, uint64_t size = 0x180) {
  CubinFunction result;
  result.name = name;
  result.begin = begin;
  result.size = size;
  result.symbol = 9;
  return result;
}

const std::string kText =
    "\t.section\t.text.a,\"ax\",@progbits\n.text.a:\n"
    "        /*0000*/                   MOV R1, c[0x0][0x28] ;\n"
    "        /*0010*/              @!P0 BRA `(.L_x_1) ;            /* 0x0 */\n"
    "        /*0020*/         {         EXIT         }\n"
    "\t.section\t.nv.info,\"ax\"\n"
    "        /*0030*/ \t.byte 0x04 ;\n";

}  // namespace

TEST_CASE("instructions are parsed from the output of nvdisasm") {
  const auto all = parse_disassembly(read_text("python.sm_80.sass"), function("softmax_kernel"));
  REQUIRE(all.size() == 24);
  CHECK(all[4].offset == 0x40);
  CHECK(all[4].text == "LDG.E R0, [R2.64]");
  CHECK(all[23].text == "NOP");

  const auto odd = parse_disassembly(kText, function("a"));
  REQUIRE(odd.size() == 3);
  CHECK(odd[1].text == "@!P0 BRA `(.L_x_1)");
  CHECK(odd[2].text == "EXIT");
}

TEST_CASE("instructions of a function in another function's section are found") {
  const auto inner = parse_disassembly(kText, function("$a$b", 0x10, 0x10));
  REQUIRE(inner.size() == 1);
  CHECK(inner[0].offset == 0);
  CHECK(inner[0].text == "@!P0 BRA `(.L_x_1)");
  // If several sections are printed, the section of the function is unknown.
  const std::string two = kText + "\t.section\t.text.b,\"ax\"\n        /*0000*/ NOP ;\n";
  CHECK(parse_disassembly(two, function("$a$b", 0x10, 0x10)).empty());
  CHECK(parse_disassembly(two, function("b")).size() == 1);
}

TEST_CASE("text that is not a disassembly has no instructions") {
  for (const char* text : {"", "\n\n", "/*", "/*12", "/*zz*/ NOP ;", "/*10*/", "/*10*/ ;",
                           "/*fffffffffffffffff*/ NOP ;", "nvdisasm fatal   : no such file"}) {
    CHECK(parse_disassembly(std::string("\t.section\t.text.a,\n") + text, function("a")).empty());
  }
}

TEST_CASE("nvdisasm gets the cubin and a symbol number, but not the recorder's environment or files") {
  const std::string cubin = read_text("python.sm_80.cubin");
  ::setenv("GPUPROF_TEST_SECRET", "1", 1);
  const Fake fake(
      "[ \"$1 $2 $3\" = '-c -fun 9' ] || exit 1\n"
      "printf '\\t.section\\t.text.a,\\n/*0*/ BYTES %s ;\\n/*10*/ SECRET %s ;\\n/*20*/ OPEN %s ;\\n' "
      "$(wc -c <\"$4\") \"$GPUPROF_TEST_SECRET\" $(ls /proc/self/fd | wc -l)");
  const auto found = fake.found().run(code_file(std::as_bytes(std::span(cubin))).get(), function("a"), {});
  ::unsetenv("GPUPROF_TEST_SECRET");
  REQUIRE(found.size() == 3);
  CHECK(found[0].text == "BYTES " + std::to_string(cubin.size()));
  CHECK(found[1].text == "SECRET");
  CHECK(found[2].text == "OPEN 5");  // descriptors: stdin, stdout, stderr, the cubin, and the folder that ls reads
}

TEST_CASE("an nvdisasm that fails, hangs or prints without end is stopped in time") {
  const std::string cubin = "x";
  const auto bytes = std::as_bytes(std::span(cubin));
  Disassembler::Limits limits;
  limits.output = 4096;
  Disassembler::Limits soon;
  soon.time = std::chrono::milliseconds(300);
  const auto before = std::chrono::steady_clock::now();
  CHECK(Fake("exit 3").found().run(code_file(bytes).get(), function("a"), limits).empty());
  CHECK(Fake("kill -9 $$").found().run(code_file(bytes).get(), function("a"), limits).empty());
  CHECK(Fake("exec sleep 60").found().run(code_file(bytes).get(), function("a"), soon).empty());
  const auto first = Fake("printf '\\t.section\\t.text.a,\\n/*0*/ NOP ;\\n'; exec yes")
                         .found()
                         .run(code_file(bytes).get(), function("a"), limits);
  CHECK(first.size() == 1);
  CHECK(Disassembler("/no/nvdisasm").run(code_file(bytes).get(), function("a"), limits).empty());
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(30));
}

TEST_CASE("nvdisasm runs as a user that nobody else has") {
  if (::geteuid() != 0) {
    WARN("skipped: not root");
    return;
  }
  const std::string cubin = "12345";
  const Fake fake("printf '\\t.section\\t.text.a,\\n/*0*/ %s %s %s ;\\n' $(id -u) \"$(id -G)\" $(wc -c <\"$4\")");
  const auto found = fake.found().run(code_file(std::as_bytes(std::span(cubin))).get(), function("a"), {});
  REQUIRE(found.size() == 1);
  std::istringstream words(found[0].text);
  uint64_t user = 0;
  uint64_t group = 0;
  uint64_t bytes = 0;
  REQUIRE(words >> user >> group >> bytes);
  CHECK(user >= 0x70000000);
  CHECK(group == user);
  CHECK(bytes == 5);
}

TEST_CASE("nvdisasm is not found in missing or relative folders") {
  CHECK_FALSE(Disassembler::find(""));
  CHECK_FALSE(Disassembler::find(":::/no such folder:.:relative"));
}

TEST_CASE("the installed nvdisasm prints the instructions of each function") {
  const char* path = std::getenv("PATH");
  const auto disassembler = Disassembler::find(std::string(path != nullptr ? path : "") + ":/usr/local/cuda/bin");
  if (!disassembler) {
    WARN("skipped: no nvdisasm");
    return;
  }
  const std::string cubin = read_text("inlined.sm_90.cubin");
  const auto bytes = std::as_bytes(std::span(cubin));
  const auto lines = CubinLines::open(bytes);
  REQUIRE(lines);
  for (const CubinFunction& each : lines->functions()) {
    INFO(each.name);
    const auto found = disassembler->run(code_file(bytes).get(), each, {});
    CHECK(found.size() == each.size / 16);
  }
}

#include "cupti/probes/ptx_probes.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "probes/ptx_samples.h"

using gpuprof::injection::cupti::add_block_probes;
using gpuprof::injection::cupti::list_entries;
using gpuprof::injection::cupti::NotProbed;
using gpuprof::injection::cupti::PtxEntry;
using gpuprof::injection::cupti::PtxText;

namespace {

constexpr size_t kMostEntries = 16;

struct Probed {
  bool parsed = false;
  std::vector<PtxEntry> entries;
  std::vector<NotProbed> why;
  std::string text;  // empty: no kernel has a probed copy
};

// Adds probes to the kernels whose bits are set in `chosen`.
Probed probe(const std::string& module, unsigned chosen = ~0u) {
  Probed result;
  std::string text = module;
  const PtxText ptx = {text.data(), text.size()};
  result.entries.resize(kMostEntries);
  const size_t count = list_entries(ptx, result.entries.data(), kMostEntries);
  result.parsed = count != SIZE_MAX;
  result.entries.resize(result.parsed ? count : 0);
  result.why.resize(result.entries.size());
  bool wanted[kMostEntries];
  for (size_t i = 0; i < kMostEntries; ++i) {
    wanted[i] = (chosen >> i & 1) != 0;
  }
  const PtxText out = add_block_probes(ptx, result.entries.data(), result.entries.size(), wanted, result.why.data());
  if (out.text != nullptr) {
    CHECK(out.text[out.bytes] == '\0');
    result.text.assign(out.text, out.bytes);
    free(out.text);
  }
  for (PtxEntry& entry : result.entries) {
    entry.name = nullptr;  // `text` ends here
  }
  return result;
}

std::string kernel(const std::string& limits, const std::string& body) {
  return ptx_module(".visible .entry k(.param .u64 k_param_0)\n" + limits + "\n{\n" + body + "\n}\n");
}

NotProbed why_not(const std::string& limits, const std::string& body, const std::string& before = "") {
  const Probed result = probe(ptx_module(before + ".visible .entry k()\n" + limits + "\n{\n" + body + "\n}\n"));
  REQUIRE(result.why.size() == 1);
  CHECK(result.text.empty() == (result.why[0] != NotProbed::no));
  return result.why[0];
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

// Returns the text of the probed copy.
std::string copy_of(const Probed& result, const std::string& name) {
  const size_t begin = result.text.find(".entry " + name + "__gpuprof(");
  REQUIRE(begin != std::string::npos);
  return result.text.substr(begin, result.text.find("\n}\n", begin) - begin);
}

std::string find_ptxas() {
  for (const char* const path : {"ptxas", "/usr/local/cuda/bin/ptxas"}) {
    if (system((std::string(path) + " --version >/dev/null 2>&1").c_str()) == 0) {
      return path;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("the kernels of a module are listed with their numbers of parameters") {
  std::string text = kPtxSample;
  PtxEntry entries[kMostEntries];
  REQUIRE(list_entries({text.data(), text.size()}, entries, kMostEntries) == 3);
  CHECK(std::string(entries[0].name, entries[0].name_bytes) == "early");
  CHECK(entries[0].params == 2);
  CHECK(std::string(entries[1].name, entries[1].name_bytes) == "empty");
  CHECK(entries[1].params == 0);
  CHECK(std::string(entries[2].name, entries[2].name_bytes) == "choose");
  CHECK(entries[2].params == 3);
  CHECK(list_entries({text.data(), text.size()}, entries, 1) == 1);
}

TEST_CASE("text that is not a module of PTX is not parsed") {
  for (const char* const text : {
           ".visible .entry",
           ".entry k(",
           ".entry k() {",
           ".entry k() { ret }",
           ".entry k() { ret; } }",
           ".entry k() { /* ret; }",
           ".entry k() { .pragma \"x; }",
           ".entry k() {\n.loc 1 2 3 ret;\n}",
           ".entry k() { @%p; }",
           ".entry k() ( { ret; }",
           ".func f { ret; ",
           ".section .debug_str { .b8 1",
           "\x7f"
           "ELF",
       }) {
    INFO(text);
    CHECK_FALSE(probe(ptx_module(text)).parsed);
  }
}

TEST_CASE("a probed copy has another name and one more parameter, and the original stays") {
  const std::string original = kPtxSample;
  const Probed result = probe(original, 1u << 1);
  const size_t at = result.text.find("\n.visible .entry empty__gpuprof(\n\t.param .u64 empty__gpuprof_param_blocks\n)");
  REQUIRE(at != std::string::npos);
  CHECK(occurrences(result.text, "__gpuprof(") == 1);
  // Without the copy, the text is the original.
  const size_t end = result.text.find("\n}\n", at) + 3;
  CHECK(result.text.substr(0, at) + result.text.substr(end) == original);
  CHECK(probe(original, 0).text.empty());
}

TEST_CASE("the additional parameter follows the others") {
  const Probed result = probe(kernel("", "ret;"));
  CHECK(result.text.find("k__gpuprof(.param .u64 k_param_0,\n\t.param .u64 k__gpuprof_param_blocks\n)") !=
        std::string::npos);
  const Probed none = probe(ptx_module(".entry k { ret; }\n"));
  CHECK(none.text.find("k__gpuprof(\n\t.param .u64 k__gpuprof_param_blocks\n)") != std::string::npos);
}

TEST_CASE("limits of threads are copied") {
  const Probed result = probe(kernel(".maxntid 128, 1, 1\n.reqntid 64", "ret;"));
  CHECK(occurrences(result.text, ".maxntid 128, 1, 1\n.reqntid 64\n{") == 2);
}

TEST_CASE("each return of a probed copy has its own code at the end of the block") {
  const std::string body =
      "setp.eq.u32 %p, 1, 2;\n@%p ret;\n@!%p bra L;\n@%p exit;\n@%p ret.uni;\n bra.uni L;\nL:\n ret;";
  const std::string copy = copy_of(probe(kernel("", ".reg .pred %p;\n" + body)), "k");
  CHECK(copy.find("@%p bra $gpuprof_exit_0;") != std::string::npos);
  CHECK(copy.find("@!%p bra $gpuprof_exit_1;") != std::string::npos);
  CHECK(copy.find("@%p bra $gpuprof_exit_2;") != std::string::npos);
  CHECK(copy.find("@%p bra.uni $gpuprof_exit_3;") != std::string::npos);
  CHECK(copy.find("bra.uni $gpuprof_exit_4;") != std::string::npos);
  CHECK(occurrences(copy, "atom.shared.add.u32") == 6);
  CHECK(occurrences(copy, "exit;") == 0);
}

TEST_CASE("jumps to labels that are not directly before a return stay") {
  const std::string copy =
      copy_of(probe(kernel("", ".reg .pred %p;\nA:\n@%p bra A;\n@%p bra B;\nmembar.gl;\nB:\nmembar.gl;\nret;")), "k");
  CHECK(copy.find("@%p bra A;") != std::string::npos);
  CHECK(copy.find("@%p bra B;") != std::string::npos);
  CHECK(occurrences(copy, "atom.shared.add.u32") == 1);
}

TEST_CASE("a label before a predicated return is not directly before the end") {
  const std::string copy = copy_of(probe(kernel("", ".reg .pred %p;\nbra L;\nL:\n@%p ret;\nmembar.gl;\nret;")), "k");
  CHECK(copy.find("bra L;") != std::string::npos);
}

TEST_CASE("labels of inner scopes are not labels of the kernel") {
  CHECK(why_not("", "{\nL:\nret;\n}\nret;") == NotProbed::no);
  CHECK(why_not("", "{\nbra L;\nL:\nmembar.gl;\n}\nL:\nret;") == NotProbed::cannot_parse);
}

TEST_CASE("the targets of an indexed jump are replaced") {
  const std::string copy = copy_of(probe(kPtxSample), "choose");
  CHECK(copy.find(".branchtargets $L_a, $gpuprof_exit_0, $L_b;") != std::string::npos);
}

TEST_CASE("a body that ends without a return ends the block") {
  const std::string copy = copy_of(probe(kernel("", "membar.gl;")), "k");
  CHECK(occurrences(copy, "atom.shared.add.u32") == 1);
}

TEST_CASE("returns in comments, strings and device functions are not returns of the kernel") {
  const std::string copy =
      copy_of(probe(kernel("",
                           "// ret;\n/* ret; } */\n.pragma \"ret; }\";\n.loc\t1 2 3, function_name L, inlined_at 1 2 "
                           "3\n{ call.uni f, (x); }\nret;")),
              "k");
  CHECK(occurrences(copy, "atom.shared.add.u32") == 1);
  CHECK(copy.find("/* ret; } */") != std::string::npos);
  CHECK(copy.find(".pragma \"ret; }\";") != std::string::npos);
}

TEST_CASE("kernels that a probe would change are left alone") {
  CHECK(why_not("", "ret;") == NotProbed::no);
  CHECK(why_not(".maxntid 128, 1, 1", "ret;") == NotProbed::no);
  CHECK(why_not(".maxnreg 32", "ret;") == NotProbed::has_maxnreg);
  CHECK(why_not(".maxntid 128, 1, 1\n.minnctapersm 2", "ret;") == NotProbed::has_maxnreg);
  CHECK(why_not(".maxnctapersm 2", "ret;") == NotProbed::has_maxnreg);
  CHECK(why_not(".reqnctapercluster 2, 1, 1", "ret;") == NotProbed::has_cluster);
  CHECK(why_not(".explicitcluster", "ret;") == NotProbed::has_cluster);
  CHECK(why_not(".maxclusterrank 8", "ret;") == NotProbed::has_cluster);
  CHECK(why_not(".unheardof 8", "ret;") == NotProbed::cannot_parse);
}

TEST_CASE("kernels are left alone if functions of their module launch kernels or end threads") {
  CHECK(why_not("", "ret;", ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a);\n") ==
        NotProbed::launches_kernels);
  CHECK(why_not("", "ret;", ".extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 a);\n") ==
        NotProbed::launches_kernels);
  CHECK(why_not("", "ret;", ".func f()\n{\n.reg .pred %p;\n@%p exit;\nret;\n}\n") == NotProbed::exits_in_function);
  CHECK(why_not("", "ret;", ".func f()\n{\ntrap;\nret; // exit;\n}\n") == NotProbed::no);
}

TEST_CASE("kernels whose shared memory is full are left alone") {
  CHECK(why_not("", ".shared .align 4 .b8 s[49136];\nret;") == NotProbed::no);
  CHECK(why_not("", ".shared .align 4 .b8 s[49137];\nret;") == NotProbed::too_much_shared);
  CHECK(why_not("", ".shared .align 1024 .b8 s[48129];\nret;") == NotProbed::too_much_shared);
  CHECK(why_not("", ".shared .v4 .f32 s[4][768];\nret;") == NotProbed::too_much_shared);
  CHECK(why_not("", ".shared .u64 a[3072], b[3072];\nret;") == NotProbed::too_much_shared);
  CHECK(why_not("", "ret;", ".shared .align 16 .b8 s[49152];\n") == NotProbed::too_much_shared);
  CHECK(why_not("", "ret;", ".func f()\n{\n.shared .b8 s[49152];\nret;\n}\n") == NotProbed::too_much_shared);
  CHECK(why_not("", "ret;", ".extern .shared .align 16 .b8 s[];\n") == NotProbed::no);
  CHECK(why_not("", ".shared .unheardof s;\nret;") == NotProbed::cannot_parse);
}

TEST_CASE("a probe keeps the alignment of dynamic shared memory") {
  CHECK(probe(kernel("", "ret;")).text.find("gpuprof_block[16];") != std::string::npos);
  CHECK(probe(kernel("", "cp.async.bulk.commit_group;\nret;")).text.find("gpuprof_block[1024];") != std::string::npos);
  CHECK(probe(kernel("", "cp.async.bulk.shared::cluster.global [a], [b], 16;\nret;")).text.find("[1024];") !=
        std::string::npos);
}

TEST_CASE("modules that the probe cannot use are left alone") {
  for (const char* const header :
       {".version 6.1\n.target sm_70\n.address_size 64\n", ".version 9.0\n.target sm_90\n.address_size 32\n",
        ".version 9.0\n.target sm_90\n", ".version 9.0\n.target sm_90, debug\n.address_size 64\n", ""}) {
    INFO(header);
    const Probed result = probe(std::string(header) + ".entry k() { ret; }\n");
    CHECK(result.text.empty());
    CHECK(result.why == std::vector<NotProbed>{NotProbed::cannot_parse});
  }
  const Probed twice = probe(probe(kPtxSample).text);
  CHECK(twice.text.empty());
  CHECK(twice.why == std::vector<NotProbed>(6, NotProbed::cannot_parse));
}

TEST_CASE("a kernel with very many returns is left alone") {
  std::string body = ".reg .pred %p;\n";
  for (int i = 0; i < 200000; ++i) {
    body += "@%p ret;\nL" + std::to_string(i) + ":\n";
  }
  CHECK(why_not("", body) == NotProbed::cannot_parse);
}

TEST_CASE("large modules take linear time") {
  std::string body = ".reg .pred %p;\n";
  for (int i = 0; i < 30000; ++i) {
    body += "L" + std::to_string(i) + ":\n@%p bra L" + std::to_string(i / 2) + ";\n{ call f, (a); }\n";
  }
  CHECK(why_not("", body + "ret;") == NotProbed::no);
}

TEST_CASE("changed and cut modules are read without a crash") {
  std::mt19937 random(1);
  const std::string good = kPtxSample;
  size_t probed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (unsigned changes = random() % 4; changes != 0; --changes) {
      const char kMarks[] = "{}();:,.@!\"/*% \nL0";
      text[random() % text.size()] = random() % 4 == 0 ? static_cast<char>(random()) : kMarks[random() % 18];
    }
    if (random() % 4 == 0) {
      text.resize(random() % text.size());
    }
    if (random() % 4 == 0) {
      text.erase(random() % (text.size() + 1), random() % 30);
    }
    const Probed result = probe(text);
    if (!result.text.empty()) {
      ++probed;
      size_t copies = 0;
      for (const NotProbed why : result.why) {
        copies += why == NotProbed::no;
      }
      PtxEntry entries[kMostEntries];
      std::string again = result.text;
      REQUIRE(list_entries({again.data(), again.size()}, entries, kMostEntries) == result.entries.size() + copies);
    }
  }
  CHECK(probed > 1000);
}

TEST_CASE("ptxas compiles probed copies") {
  const std::string ptxas = find_ptxas();
  if (ptxas.empty()) {
    std::cout << "skipped: ptxas is not installed\n";
    return;
  }
  for (const std::string& module :
       {std::string(kPtxSample),
        kernel(".maxntid 128, 1, 1",
               ".reg .pred %p;\n.reg .b32 %r<2>;\nmov.u32 %r0, %tid.x;\nsetp.eq.u32 %p, %r0, 2;\n{\n"
               ".reg .pred %q;\nsetp.eq.u32 %q, %r0, 3;\n@%q exit;\nbar.sync 0;\n@%q bra L;\n}\n@%p "
               "bra L;\nL:\nret;"),
        kernel("", "trap;"), kernel("", "ret;")}) {
    const Probed result = probe(module);
    REQUIRE_FALSE(result.text.empty());
    char name[] = "/tmp/gpuprof_ptx_XXXXXX";
    const int fd = mkstemp(name);
    REQUIRE(fd >= 0);
    std::ofstream(name) << result.text;
    const int status = system((ptxas + " -arch=sm_90 " + name + " -o /dev/null").c_str());
    INFO(result.text);
    CHECK(status == 0);
    unlink(name);
    close(fd);
  }
}

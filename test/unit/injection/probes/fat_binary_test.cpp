#include "cupti/probes/fat_binary.h"

#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "cupti/probes/lz4_block.h"

using gpuprof::injection::cupti::decompress_lz4;
using gpuprof::injection::cupti::find_ptx;
using gpuprof::injection::cupti::FoundPtx;
using gpuprof::injection::cupti::NoPtx;

namespace {

constexpr uint64_t kDebug = 0x2;
constexpr uint64_t kLz4 = 0x2000;
constexpr uint64_t kZstd = 0x8000;
constexpr uint64_t kExactArch = 0x100000;
constexpr uint64_t kFamilyArch = 0x200000;

std::string ptx_for(unsigned arch, const std::string& version = "8.0") {
  return ".version " + version + "\n.target sm_" + std::to_string(arch) + "\n.address_size 64\n.entry k() { ret; }\n";
}

template <class Value>
void put(std::string* bytes, size_t at, Value value) {
  memcpy(&(*bytes)[at], &value, sizeof(value));
}

struct EntrySpec {
  uint16_t kind;
  unsigned arch;
  uint64_t flags = 0;
  std::string options;
  std::string payload;  // default: PTX for `arch`
  size_t uncompressed = 0;
};

std::string entry_bytes(const EntrySpec& spec) {
  std::string payload = spec.payload.empty() ? ptx_for(spec.arch) : spec.payload;
  const size_t compressed = payload.size();
  payload.resize((compressed + 7) / 8 * 8);
  std::string header(80 + (spec.options.size() + 8) / 8 * 8, '\0');
  put<uint16_t>(&header, 0, spec.kind);
  put<uint16_t>(&header, 2, 0x101);
  put<uint32_t>(&header, 4, static_cast<uint32_t>(header.size()));
  put<uint64_t>(&header, 8, payload.size());
  put<uint32_t>(&header, 16, static_cast<uint32_t>(compressed));
  put<uint32_t>(&header, 20, 64);
  put<uint32_t>(&header, 28, spec.arch);
  put<uint64_t>(&header, 40, spec.flags);
  put<uint64_t>(&header, 56, spec.uncompressed);
  put<uint32_t>(&header, 64, 72);
  put<uint32_t>(&header, 68, static_cast<uint32_t>(spec.options.size()));
  memcpy(&header[72], spec.options.data(), spec.options.size());
  return header + payload;
}

std::string fat_binary(const std::vector<EntrySpec>& entries) {
  std::string content;
  for (const EntrySpec& spec : entries) {
    content += entry_bytes(spec);
  }
  std::string header(16, '\0');
  put<uint32_t>(&header, 0, 0xba55ed50);
  put<uint16_t>(&header, 4, 1);
  put<uint16_t>(&header, 6, 16);
  put<uint64_t>(&header, 8, content.size());
  return header + content;
}

struct FoundText {
  NoPtx why;
  unsigned arch;
  std::string text;
};

FoundText find_image(const void* image, unsigned device = 90, int driver_version = 13000) {
  const FoundPtx found = find_ptx(image, device, driver_version);
  FoundText result = {found.why, found.arch, {}};
  CHECK((found.ptx.text != nullptr) == (found.why == NoPtx::none));
  if (found.ptx.text != nullptr) {
    CHECK(found.ptx.text[found.ptx.bytes] == '\0');
    result.text.assign(found.ptx.text, found.ptx.bytes);
    free(found.ptx.text);
  }
  return result;
}

FoundText find_in(const std::vector<EntrySpec>& entries, unsigned device = 90, int driver_version = 13000) {
  return find_image(fat_binary(entries).data(), device, driver_version);
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

// Returns a block of LZ4 that stores the text as literals.
std::string lz4_literals(const std::string& text) {
  std::string out(1, '\xf0');
  size_t left = text.size() - 15;
  for (; left >= 255; left -= 255) {
    out += '\xff';
  }
  return out + static_cast<char>(left) + text;
}

std::string decompressed(const std::string& block, size_t most) {
  std::string out(most, '\0');
  const size_t size = decompress_lz4(reinterpret_cast<const unsigned char*>(block.data()), block.size(),
                                     reinterpret_cast<unsigned char*>(out.data()), most);
  return size == SIZE_MAX ? "malformed" : out.substr(0, size);
}

}  // namespace

TEST_CASE("PTX is found in a fat binary, with or without its wrapper, and as text") {
  const std::string text = ptx_for(90);
  const std::string fat = fat_binary({{1, 90}, {2, 90}});
  CHECK(find_image(fat.data()).text == text);
  CHECK(find_image(fat.data()).arch == 90);
  struct {
    uint32_t magic = 0x466243b1;
    uint32_t version = 1;
    const void* image;
    const void* other = nullptr;
  } wrapper;
  wrapper.image = fat.data();
  CHECK(find_image(&wrapper).text == text);
  wrapper.version = 2;
  CHECK(find_image(&wrapper).why == NoPtx::linked);
  CHECK(find_image(text.c_str()).text == text);
  CHECK(find_image(text.c_str()).arch == 90);
}

TEST_CASE("images without PTX are named") {
  CHECK(find_image("\x7f"
                   "ELF")
            .why == NoPtx::machine_code_only);
  CHECK(find_image("").why == NoPtx::unreadable);
  CHECK(find_image("hello").why == NoPtx::unreadable);
  CHECK(find_image(nullptr).why == NoPtx::unreadable);
  CHECK(find_in({{2, 90}}).why == NoPtx::machine_code_only);
  CHECK(find_in({{1, 90, 0, "", ptx_for(80)}}).why == NoPtx::unreadable);
  CHECK(find_in({}).why == NoPtx::other_architecture);
}

TEST_CASE("the PTX has the architecture of the code that runs without a probe") {
  CHECK(find_in({{2, 80}, {2, 90}, {1, 90}, {1, 80}}).arch == 90);
  CHECK(find_in({{2, 80}, {1, 80}, {1, 90}}, 86).arch == 80);
  CHECK(find_in({{2, 80}, {1, 80}, {2, 86}}, 86).why == NoPtx::other_architecture);
  CHECK(find_in({{2, 80}, {1, 80}, {2, 86}}, 80).arch == 80);
  // Machine code runs only on devices of the same major version.
  CHECK(find_in({{2, 80}, {1, 80}, {1, 75}}, 90).arch == 80);
  CHECK(find_in({{2, 90}, {1, 75}}, 90).why == NoPtx::other_architecture);
  CHECK(find_in({{1, 100}}, 90).why == NoPtx::other_architecture);
  CHECK(find_image(ptx_for(100).c_str(), 90).why == NoPtx::other_architecture);
}

TEST_CASE("variants of an architecture are not mixed") {
  const std::string exact = ".version 8.0\n.target sm_90a\n.address_size 64\n";
  CHECK(find_in({{2, 90, kExactArch}, {2, 90}, {1, 90}}).why == NoPtx::other_architecture);
  CHECK(find_in({{2, 90}, {1, 90, kExactArch, "", exact}}).why == NoPtx::other_architecture);
  CHECK(find_in({{1, 90, kExactArch, "", exact}, {1, 90}}).text == exact);
  CHECK(find_in({{1, 90, kExactArch, "", exact}, {1, 90}}, 100).text == ptx_for(90));
  CHECK(find_in({{2, 100, kExactArch}, {1, 100}}, 103).arch == 100);
  CHECK(find_in({{2, 100, kFamilyArch}, {1, 100}}, 103).why == NoPtx::other_architecture);
  CHECK(find_in({{1, 100, kFamilyArch}, {1, 80}}, 120).arch == 80);
}

TEST_CASE("PTX that the driver cannot compile is not used") {
  CHECK(find_image(ptx_for(90, "9.0").c_str(), 90, 13000).why == NoPtx::none);
  CHECK(find_image(ptx_for(90, "9.0").c_str(), 90, 12090).why == NoPtx::too_new);
  CHECK(find_image(ptx_for(90, "8.8").c_str(), 90, 12090).why == NoPtx::none);
  CHECK(find_image(ptx_for(90, "8.8").c_str(), 90, 12080).why == NoPtx::too_new);
  CHECK(find_image(ptx_for(90, "8.5").c_str(), 90, 12060).why == NoPtx::none);
  CHECK(find_image(ptx_for(80, "7.8").c_str(), 80, 11080).why == NoPtx::none);
  CHECK(find_image(ptx_for(80, "7.8").c_str(), 80, 11070).why == NoPtx::too_new);
  CHECK(find_image(ptx_for(90, "9.4").c_str(), 90, 13040).why == NoPtx::none);
  CHECK(find_image(ptx_for(90, "9.5").c_str(), 90, 13040).why == NoPtx::too_new);
  CHECK(find_image(ptx_for(90, "9.5").c_str(), 90, 14000).why == NoPtx::none);
  CHECK(find_image(ptx_for(90, "9.6").c_str(), 90, 14000).why == NoPtx::too_new);
  CHECK(find_image(ptx_for(90, "8.6").c_str(), 90, 12060).why == NoPtx::too_new);
  CHECK(find_image(ptx_for(80, "6.0").c_str(), 80, 9000).why == NoPtx::too_new);
}

TEST_CASE("options that change the machine code forbid to compile the PTX") {
  CHECK(find_in({{2, 90}, {1, 90, 0, "--generate-line-info "}}).why == NoPtx::none);
  CHECK(find_in({{2, 90}, {1, 90, 0, " -maxrregcount=32 "}}).why == NoPtx::has_options);
  CHECK(find_in({{2, 90}, {1, 90, 0, "--generate-line-info -O1"}}).why == NoPtx::has_options);
  CHECK(find_in({{2, 90}, {1, 90, 0, "--compile-only  "}}).why == NoPtx::linked);
  CHECK(find_in({{2, 90}, {1, 90, kDebug}}).why == NoPtx::has_options);
  CHECK(find_in({{2, 90, kDebug}, {1, 90}}).why == NoPtx::has_options);
  CHECK(find_image(".version 8.0\n.target sm_90, debug\n.address_size 64\n").why == NoPtx::has_options);
}

TEST_CASE("compressed PTX is decompressed") {
  const std::string text = ptx_for(90) + "// " + std::string(1000, 'x') + "\n";
  CHECK(find_in({{1, 90, kZstd, "", zstd(text), text.size()}}).text == text);
  CHECK(find_in({{1, 90, kLz4, "", lz4_literals(text), text.size()}}).text == text);
  for (const size_t wrong : {text.size() - 1, text.size() + 1, SIZE_MAX}) {
    CHECK(find_in({{1, 90, kZstd, "", zstd(text), wrong}}).why == NoPtx::unreadable);
    CHECK(find_in({{1, 90, kLz4, "", lz4_literals(text), wrong}}).why == NoPtx::unreadable);
  }
}

TEST_CASE("blocks of LZ4 are decompressed") {
  CHECK(decompressed(std::string("\x30"
                                 "abc",
                                 4),
                     9) == "abc");
  CHECK(decompressed(std::string("\x31"
                                 "abc\x03\0\x10"
                                 "d",
                                 8),
                     9) == "abcabcabd");  // 5 bytes from 3 bytes before
  CHECK(decompressed(std::string("\x1f"
                                 "a\x01\0\x02\x10"
                                 "b",
                                 7),
                     23) == std::string(22, 'a') + "b");
  CHECK(decompressed("", 4).empty());
  CHECK(decompressed(std::string("\x30"
                                 "abc",
                                 4),
                     2) == "malformed");
  CHECK(decompressed(std::string("\x30"
                                 "ab",
                                 3),
                     9) == "malformed");
  CHECK(decompressed(std::string("\x31"
                                 "abc\x04\0",
                                 6),
                     9) == "malformed");  // from before the text
  CHECK(decompressed(std::string("\x31"
                                 "abc\0\0",
                                 6),
                     9) == "malformed");
  CHECK(decompressed(std::string("\x31"
                                 "abc\x03",
                                 5),
                     9) == "malformed");
  CHECK(decompressed(std::string("\x31"
                                 "abc\x03\0",
                                 6),
                     7) == "malformed");
  CHECK(decompressed("\xf0\xff", 99) == "malformed");
}

TEST_CASE("malformed fat binaries are read without a crash") {
  const std::string text = ptx_for(90) + "// " + std::string(300, 'y') + "\n";
  const std::string good = fat_binary({{2, 90, 0, "",
                                        "\x7f"
                                        "ELF"},
                                       {1, 90, kZstd, "--generate-line-info", zstd(text), text.size()},
                                       {1, 80, kLz4, "", lz4_literals(text), text.size()}});
  REQUIRE(find_image(good.data()).text == text);
  std::mt19937 random(1);
  size_t found = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<char> bytes(good.begin(), good.end());
    for (unsigned changes = random() % 4; changes != 0; --changes) {
      // The size in the header of the fat binary (offset 8) is trusted, as is the pointer.
      bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random() % 2 == 0 ? random() : random() % 4);
    }
    if (random() % 4 == 0) {
      bytes.resize(16 + random() % (bytes.size() - 16));
      const uint64_t size = bytes.size() - 16;
      memcpy(&bytes[8], &size, sizeof(size));
    }
    bytes.shrink_to_fit();
    found += find_image(bytes.data()).why == NoPtx::none;
  }
  CHECK(found > 1000);
}

TEST_CASE("PTX is found in fat binaries of nvcc") {
  char folder[] = "/tmp/gpuprof_fat_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string base = folder;
  std::ofstream(base + "/k.cu") << "__global__ void kernel(int* p) { *p = 1; }\n";
  const std::string nvcc =
      "PATH=$PATH:/usr/local/cuda/bin nvcc -fatbin -gencode arch=compute_90,code='[sm_90,compute_90]' " + base +
      "/k.cu -o " + base + "/k.fatbin --compress-mode=";
  for (const char* const mode : {"size", "speed", "none"}) {
    if (system((nvcc + mode + " >/dev/null 2>&1").c_str()) != 0) {
      std::cout << "skipped: nvcc 12.8 or later is not installed\n";
      break;
    }
    std::ifstream file(base + "/k.fatbin");
    std::stringstream bytes;
    bytes << file.rdbuf();
    const FoundText found = find_image(bytes.str().data(), 90, 99000);
    CHECK(found.arch == 90);
    CHECK(found.text.find(".entry _Z6kernelPi") != std::string::npos);
  }
  CHECK(system(("rm -r " + base).c_str()) == 0);
}

#include "record/elf_functions.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/unique_fd.h"
#include "catch.h"
#include "symbolize/elf_image.h"

using gpuprof::UniqueFd;
using gpuprof::record::find_functions;
using gpuprof::symbolize::ByteSource;

extern "C" {
// Looked for in this program's own file.
[[gnu::used, gnu::noinline]] int gpuprof_test_elf_function() {
  static volatile int result = 4711;
  return result;
}
}

namespace {

std::vector<uint8_t> own_file() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a function is found where its code is in the file") {
  const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto found = find_functions(fd.get(), {"no_such_function", "gpuprof_test_elf_function"});
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK(found->front().wanted == 1);
  uint8_t in_file[8] = {};
  REQUIRE(::pread(fd.get(), in_file, sizeof in_file, static_cast<off_t>(found->front().file_offset)) == 8);
  CHECK(std::memcmp(in_file, reinterpret_cast<const void*>(&gpuprof_test_elf_function), sizeof in_file) == 0);
}

TEST_CASE("what is no ELF file has no functions") {
  const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(find_functions(fd.get(), {"main"}));
  CHECK_FALSE(find_functions(-1, {"main"}));
}

TEST_CASE("every cut of a file is searched without a fault") {
  const std::vector<uint8_t> whole = own_file();
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 400) {
    (void)find_functions(ByteSource::memory(std::span(whole).first(size)), {"gpuprof_test_elf_function"});
  }
}

// A mapped file would raise SIGBUS here: its owner can take its pages away whenever it likes.
TEST_CASE("a file that its owner truncates while it is searched does no harm") {
  const auto path = std::filesystem::temp_directory_path() / ("gpuprof-cut-" + std::to_string(::getpid()));
  const std::vector<uint8_t> whole = own_file();
  const auto write_whole = [&] {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(whole.size()));
  };
  write_whole();
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::atomic<bool> stop{false};
  std::thread owner([&] {
    while (!stop) {
      (void)!::truncate(path.c_str(), 4096);
      write_whole();
    }
  });
  for (int i = 0; i < 200; ++i) {
    (void)find_functions(fd.get(), {"gpuprof_test_elf_function"});
  }
  stop = true;
  owner.join();
  const auto found = find_functions(fd.get(), {"gpuprof_test_elf_function"});
  CHECK((found && found->size() == 1));
  std::filesystem::remove(path);
}

// Measures how long unwind tables take to make, and how large they are: unwind_tables FILE... "build" reads the
// sections and makes the table. "first" also writes the table to a cache. "cached" reads it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "symbolize/elf/elf_image.h"
#include "unwind/cache/table_cache.h"

namespace {

using namespace gpuprof;
using Clock = std::chrono::steady_clock;

constexpr double kMiB = 1024.0 * 1024.0;

struct Timed {
  std::shared_ptr<const unwind::Table> table;
  double ms = 0;
};

Timed get(const std::string& directory, const symbolize::MappedFile& file) {
  const Clock::time_point begin = Clock::now();
  unwind::TableCache cache(directory);
  Timed timed{cache.get(file)};
  timed.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return timed;
}

// Returns the shortest time of three attempts. With `empty`, the cache directory is emptied before each attempt.
Timed best(const std::string& directory, const symbolize::MappedFile& file, bool empty) {
  Timed result;
  for (int i = 0; i < 3; ++i) {
    if (empty && !directory.empty()) {
      std::filesystem::remove_all(directory);
    }
    Timed timed = get(directory, file);
    if (i == 0 || timed.ms < result.ms) {
      result = std::move(timed);
    }
  }
  return result;
}

double section_mib(const symbolize::MappedFile& file) {
  const auto image = symbolize::ElfImage::parse(symbolize::ByteSource::file(file.fd.get()));
  const symbolize::ElfSection* section = image ? image->section(".eh_frame") : nullptr;
  return section != nullptr ? static_cast<double>(section->header.sh_size) / kMiB : 0;
}

void measure(const std::string& path, const std::string& directory) {
  symbolize::MappedFile file;
  file.path = path;
  file.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.fd || ::fstat(file.fd.get(), &status) != 0) {
    std::printf("%s: cannot be read\n", path.c_str());
    return;
  }
  const Timed built = best("", file, false);
  const Timed first = best(directory, file, true);
  const Timed cached = best(directory, file, false);
  if (!built.table) {
    std::printf("%s: no table\n", path.c_str());
    return;
  }
  std::printf("%8.1f %9.2f %9zu %6zu %8.1f %8.1f %8.1f %9.2f  %s\n", static_cast<double>(status.st_size) / kMiB,
              section_mib(file), built.table->pcs().size(), built.table->rules().size(), built.ms, first.ms, cached.ms,
              static_cast<double>(built.table->bytes()) / kMiB, path.substr(path.rfind('/') + 1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory = "/tmp/gpuprof-unwind-tables-XXXXXX";
  if (argc < 2 || ::mkdtemp(directory.data()) == nullptr) {
    std::fprintf(stderr, "usage: unwind_tables FILE...\n");
    return 2;
  }
  std::printf("%8s %9s %9s %6s %8s %8s %8s %9s  %s\n", "file MiB", "frame MiB", "rows", "rules", "build ms", "first ms",
              "cached", "table MiB", "file");
  for (int i = 1; i < argc; ++i) {
    measure(argv[i], directory + "/cache");
  }
  std::filesystem::remove_all(directory);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("largest resident size: %.0f MiB\n", static_cast<double>(usage.ru_maxrss) / 1024.0);
  return 0;
}

#include "record/process/process_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "catch.h"

using gpuprof::ProcessGuard;
using gpuprof::UniqueFd;
using gpuprof::record::ProcessTable;

namespace {

constexpr size_t kBytes = 4096;

uint64_t map_code(int fd, void* where = nullptr) {
  void* memory = ::mmap(where, kBytes, PROT_READ | PROT_EXEC,
                        MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0) | (where != nullptr ? MAP_FIXED : 0), fd, 0);
  REQUIRE(memory != MAP_FAILED);
  return reinterpret_cast<uint64_t>(memory);
}

const auto kSelf = static_cast<uint32_t>(::getpid());

// Returns a guard of this process, as if it had connected as the user.
std::shared_ptr<ProcessGuard> self_as(uid_t user) {
  auto guard = ProcessGuard::of_earlier({::getpid(), user, ::getegid()});
  REQUIRE(guard);
  return std::make_shared<ProcessGuard>(std::move(*guard));
}

void unmap(uint64_t address) {
  ::munmap(reinterpret_cast<void*>(address), kBytes);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

TEST_CASE("an unmapped address stays known until another mapping replaces it") {
  ProcessTable processes;
  processes.on_process(kSelf, self_as(::geteuid()));
  ProcessTable::Entry& self = processes.by_pid(kSelf);
  const auto first = self.maps;
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const uint64_t library = map_code(file.get());
  const uint64_t other = map_code(-1);
  CHECK(first->find(library) == nullptr);
  CHECK(processes.know_mappings(self, std::vector<uint64_t>{library}));
  REQUIRE(self.maps->find(library) != nullptr);
  CHECK(self.maps != first);  // other readers may still use the old view
  CHECK(first->find(library) == nullptr);

  // The library's address range stays mapped, but is not executable.
  REQUIRE(::mprotect(reinterpret_cast<void*>(library), kBytes, PROT_NONE) == 0);  // NOLINT
  const uint64_t later = map_code(-1);
  CHECK(processes.know_mappings(self, std::vector<uint64_t>{later}));
  REQUIRE(self.maps->find(later) != nullptr);
  REQUIRE(self.maps->find(library) != nullptr);
  CHECK(self.maps->find(library)->file != nullptr);

  // If another file or memory is mapped at a known address, the next periodic check finds it.
  map_code(-1, reinterpret_cast<void*>(library));  // NOLINT
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK(processes.know_mappings(self, std::vector<uint64_t>{library}));
  REQUIRE(self.maps->find(library) != nullptr);
  CHECK(self.maps->find(library)->file == nullptr);
  for (const uint64_t address : {library, other, later}) {
    unmap(address);
  }
}

TEST_CASE("a process that now has another user, or no identity, is not read") {
  ProcessTable processes;
  const auto is_read = [&](const char* backend) {
    const ProcessTable::Entry& self = processes.on_source(kSelf, backend);
    CHECK(self.image->command.empty() == self.maps->mappings().empty());
    return !self.image->command.empty();
  };
  CHECK_FALSE(is_read("a"));
  // This process was another user's when it connected, and has executed a set-user-id program since then.
  processes.on_process(kSelf, self_as(::geteuid() + 1));
  CHECK_FALSE(is_read("a"));
  CHECK_FALSE(processes.read_again(processes.by_pid(kSelf)));
  CHECK(processes.by_pid(kSelf).maps->mappings().empty());
  processes.on_process(kSelf, nullptr);
  CHECK_FALSE(is_read("a"));
  processes.on_process(kSelf, self_as(::geteuid()));
  CHECK(is_read("a"));
}

TEST_CASE("an address is looked up in the file that was mapped when the stack was walked") {
  ProcessTable processes;
  processes.on_process(kSelf, self_as(::geteuid()));
  ProcessTable::Entry& self = processes.by_pid(kSelf);
  const UniqueFd first(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const UniqueFd second(::open("/bin/sh", O_RDONLY | O_CLOEXEC));
  REQUIRE(second);
  const auto read = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    while (!processes.read_anew(self)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return self.maps;
  };
  const std::vector<uint64_t> library = {map_code(first.get())};
  const auto before = read();
  const auto same = read();
  CHECK(same != before);
  CHECK(ProcessTable::other_view(self, before->read_ns(), library) == nullptr);
  map_code(second.get(), reinterpret_cast<void*>(library[0]));  // NOLINT
  const auto after = read();
  REQUIRE(ProcessTable::other_view(self, before->read_ns(), library) != nullptr);
  CHECK(ProcessTable::other_view(self, before->read_ns(), library)->find(library[0])->file ==
        before->find(library[0])->file);
  CHECK(ProcessTable::other_view(self, same->read_ns(), library) != nullptr);
  CHECK(ProcessTable::other_view(self, after->read_ns(), library) == nullptr);
  CHECK(ProcessTable::other_view(self, before->read_ns(), {}) == nullptr);
  CHECK(ProcessTable::other_view(self, 0, library) == nullptr);

  REQUIRE(::mprotect(reinterpret_cast<void*>(library[0]), kBytes, PROT_NONE) == 0);  // NOLINT
  CHECK(read()->find(library[0])->gone);
  REQUIRE(::mprotect(reinterpret_cast<void*>(library[0]), kBytes, PROT_READ | PROT_EXEC) == 0);  // NOLINT
  CHECK_FALSE(read()->find(library[0])->gone);
  unmap(library[0]);
}

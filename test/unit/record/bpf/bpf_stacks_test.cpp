// Compares stacks of the BPF table walk on this kernel with backtrace(). Compiled without frame pointers.

#include <dlfcn.h>
#include <sys/mman.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "bpf_rig.h"

using namespace gpuprof::test;

TEST_CASE("random stacks without frame pointers are equal to those of backtrace()", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  Sink sink;
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    descend(static_cast<int>(random() % 100), static_cast<unsigned>(random()), launch);
    if (i % 100 == 99) {
      engine->drain(sink);
    }
  }
  CHECK(sink.launches.size() == 1000);
  CHECK(sink.stacks.size() > 500);
  CHECK(count_wrong(sink) == 0);
  CHECK(engine->losses().stacks == 0);
}

TEST_CASE("a stack of 2000 frames is complete, and deeper stacks keep their innermost frames", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  Sink sink;
  descend(2000, 7, launch);
  descend(6000, 7, launch);
  engine->drain(sink);
  CHECK(matches(sink.stack_of(1), expected.at(1)));
  const Stack& cut = sink.stack_of(2);
  REQUIRE(cut.words.size() == GPUPROF_STACK_MAX_WORDS);
  CHECK(cut.flags == GPUPROF_STACK_TRUNCATED);
  REQUIRE(expected.at(2).size() >= GPUPROF_STACK_MAX_WORDS);
  const bool same = std::equal(cut.words.begin() + 2, cut.words.end(), expected.at(2).begin());
  CHECK(same);
}

TEST_CASE("only known processes are walked, and completely only with tables", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const auto pid = static_cast<uint32_t>(::getpid());
  const auto same_launch = [] { descend(20, 1, launch); };
  Sink sink;
  for (int i = 0; i < 2; ++i) {
    same_launch();
  }
  engine->on_process_end(pid);
  same_launch();
  engine->expect_process(pid, false);  // the process is known, but has no tables yet
  same_launch();
  gpuprof::symbolize::ProcessMaps maps(pid, gpuprof::symbolize::make_file_cache());
  REQUIRE(maps.refresh());
  engine->on_process(maps);
  same_launch();
  engine->drain(sink);
  CHECK(matches(sink.stack_of(1), expected.at(1)));
  CHECK(sink.launches.count(3) == 0);
  CHECK((sink.stack_of(4).flags & GPUPROF_STACK_TRUNCATED) != 0);
  CHECK(matches(sink.stack_of(5), expected.at(5)));
  CHECK(sink.launches.at(1) != sink.launches.at(5));  // stack ids of a reused pid are new
  engine->expect_process(pid, false);                 // the existing tables stay valid
  same_launch();
  engine->expect_process(pid, true);
  same_launch();
  engine->drain(sink);
  CHECK(matches(sink.stack_of(6), expected.at(6)));
  CHECK((sink.stack_of(7).flags & GPUPROF_STACK_TRUNCATED) != 0);
}

TEST_CASE("loader events are reported, and stacks stay complete meanwhile", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  void* const library = ::dlopen("libgcc_s.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  Dl_info info{};
  REQUIRE(::dladdr(::dlsym(library, "_Unwind_Backtrace"), &info) != 0);
  const auto copy = std::filesystem::temp_directory_path() / ("copy-" + std::to_string(::getpid()) + ".so");
  std::filesystem::copy_file(info.dli_fname, copy, std::filesystem::copy_options::overwrite_existing);
  Sink sink;
  engine->drain(sink);
  sink.loaders.clear();
  void* const loaded = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(copy);
  REQUIRE(loaded != nullptr);
  engine->drain(sink);
  CHECK(sink.loaders.size() == 1);
  ::dlclose(loaded);
  descend(20, 1, launch);  // the walk compares each frame's mapping with the current mappings
  engine->drain(sink);
  CHECK(sink.loaders == std::vector<uint32_t>(2, static_cast<uint32_t>(::getpid())));
  CHECK(matches(sink.stack_of(1), expected.at(1)));
  ::dlclose(library);
}

TEST_CASE("files of processes that have ended are closed", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  const auto pid = static_cast<uint32_t>(::getpid());
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  engine->on_process_end(pid);
  const auto before = open_files();
  for (int i = 0; i < 3; ++i) {
    gpuprof::symbolize::ProcessMaps maps(pid, gpuprof::symbolize::make_file_cache());
    REQUIRE(maps.refresh());
    engine->on_process(maps);
    engine->on_process(maps);
    engine->on_process_end(pid);
  }
  CHECK(open_files() == before);
}

TEST_CASE("a thread's name is sent once, and again when it changes", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  std::thread([] {
    for (const char* name : {"first", "first", "second"}) {
      ::pthread_setname_np(::pthread_self(), name);
      descend(3, 1, launch);
    }
  }).join();
  Sink sink;
  engine->drain(sink);
  // If Linux cannot allocate a thread's BPF storage, the name arrives with each launch, so repeats are removed.
  sink.threads.erase(std::unique(sink.threads.begin(), sink.threads.end()), sink.threads.end());
  CHECK(sink.threads == std::vector<std::string>{"first", "second"});
  CHECK(count_wrong(sink) == 0);
}

TEST_CASE("stacks continue through signal handlers on the same or an alternate stack", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  constexpr size_t kAlternateBytes = 256 * 1024;
  const std::unique_ptr<char[]> memory(new char[kAlternateBytes]);
  stack_t alternate{};
  alternate.ss_sp = memory.get();
  alternate.ss_size = kAlternateBytes;
  stack_t before{};
  REQUIRE(::sigaltstack(&alternate, &before) == 0);
  for (const int flags : {0, SA_ONSTACK}) {
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = [](int) { descend(5, 1, launch); };
    action.sa_flags = flags;
    ::sigaction(SIGUSR1, &action, &old);
    descend(10, 3, [] { ::raise(SIGUSR1); });
    ::sigaction(SIGUSR1, &old, nullptr);
  }
  ::sigaltstack(&before, nullptr);
  Sink sink;
  engine->drain(sink);
  CHECK(sink.launches.size() == 2);
  CHECK(count_wrong(sink) == 0);
  const std::vector<uint64_t>& words = sink.stack_of(2).words;
  const auto exact =
      std::count_if(words.begin(), words.end(), [](uint64_t w) { return (w & GPUPROF_WORD_EXACT) != 0; });
  CHECK(exact == 1);
}

namespace {

// A stack in pages of a file. Such pages can be removed from the page table at any time.
struct FileStack {
  static constexpr size_t kBytes = 1U << 20;
  FileStack() : fd(::memfd_create("stack", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(fd, kBytes) == 0);
    memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED);
  }
  ~FileStack() {
    ::munmap(memory, kBytes);
    ::close(fd);
  }
  int fd;
  void* memory;
};
FileStack* file_stack = nullptr;

// Launches after removing the callers' stack memory from the page table. Keeps the page of this function's frame and
// the next one.
__attribute__((noinline)) void launch_paged_out() {
  constexpr uint64_t kPage = 4096;
  const uint64_t begin = (reinterpret_cast<uint64_t>(__builtin_frame_address(0)) / kPage + 2) * kPage;
  const uint64_t end = reinterpret_cast<uint64_t>(file_stack->memory) + FileStack::kBytes;
  static void* addresses[kMaxDepth];
  const int count = backtrace(addresses, kMaxDepth);
  expected[++last_correlation] = {};
  for (int i = 1; i < count; ++i) {
    expected[last_correlation].push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  gpuprof_launch_probe(last_correlation, 1, 0, nullptr);
  asm volatile("");
}

}  // namespace

TEST_CASE("a stack in pages that are paged out is complete", "[bpf]") {
  const auto engine = engine_or_skip();
  if (!engine) {
    return;
  }
  if (!can_wait_for_pages(*engine)) {
    std::cerr << "skipped: " << engine->note() << "\n";
    return;
  }
  FileStack stack;
  file_stack = &stack;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack.memory, FileStack::kBytes);
  pthread_t thread{};
  const auto body = [](void*) -> void* {
    descend(1000, 5, launch_paged_out);
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, body, nullptr) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  Sink sink;
  engine->drain(sink);
  CHECK(expected.at(1).size() > 1000);
  CHECK(matches(sink.stack_of(1), expected.at(1)));
}

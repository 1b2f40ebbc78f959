#include "wire/batch_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "catch.h"

namespace {

using Words = std::vector<uint32_t>;

// Holds buffers at GPU addresses. Reads of any other address fail.
class Memory {
 public:
  void put(uint64_t address, const Words& words) { buffers_[address] = words; }

  gpuprof_batch_scan scan(uint64_t from, uint64_t dynamic = 0) const {
    gpuprof_batch_scan scan{};
    scan.dynamic = dynamic;
    scan.at = from;
    for (unsigned i = 0; i < GPUPROF_BATCH_COMMANDS && scan.state == GPUPROF_BATCH_RUNS; ++i) {
      std::array<uint32_t, GPUPROF_BATCH_WINDOW> words{};
      if (const uint32_t count = read(gpuprof_batch_next(&scan), words)) {
        gpuprof_batch_step(&scan, words.data(), count);
      } else {
        gpuprof_batch_unreadable(&scan);
      }
    }
    return scan;
  }

 private:
  // Returns the number of words that could be read.
  uint32_t read(uint64_t address, std::array<uint32_t, GPUPROF_BATCH_WINDOW>& words) const {
    auto buffer = buffers_.upper_bound(address);
    if (buffer == buffers_.begin()) {
      return 0;
    }
    --buffer;
    const uint64_t first = (address - buffer->first) / 4;
    if (first >= buffer->second.size()) {
      return 0;
    }
    const size_t count = std::min<size_t>(words.size(), buffer->second.size() - first);
    std::copy_n(buffer->second.begin() + static_cast<long>(first), count, words.begin());
    return static_cast<uint32_t>(count);
  }

  std::map<uint64_t, Words> buffers_;
};

constexpr uint32_t kEnd = 0x05000000;  // MI_BATCH_BUFFER_END

Words jump(uint64_t to, bool call = false) {
  return {0x18800001U | (call ? 1U << 22 : 0U), static_cast<uint32_t>(to), static_cast<uint32_t>(to >> 32)};
}

Words command(uint32_t header, size_t count, const std::map<size_t, uint32_t>& values) {
  Words words(count);
  words[0] = header | static_cast<uint32_t>(count - 2);
  for (const auto& [at, value] : values) {
    words[at] = value;
  }
  return words;
}

Words walker(uint32_t start) {
  return command(0x72080000, 39, {{18, start}});
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::vector<uint64_t> starts(const gpuprof_batch_scan& scan) {
  return {scan.starts, scan.starts + scan.count};
}

}  // namespace

TEST_CASE("the kernels of GPGPU_WALKER are found in interface descriptors") {
  constexpr uint64_t kDynamic = 0x1234'0000'0000;
  constexpr uint32_t kHeap = 0x40000000;  // offset from kDynamic
  const Words bases = command(0x61010000, 19, {{6, 1}, {7, 0x1234}, {10, 0x2000001}});
  const auto load = [](uint32_t bytes) { return Words{0x70020002, 0, bytes, kHeap}; };
  const auto walk = [](uint32_t which) { return command(0x71050000, 15, {{1, which}}); };
  const Words end = {kEnd};
  Words heap(3 * 8);
  heap[0] = 0x8000;
  heap[1] = 1;
  heap[8] = 0x9000 | 0x3f;  // the lower bits are not part of the address
  Memory memory;
  memory.put(kDynamic + kHeap, heap);

  memory.put(0x1000, bases + load(96) + walk(0) + walk(1) + end);
  auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_ENDED);
  CHECK(starts(scan) == std::vector<uint64_t>{0x1'0000'8000, 0x9000});
  CHECK(scan.base == 0x2000000);
  CHECK(scan.dynamic == kDynamic);

  // This batch does not set the dynamic state base address, so the scan uses the one of an earlier batch.
  memory.put(0x2000, load(96) + walk(1) + end);
  CHECK(starts(memory.scan(0x2000, kDynamic)) == std::vector<uint64_t>{0x9000});
  // If no batch has set the dynamic state base address, the scan cannot read the descriptor of walk(1), so this kernel
  // is unknown. The scan still finds the kernel of the later walker.
  memory.put(0x3000, load(96) + walk(1) + walker(0xa000) + end);
  scan = memory.scan(0x3000);
  CHECK(starts(scan) == std::vector<uint64_t>{0xa000});
  CHECK(scan.state == GPUPROF_BATCH_CUT);

  // The kernel of walk(N) is unknown if descriptor N is not loaded, not written or not readable.
  const auto only = [&](const Words& commands) {
    memory.put(0x4000, bases + commands + walker(0xa000) + end);
    const auto found = memory.scan(0x4000);
    return std::pair(starts(found) == std::vector<uint64_t>{0xa000}, found.state == GPUPROF_BATCH_CUT);
  };
  CHECK(only(load(32) + walk(1)) == std::pair(true, true));
  CHECK(only(load(96) + walk(2)) == std::pair(true, true));
  CHECK(only(load(0x10000) + walk(63)) == std::pair(true, true));
  CHECK(only(walk(0)) == std::pair(true, true));

  // The walker of Gen7 has another length. What it holds is unknown.
  memory.put(0x5000, bases + load(96) + command(0x71050000, 11, {}) + walker(0xa000) + end);
  CHECK(memory.scan(0x5000).state == GPUPROF_BATCH_UNKNOWN);
}

TEST_CASE("the kernels of a batch are the ones that its commands name") {
  Memory memory;
  memory.put(0x1000, Words{0, 0} + command(0x61010000, 22, {{10, 0x20000001}, {11, 0x7}}) +
                         command(0x61020000, 3, {{1, 0x1c0}}) + Words{0x69041234} + walker(0x8000) +
                         command(0x78100000, 9, {{1, 0x100}}) + command(0x78110000, 10, {{1, 0x200}}) +
                         command(0x781d0000, 11, {{1, 0x300}}) + command(0x781b0000, 9, {{3, 0x400}}) +
                         command(0x78200000, 12, {{1, 0x500}, {8, 0x600}, {10, 0x700}}) + Words{kEnd});
  const auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_ENDED);
  CHECK(scan.base == 0x720000000);
  CHECK(starts(scan) == std::vector<uint64_t>{0x1c0 | GPUPROF_BATCH_SYSTEM_ROUTINE, 0x8000, 0x100, 0x200, 0x300, 0x400,
                                              0x500, 0x600, 0x700});
}

TEST_CASE("each generation has its own layout of the commands that start kernels") {
  Memory memory;
  const auto found = [&](const Words& words) {
    memory.put(0x1000, words + Words{kEnd});
    const auto scan = memory.scan(0x1000);
    CHECK(scan.state == GPUPROF_BATCH_ENDED);
    return starts(scan);
  };
  using Starts = std::vector<uint64_t>;
  // COMPUTE_WALKER of DG2 and PVC, then of Xe2 and Xe3. The low bits and the next dword are not part of the address.
  CHECK(found(command(0x72080000, 39, {{18, 0x12340 | 0x3f}, {19, 0x234}})) == Starts{0x12340});
  CHECK(found(command(0x72080000, 40, {{18, 0x7}, {19, 0x12340}, {20, 0x234}})) == Starts{0x12340});
  CHECK(found(command(0x720a8000, 40, {{19, 0x12340}})) == Starts{0x12340});  // a variant of the command
  CHECK(found(command(0x72200000, 64, {{19, 0x12340}, {20, 0x7f}})) == Starts{0x7f'0001'2340});  // Xe3p
  CHECK(found(command(0x7c010000, 44, {{23, 0x12340}})) == Starts{0x12340});
  CHECK(found(command(0x7c010000, 45, {{24, 0x12340}})) == Starts{0x12340});
  CHECK(found(command(0x787a0000, 8, {{1, 0x100}})) == Starts{0x100});
  CHECK(found(command(0x787d0000, 7, {{1, 0x200}})) == Starts{0x200});
  CHECK(found(command(0x781b0000, 8, {{3, 0x400}})) == Starts{0x400});
  CHECK(found(command(0x781d0000, 11, {{1, 0x300}, {9, 0x340}})) == Starts{0x300, 0x340});
  // In PS of Xe2, bits 0 and 1 of the dword are flags, which are set for shaders that are off, too.
  CHECK(found(command(0x78200000, 12, {{1, 0x501}, {8, 0x2}})) == Starts{0x500});
}

TEST_CASE("the scan skips commands without kernels by their own lengths") {
  Memory memory;
  // RESOURCE_BARRIER, also with its predicate; MI_STORE_DATA_IMM and 3DSTATE_SO_DECL_LIST have longer lengths.
  memory.put(0x1000, command(0xac000000, 5, {}) + command(0xad000000, 5, {}) + command(0x10000000, 300, {{299, 1}}) +
                         command(0x79170000, 500, {{499, 1}}) + walker(0x40) + Words{kEnd});
  const auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_ENDED);
  CHECK(starts(scan) == std::vector<uint64_t>{0x40});
}

TEST_CASE("the scan ends at a command that it does not know") {
  Memory memory;
  for (const uint32_t unknown : {0xdeadbeefU, 0x78ff0000U, 0x72080024U /* 38 dwords */, 0x1f800000U, 0x61010002U}) {
    memory.put(0x1000, walker(0x40) + Words{unknown, 0, 0, 0} + walker(0x80) + Words{kEnd});
    const auto scan = memory.scan(0x1000);
    CHECK(scan.state == GPUPROF_BATCH_UNKNOWN);
    CHECK(scan.unknown == unknown);
    CHECK(starts(scan) == std::vector<uint64_t>{0x40});
  }
}

TEST_CASE("a batch can switch base addresses off") {
  Memory memory;
  const Words walker_2 = command(0x72200000, 64, {{19, 0x8040}, {20, 0xffff8000}});
  memory.put(0x1000, command(0x61010000, 22, {{3, 1U << 30}, {10, 0x2000001}}) + walker_2 + Words{kEnd});
  const auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_ENDED);
  CHECK(scan.base == GPUPROF_BATCH_NO_BASE);
  CHECK(starts(scan) == std::vector<uint64_t>{0x8000'0000'8040});

  memory.put(0x2000, command(0x61010000, 22, {{10, 0x2000001}, {11, 0xffff8000}}) + Words{kEnd});
  CHECK(memory.scan(0x2000).base == 0x8000'0200'0000);
}

TEST_CASE("shaders that are switched off are not kernels") {
  Memory memory;
  memory.put(0, command(0x78100000, 9, {}) + command(0x78200000, 12, {{1, 0x500}}) + Words{kEnd});
  CHECK(starts(memory.scan(0)) == std::vector<uint64_t>{0x500});
}

TEST_CASE("the scan follows a batch to the batches that it is chained to") {
  Memory memory;
  memory.put(0x1000, walker(0x40) + jump(0x5000));
  memory.put(0x5000, jump(0x9000));
  memory.put(0x9000, jump(0x1234567890));
  memory.put(0x1234567890, walker(0x8000) + Words{kEnd});
  const auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_ENDED);
  CHECK(starts(scan) == std::vector<uint64_t>{0x40, 0x8000});
}

TEST_CASE("the scan continues after a called batch, up to three levels deep") {
  Memory memory;
  memory.put(0x1000, jump(0x2000, true) + walker(0x40) + Words{kEnd});
  memory.put(0x2000, jump(0x3000, true) + walker(0x80) + Words{kEnd});
  memory.put(0x3000, jump(0x4000, true) + walker(0xc0) + Words{kEnd});
  memory.put(0x4000, walker(0x100) + Words{kEnd});
  const auto whole = memory.scan(0x1000);
  CHECK(whole.state == GPUPROF_BATCH_ENDED);
  CHECK(starts(whole) == std::vector<uint64_t>{0x100, 0xc0, 0x80, 0x40});
  memory.put(0x4000, jump(0x5000, true));
  CHECK(memory.scan(0x1000).state == GPUPROF_BATCH_CUT);
}

TEST_CASE("the scan of a batch that jumps back to itself ends") {
  Memory memory;
  memory.put(0x1000, walker(0x40) + jump(0x1000));
  const auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_CUT);
  CHECK(scan.jumps == GPUPROF_BATCH_JUMPS);
  CHECK(scan.count == 1);
}

TEST_CASE("the scan distinguishes unwritten batches from complete ones") {
  Memory memory;
  memory.put(0x1000, walker(0x40) + Words(4096));  // the rest of the batch is not written yet
  const auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_UNWRITTEN);
  CHECK(starts(scan) == std::vector<uint64_t>{0x40});
  memory.put(0x1000, walker(0x40) + jump(0x7000));  // the batch jumps to an unreadable address
  CHECK(memory.scan(0x1000).state == GPUPROF_BATCH_UNWRITTEN);
  memory.put(0x1000, walker(0x40) + Words{0x72080025, 0, 0});  // the rest of the walker is unreadable
  const auto cut = memory.scan(0x1000);
  CHECK(cut.state == GPUPROF_BATCH_UNWRITTEN);
  CHECK(starts(cut) == std::vector<uint64_t>{0x40});
}

TEST_CASE("only the first of very many kernels are kept") {
  Memory memory;
  Words words;
  for (uint32_t i = 1; i <= 100; ++i) {
    words = words + walker(i * 64);
  }
  memory.put(0, words + Words{kEnd});
  const auto scan = memory.scan(0);
  CHECK(scan.state == GPUPROF_BATCH_CUT);
  CHECK(scan.count == GPUPROF_BATCH_KERNELS);
  CHECK(scan.starts[GPUPROF_BATCH_KERNELS - 1] == GPUPROF_BATCH_KERNELS * 64);
}

TEST_CASE("a kernel that is started repeatedly takes one entry") {
  Memory memory;
  Words words;
  for (uint32_t i = 0; i < 100; ++i) {
    words = words + walker(0) + walker(0x40);
  }
  memory.put(0x1000, words + walker(0x8000) + Words{kEnd});
  const auto scan = memory.scan(0x1000);
  CHECK(scan.state == GPUPROF_BATCH_ENDED);
  CHECK(starts(scan).back() == 0x8000);
  CHECK(scan.count < 6);
}

// Reads code objects from memory laid out like CPython 3.10 to 3.12, and from invalid memory.
#include "python/python_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/monotonic_clock.h"
#include "catch.h"

namespace gpuprof::injection {
namespace {

struct Code {
  uint32_t version = 0;
  uint32_t first_line = 0;
  std::string name;
  std::string file;
  std::string table;
};

class Segment {
 public:
  Segment()
      : memory_(mmap(nullptr, GPUPROF_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Segment() { munmap(memory_, GPUPROF_SEGMENT_BYTES); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] gpuprof_segment* get() const { return static_cast<gpuprof_segment*>(memory_); }

  // Returns the records since the last call, by id.
  std::map<uint32_t, Code> codes() const {
    std::map<uint32_t, Code> found;
    for (uint32_t i = 0; i < GPUPROF_RING_COUNT; ++i) {
      gpuprof_ring& ring = get()->rings[i];
      const char* data =
          static_cast<const char*>(memory_) + GPUPROF_SEGMENT_DATA_OFFSET + size_t{i} * GPUPROF_RING_BYTES;
      for (; ring.tail < ring.head;) {
        const char* at = data + ring.tail % GPUPROF_RING_BYTES;
        gpuprof_record record = {};
        std::memcpy(&record, at, sizeof(record));
        if (record.type == GPUPROF_RECORD_CODE) {
          take(at, &found);
        }
        ring.tail += record.bytes;
      }
    }
    return found;
  }

  void fill(bool full) const {
    for (gpuprof_ring& ring : get()->rings) {
      ring.tail = full ? ring.head - GPUPROF_RING_BYTES : ring.head;
    }
  }

 private:
  static void take(const char* at, std::map<uint32_t, Code>* found) {
    gpuprof_code head = {};
    std::memcpy(static_cast<void*>(&head), at, sizeof(head));
    const char* text = at + sizeof(head);
    Code code = {head.version, head.first_line, {text, head.name_bytes}, {}, {}};
    code.file.assign(text + head.name_bytes, head.file_bytes);
    code.table.assign(text + head.name_bytes + head.file_bytes, head.line_table_bytes);
    (*found)[head.id] = code;
  }

  void* memory_;
};

class Objects {
 public:
  explicit Objects(uint32_t version) {
    REQUIRE(version < 0x030d0000);
    REQUIRE(layout_of_python(version, nullptr, &layout_) == nullptr);
    layout_.wire.code_type = reinterpret_cast<uint64_t>(&layout_);
  }

  [[nodiscard]] const PythonLayout& layout() const { return layout_; }

  template <typename T>
  static void put(uint64_t object, uint16_t field, T value) {
    std::memcpy(reinterpret_cast<char*>(object) + field, &value, sizeof(value));
  }

  // Builds a string of `width` bytes a character. `ascii` is true if all characters are ASCII.
  uint64_t text(const std::u32string& characters, uint32_t width, bool ascii) {
    const uint64_t object = make(layout_.wire.text_wide + characters.size() * 4 + 8);
    put(object, layout_.wire.text_length, uint64_t{characters.size()});
    const uint32_t state = width | 1U << 3U | (ascii ? 1U << 4U : 0U);
    put(object, layout_.wire.text_state, state << layout_.wire.text_kind_shift);
    uint16_t at = ascii ? layout_.wire.text_ascii : layout_.wire.text_wide;
    for (const char32_t character : characters) {
      std::memcpy(reinterpret_cast<char*>(object) + at, &character, width);
      at = static_cast<uint16_t>(at + width);
    }
    return object;
  }

  uint64_t bytes(const std::string& value) {
    const uint64_t object = make(layout_.wire.bytes_data + value.size() + 8);
    put(object, layout_.wire.bytes_size, uint64_t{value.size()});
    std::memcpy(reinterpret_cast<char*>(object) + layout_.wire.bytes_data, value.data(), value.size());
    return object;
  }

  uint64_t code(uint64_t name, uint64_t file, uint64_t table, uint32_t number) {
    const uint64_t object = make(512);
    put(object, layout_.wire.code_type_field, layout_.wire.code_type);
    put(object, layout_.wire.code_name, name);
    if (layout_.wire.code_qualname != GPUPROF_PYTHON_NONE) {
      put(object, layout_.wire.code_qualname, name);
      if (layout_.wire.code_version != GPUPROF_PYTHON_NONE) {
        put(object, layout_.wire.code_version, number);
      }
    }
    put(object, layout_.wire.code_filename, file);
    put(object, layout_.wire.code_line_table, table);
    put(object, layout_.wire.code_first_line, uint32_t{7});
    return object;
  }

 private:
  uint64_t make(size_t bytes) {
    memory_.push_back(std::make_unique<std::vector<uint64_t>>(bytes / 8 + 1));
    return reinterpret_cast<uint64_t>(memory_.back()->data());
  }

  PythonLayout layout_ = {};
  std::vector<std::unique_ptr<std::vector<uint64_t>>> memory_;
};

constexpr uint32_t kVersions[] = {0x03090cf0, 0x030a0df0, 0x030b07f0, 0x030c01f0};

// Fakes the objects of one interpreter version, and reads its code objects with an empty cache.
struct Reader {
  explicit Reader(uint32_t version, bool careful = false) : objects(version), memory(careful) { reset_code(); }

  [[nodiscard]] uint32_t id_of(uint64_t code) { return id_of(code, thread_state()); }
  uint32_t id_of(uint64_t code, ThreadState& state) {
    return memory.careful() ? id_of<true>(code, state) : id_of<false>(code, state);
  }
  template <bool kCareful>
  uint32_t id_of(uint64_t code, ThreadState& state, const FrameMemory<kCareful>& from = {}) {
    check_near(&near);
    const auto* found = find_near<kCareful>(from, objects.layout(), code, &near);
    return found != nullptr ? found->id : code_id<kCareful>(from, segment.get(), state, objects.layout(), code, &near);
  }
  uint64_t code_named(const std::u32string& name) {
    const uint64_t text = objects.text(name, 1, true);
    return objects.code(text, text, objects.bytes("x"), 1);
  }
  [[nodiscard]] const gpuprof_python_layout& wire() const { return objects.layout().wire; }

  Segment segment;
  Objects objects;
  PythonMemory memory;
  NearCodes near = {};
};

TEST_CASE("a code object is sent once, with its strings as UTF-8") {
  for (const uint32_t version : kVersions) {
    for (const bool careful : {false, true}) {
      Reader reader(version, careful);
      // U+DCFF is Python's representation of the byte 0xFF, which is not valid UTF-8.
      const std::u32string file = {U'/', U'a', U'\u65e5', char32_t{0xdcff}, U'.', U'p', U'y'};
      const uint64_t code = reader.objects.code(reader.objects.text(U"n\u00e4me", 1, false),
                                                reader.objects.text(file, 2, false), reader.objects.bytes("lines"), 1);
      const uint32_t id = reader.id_of(code);
      CHECK(id != 0);
      const auto told = reader.segment.codes();
      REQUIRE(told.count(id) == 1);
      CHECK(told.at(id).name == "n\u00e4me");
      CHECK(told.at(id).file == "/a\u65e5\xff.py");
      CHECK(told.at(id).table == "lines");
      CHECK(told.at(id).first_line == 7);
      CHECK(told.at(id).version == version);
      CHECK(reader.id_of(code) == id);
      CHECK(reader.segment.codes().empty());
    }
  }
}

TEST_CASE("strings of 4 bytes a character are read, and a long name is cut between characters") {
  Reader reader(kVersions[3]);
  const uint64_t file = reader.objects.text(U"f", 1, true);
  const uint64_t table = reader.objects.bytes("");
  const uint64_t code =
      reader.objects.code(reader.objects.text(std::u32string(5000, U'\U0001d518'), 4, false), file, table, 1);
  const uint32_t id = reader.id_of(code);
  const auto told = reader.segment.codes();
  REQUIRE(told.count(id) == 1);
  const std::string& name = told.at(id).name;
  CHECK(name.size() == 4096);
  CHECK(name.substr(0, 4) == "\U0001d518");
  CHECK(name.substr(4092) == "\U0001d518");
  CHECK(told.at(id).table.empty());
}

TEST_CASE("another code object at the same address has another id") {
  for (const uint32_t version : kVersions) {
    Reader reader(version);
    const uint64_t table = reader.objects.bytes("first table");
    const uint64_t name = reader.objects.text(U"<lambda>", 1, true);
    const uint64_t code = reader.objects.code(name, name, table, 1);
    const uint32_t first = reader.id_of(code);
    if (reader.wire().code_version != GPUPROF_PYTHON_NONE) {
      Objects::put(code, reader.wire().code_version, uint32_t{2});
    } else {
      Objects::put(table, reader.wire().bytes_data, char{'F'});
    }
    const uint32_t second = reader.id_of(code);
    CHECK(second != first);
    CHECK(reader.segment.codes().size() == 2);
  }
}

TEST_CASE("code recompiled into the same memory gets a new id if its file, name or lines differ") {
  for (const uint32_t version : {kVersions[0], kVersions[1], kVersions[2], kVersions[3]}) {
    for (const bool careful : {false, true}) {
      Reader reader(version, careful);
      const gpuprof_python_layout& wire = reader.wire();
      const uint64_t name = reader.objects.text(U"K0000001.forward", 1, true);
      const uint64_t file = reader.objects.text(U"<eval_with_key>.1", 1, true);
      const uint64_t table = reader.objects.bytes(std::string(300, 'x'));
      // Version 0: once Python 3.12 has given out all its version numbers, it gives 0 to new code objects.
      const uint64_t code = reader.objects.code(name, file, table, 0);
      const uint32_t first = reader.id_of(code);
      CHECK(reader.id_of(code) == first);
      Objects::put(file, static_cast<uint16_t>(wire.text_ascii + 16), '2');
      const uint32_t second = reader.id_of(code);
      Objects::put(name, static_cast<uint16_t>(wire.text_ascii + 7), '2');
      const uint32_t third = reader.id_of(code);
      Objects::put(table, static_cast<uint16_t>(wire.bytes_data + 150), 'y');
      const uint32_t fourth = reader.id_of(code);
      CHECK(std::set<uint32_t>{first, second, third, fourth}.size() == 4);
      const auto told = reader.segment.codes();
      REQUIRE(told.count(fourth) == 1);
      CHECK(told.at(second).file == "<eval_with_key>.2");
      CHECK(told.at(third).name == "K0000002.forward");
      CHECK(told.at(fourth).table[150] == 'y');
    }
  }
}

TEST_CASE("locks that a thread of the last recording holds do not block the next recording") {
  Reader reader(kVersions[1]);
  const uint64_t code = reader.code_named(U"busy");
  CHECK(reader.id_of(code) != 0);
  CodeTable* former = code_table;
  former->sets_lock = 1;
  former->scratch_lock = 1;
  reset_code();
  CHECK(reader.segment.codes().size() == 1);
  const uint32_t id = reader.id_of(code);
  CHECK(id != 0);
  CHECK(reader.segment.codes().count(id) == 1);
  CHECK(code_table != former);
  CHECK(former->sets_lock == 1);
  CHECK(former->scratch_lock == 1);
}

TEST_CASE("a cache entry without an id gets an id") {
  Reader reader(kVersions[1]);
  const uint64_t code = reader.code_named(U"half");
  CHECK(reader.id_of(code) != 0);
  for (CodeSet& set : code_table->sets) {
    set.entries[0].id = 0;
  }
  const uint32_t id = reader.id_of(code);
  CHECK(id != 0);
  CHECK(reader.id_of(code) == id);
}

TEST_CASE("a code object that found no free space is sent again under its id") {
  Reader reader(kVersions[3]);
  const uint64_t code = reader.code_named(U"late");
  reader.segment.fill(true);
  const uint32_t id = reader.id_of(code);
  CHECK(id != 0);
  reader.segment.fill(false);
  CHECK(reader.id_of(code) == id);
  CHECK(reader.segment.codes().count(id) == 1);
}

TEST_CASE("code objects are sent again to a new recorder") {
  Reader reader(kVersions[1]);
  const uint64_t code = reader.code_named(U"again");
  CHECK(reader.id_of(code) != 0);
  CHECK(reader.segment.codes().size() == 1);
  reset_code();
  CHECK(reader.id_of(code) != 0);
  CHECK(reader.segment.codes().size() == 1);
}

TEST_CASE("a code object evicted from the cache gets a new id") {
  Reader reader(kVersions[3]);
  const uint64_t code = reader.code_named(U"many");
  std::map<uint32_t, uint32_t> seen;
  for (uint32_t number = 1; number <= 2 * kCodeSets * kCodeWays; ++number) {
    Objects::put(code, reader.wire().code_version, number);
    ++seen[reader.id_of(code)];
    reader.segment.fill(false);
  }
  CHECK(seen.count(0) == 0);
  CHECK(seen.size() == size_t{2} * kCodeSets * kCodeWays);
}

TEST_CASE("a line table that is too long is sent without columns") {
  Reader reader(kVersions[3]);
  const uint64_t name = reader.objects.text(U"long", 1, true);
  std::string table;
  std::string expected;
  for (int i = 0; i < 8000; ++i) {
    table += "\xf0\x02\x01\x05\x09";  // the next line, with an end line and columns: one code unit
    table += "\x81\x11";              // the same line: two code units
    table += "\xd0\x11\x12";          // the same line: one code unit
    expected += "\xeb\x02";           // all of the above without columns: four code units
  }
  table += "\xff";  // eight code units without a line
  expected += "\xff";
  const uint32_t id = reader.id_of(reader.objects.code(name, name, reader.objects.bytes(table), 1));
  const auto told = reader.segment.codes();
  REQUIRE(told.count(id) == 1);
  CHECK((told.at(id).table == expected));

  // This line table is too long even without columns.
  for (int i = 0; i < 40000; ++i) {
    table += "\xe8\x04";
  }
  const uint32_t longer = reader.id_of(reader.objects.code(name, name, reader.objects.bytes(table), 2));
  const auto records = reader.segment.codes();
  REQUIRE(records.count(longer) == 1);
  CHECK(records.at(longer).table.empty());
}

TEST_CASE("invalid memory is rejected, and unmapped memory is never read") {
  Reader reader(kVersions[3], true);
  void* hole = mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto unmapped = reinterpret_cast<uint64_t>(hole);
  CHECK(reader.id_of(unmapped) == 0);
  CHECK(reader.id_of(0) == 0);
  CHECK(reader.id_of(~uint64_t{0} - 7) == 0);

  // A code object with unreadable strings still gets an id; its record lacks these strings.
  const uint64_t table = reader.objects.bytes("lines");
  const uint64_t good = reader.objects.text(U"good", 1, true);
  const uint64_t endless = reader.objects.text(U"endless", 1, true);
  Objects::put(endless, reader.wire().text_length, ~uint64_t{0});
  const uint64_t odd = reader.objects.text(U"odd", 3, false);
  for (const uint64_t name : {unmapped, odd}) {
    const uint32_t id = reader.id_of(reader.objects.code(name, good, table, 1));
    const auto told = reader.segment.codes();
    REQUIRE(told.count(id) == 1);
    CHECK(told.at(id).name.empty());
    CHECK(told.at(id).file == "good");
  }
  const uint32_t id = reader.id_of(reader.objects.code(endless, good, table, 2));
  const auto told = reader.segment.codes();
  REQUIRE(told.count(id) == 1);
  CHECK(told.at(id).name.size() <= 4096);

  // Uses a line table that is too long, and then an unreadable one.
  const uint64_t huge = reader.objects.bytes("lines");
  Objects::put(huge, reader.wire().bytes_size, uint64_t{1} << 40U);
  for (const uint64_t bad : {huge, unmapped}) {
    const uint32_t without = reader.id_of(reader.objects.code(good, good, bad, 3));
    const auto records = reader.segment.codes();
    REQUIRE(records.count(without) == 1);
    CHECK(records.at(without).table.empty());
  }
  munmap(hole, 65536);
}

TEST_CASE("unsupported Python versions are rejected with a reason") {
  PythonLayout layout = {};
  CHECK(layout_of_python(0x030812f0, nullptr, &layout) != nullptr);
  CHECK(layout.wire.flags == GPUPROF_PYTHON_REFUSED);
  CHECK(layout.wire.version == 0x030812f0);
  CHECK(layout_of_python(0x030f00f0, nullptr, &layout) != nullptr);
  CHECK(layout_of_python(0x02071200, nullptr, &layout) != nullptr);
  // Starting with Python 3.13, an interpreter must describe its own layout.
  CHECK(layout_of_python(0x030d00f0, nullptr, &layout) != nullptr);
  const std::vector<uint64_t> nonsense(100, 0x7fffffffffffffffULL);
  CHECK(layout_of_python(0x030e00f0, nonsense.data(), &layout) != nullptr);
}

TEST_CASE("a signal handler gets an id for a code object whose table another code has locked, without waiting") {
  Reader reader(kVersions[0], true);
  const uint64_t known = reader.code_named(U"known");
  CHECK(reader.id_of(known) != 0);
  const uint64_t code = reader.code_named(U"fresh");
  ThreadState handler = {};
  handler.in_handler = 1;
  uint64_t fastest = UINT64_MAX;  // of several tries, because the thread may be descheduled
  store_relaxed(&code_table->sets_lock, 1U);
  store_relaxed(&code_table->scratch_lock, 1U);
  for (int i = 0; i < 10; ++i) {
    const uint64_t begin = now_ns();
    CHECK(reader.id_of(code, handler) != 0);
    fastest = std::min(fastest, now_ns() - begin);
  }
  unlock(&code_table->sets_lock);
  unlock(&code_table->scratch_lock);
  CHECK(fastest < kLockWaitNs / 10);
  CHECK(reader.segment.codes().size() == 1);
  CHECK(reader.id_of(code, handler) != 0);
  CHECK(reader.segment.codes().size() == 1);
}

TEST_CASE("a careful walk that copies memory in pieces sees the same as one that reads each field") {
  const auto pieces = std::make_unique<CarefulPieces>();
  for (const uint32_t version : kVersions) {
    Reader reader(version, true);
    for (const char32_t* name : {U"first", U"second", U"a name that is longer than a word"}) {
      const uint64_t code = reader.code_named(name);
      pieces->clear();
      const uint32_t id = reader.id_of(code);
      const FrameMemory<true> memory = {pieces.get()};
      CHECK(code_id<true>(memory, reader.segment.get(), thread_state(), reader.objects.layout(), code, &reader.near) ==
            id);
    }
  }
  std::vector<uint8_t> bytes(20000);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * 31 >> 3U);
  }
  for (size_t at = 0; at + 8 <= bytes.size(); at += 7) {
    uint64_t copy = 0;
    REQUIRE(pieces->load(reinterpret_cast<uint64_t>(bytes.data()) + at, &copy, sizeof(copy)));
    REQUIRE(std::memcmp(&copy, bytes.data() + at, sizeof(copy)) == 0);
  }
  uint64_t copy = 0;
  CHECK(!pieces->load(4096, &copy, sizeof(copy)));
  CHECK(!pieces->load(4096 + 1020, &copy, sizeof(copy)));
}

// The beginning of _Py_DebugOffsets of 3.13. Fields that a walk does not need are 0.
std::vector<uint64_t> described() {
  std::vector<uint64_t> numbers(100);
  std::memcpy(numbers.data(), "xdebugpy", 8);
  numbers[1] = 0x030d00f0;
  const std::map<size_t, std::vector<uint64_t>> groups = {
      {19, {312, 0, 8, 16, 72, 152, 160}},                    // thread state
      {28, {88, 8, 0, 56, 72, 70}},                           // frame
      {34, {208, 112, 120, 128, 136, 68, 52, 96, 104, 200}},  // code
      {44, {16, 8}},                                          // object
      {64, {40, 16, 32}},                                     // bytes
      {67, {64, 32, 16, 40}},                                 // text
  };
  for (const auto& [at, values] : groups) {
    std::copy(values.begin(), values.end(), numbers.begin() + static_cast<ptrdiff_t>(at));
  }
  return numbers;
}

TEST_CASE("an interpreter's description of itself is checked") {
  PythonLayout layout = {};
  std::vector<uint64_t> numbers = described();
  CHECK(layout_of_python(0x030d00f0, numbers.data(), &layout) == nullptr);
  CHECK(layout.wire.flags == 0);
  CHECK(layout.wire.tstate_frame == 72);
  CHECK(layout.wire.code_start == 200);
  CHECK(layout.wire.code_first_traceable == 184);
  CHECK(layout.thread_ident == 152);
  CHECK(layout.wire.text_ascii == 40);

  SECTION("a free-threaded build is rejected") {
    numbers[2] = 1;
    CHECK(layout_of_python(0x030d00f0, numbers.data(), &layout) != nullptr);
    CHECK(layout.wire.flags == GPUPROF_PYTHON_REFUSED);
  }
  SECTION("the description of another version is rejected") {
    CHECK(layout_of_python(0x030e00f0, numbers.data(), &layout) != nullptr);
  }
  SECTION("a field outside of its structure is rejected") {
    for (const size_t field : {23, 29, 31, 33, 37, 43, 45, 65, 68, 70}) {
      std::vector<uint64_t> broken = numbers;
      broken[field] = 100000;
      CHECK(layout_of_python(0x030d00f0, broken.data(), &layout) != nullptr);
    }
  }
}

}  // namespace
}  // namespace gpuprof::injection

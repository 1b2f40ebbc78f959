#include "python/python_code.h"

#include <cstring>

#include "base/atomics.h"
#include "base/map_once.h"
#include "ipc/ring.h"
#include "python/python_table.h"

namespace gpuprof::injection {

CodeTable* code_table = nullptr;

namespace {

struct Identity {
  uint64_t name;
  uint64_t file;
  uint64_t line_table;
  uint32_t first_line;
};

uint32_t last_id = 0;  // last code object id of this process, for all tables

bool identify(const PythonLayout& layout, const PythonMemory& memory, uint64_t code, Identity* identity) {
  const gpuprof_python_layout& wire = layout.wire;
  return memory.pointer(code + code_name_field(wire), &identity->name) &&
         memory.pointer(code + wire.code_filename, &identity->file) &&
         memory.pointer(code + wire.code_line_table, &identity->line_table) &&
         memory.read(code + wire.code_first_line, &identity->first_line);
}

// Writes `point` as UTF-8 to `to`, which must have four bytes.
size_t put_utf8(uint32_t point, char* to) {
  auto put = [to](size_t index, uint32_t byte) { to[index] = static_cast<char>(byte); };
  constexpr uint32_t kContinued = 0x80;
  constexpr uint32_t kSix = 0x3f;
  constexpr uint32_t kReplacement = 0xfffd;
  if (point >= 0xdc80 && point <= 0xdcff) {
    put(0, point - 0xdc00);  // writes a byte of a file name that is not valid UTF-8 (surrogateescape)
    return 1;
  }
  if ((point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff) {
    point = kReplacement;
  }
  if (point < 0x80) {
    put(0, point);
    return 1;
  }
  if (point < 0x800) {
    put(0, 0xc0U | point >> 6U);
    put(1, kContinued | (point & kSix));
    return 2;
  }
  if (point < 0x10000) {
    put(0, 0xe0U | point >> 12U);
    put(1, kContinued | (point >> 6U & kSix));
    put(2, kContinued | (point & kSix));
    return 3;
  }
  put(0, 0xf0U | point >> 18U);
  put(1, kContinued | (point >> 12U & kSix));
  put(2, kContinued | (point >> 6U & kSix));
  put(3, kContinued | (point & kSix));
  return 4;
}

// Converts characters of `width` bytes each to UTF-8, as many as fit completely. Returns the number of bytes written.
size_t read_characters(const PythonMemory& memory, uint64_t from, uint64_t length, uint32_t width, char* to) {
  constexpr size_t kBlock = 256;
  constexpr size_t kMaxBytes = 4;
  uint8_t block[kBlock];
  size_t written = 0;
  for (uint64_t done = 0; done < length;) {
    uint64_t characters = kBlock / width;
    characters = characters < length - done ? characters : length - done;
    if (!memory.read(from + done * width, block, characters * width)) {
      break;
    }
    for (uint64_t i = 0; i < characters; ++i) {
      uint32_t point = 0;
      memcpy(&point, block + i * width, width);
      if (written + kMaxBytes > kMaxCodeText) {
        return written;
      }
      written += put_utf8(point, to + written);
    }
    done += characters;
  }
  return written;
}

// Reads a str object as UTF-8. Returns the number of bytes written, or 0 if the object is not readable.
size_t read_text(const PythonLayout& layout, const PythonMemory& memory, uint64_t text, char* to) {
  const gpuprof_python_layout& wire = layout.wire;
  uint64_t length = 0;
  uint32_t state = 0;
  if (text % 8 != 0 || !memory.read(text + wire.text_length, &length) || !memory.read(text + wire.text_state, &state)) {
    return 0;
  }
  state >>= wire.text_kind_shift;
  const uint32_t width = state & 7U;
  const bool compact = (state >> 3U & 1U) != 0;
  const bool ascii = (state >> 4U & 1U) != 0;
  if (!compact || (width != 1 && width != 2 && width != 4) || (ascii && width != 1)) {
    return 0;
  }
  return read_characters(memory, text + (ascii ? wire.text_ascii : wire.text_wide),
                         length < kMaxCodeText ? length : kMaxCodeText, width, to);
}

size_t read_line_table(const PythonLayout& layout, const PythonMemory& memory, uint64_t table, char* to) {
  constexpr uint64_t kLongest = 2U << 20U;  // a longer table would not fit even without its columns
  constexpr uint32_t kVersion3_11 = 0x030b0000;
  uint64_t size = 0;
  if (table % 8 != 0 || !memory.read(table + layout.wire.bytes_size, &size) || size > kLongest) {
    return 0;
  }
  const uint64_t from = table + layout.wire.bytes_data;
  if (size <= kMaxCodeLineTable) {
    return memory.read(from, to, size) ? size : 0;
  }
  return layout.wire.version < kVersion3_11 ? 0 : copy_without_columns(memory, from, size, to, kMaxCodeLineTable);
}

bool try_lock(const ThreadState& state, uint32_t* lock) {
  return state.in_handler != 0 ? try_lock_briefly(lock) : try_lock_bounded(lock);
}

bool emit_code(gpuprof_segment* segment, ThreadState& state, CodeTable& table, const PythonLayout& layout,
               const PythonMemory& memory, const Identity& identity, uint32_t id) {
  if (!try_lock(state, &table.scratch_lock)) {
    return false;
  }
  char* scratch = table.scratch;
  alignas(gpuprof_code) uint8_t head[sizeof(gpuprof_code)] = {};
  auto* code = reinterpret_cast<gpuprof_code*>(head);
  code->header.type = GPUPROF_RECORD_CODE;
  code->id = id;
  code->first_line = identity.first_line;
  code->version = layout.wire.version;
  const size_t name = read_text(layout, memory, identity.name, scratch);
  const size_t file = read_text(layout, memory, identity.file, scratch + name);
  const size_t lines = read_line_table(layout, memory, identity.line_table, scratch + name + file);
  code->name_bytes = static_cast<uint32_t>(name);
  code->file_bytes = static_cast<uint32_t>(file);
  code->line_table_bytes = static_cast<uint32_t>(lines);
  const bool written =
      write_record(segment, state, &code->header, sizeof(gpuprof_code), scratch, name + file + lines, false);
  unlock(&table.scratch_lock);
  return written;
}

// Returns null if the key is unknown. Another thread may replace the entry during the lookup, so the key is read again
// after the id.
CodeEntry* find_entry(CodeSet& set, uint64_t key, uint32_t* id) {
  for (CodeEntry& entry : set.entries) {
    if (load_acquire(&entry.key) == key) {
      *id = load_acquire(&entry.id);
      if (*id != 0 && load_relaxed(&entry.key) == key) {
        return &entry;
      }
    }
  }
  return nullptr;
}

uint32_t new_id() {
  return add_relaxed(&last_id, 1U) % kMaxCodeId + 1;
}

// Adds an entry. Returns null if another thread holds the lock for too long.
CodeEntry* add_entry(const ThreadState& state, CodeTable& table, CodeSet& set, uint64_t key, uint32_t* id) {
  if (!try_lock(state, &table.sets_lock)) {
    return nullptr;
  }
  CodeEntry* entry = find_entry(set, key, id);
  if (entry == nullptr) {
    for (uint32_t i = 0; entry == nullptr && i < kCodeWays; ++i) {
      entry = set.entries[i].key == 0 ? &set.entries[i] : nullptr;
    }
    entry = entry != nullptr ? entry : &set.entries[table.victim++ % kCodeWays];
    *id = new_id();
    store_release(&entry->key, uint64_t{0});
    store_release(&entry->id, *id);
    store_release(&entry->key, key);
  }
  unlock(&table.sets_lock);
  return entry;
}

}  // namespace

uint32_t new_code(gpuprof_segment* segment, ThreadState& state, const PythonLayout& layout, const PythonMemory& memory,
                  uint64_t code, uint64_t key) {
  Identity identity = {};
  if (!identify(layout, memory, code, &identity)) {
    return 0;
  }
  uint32_t id = 0;
  CodeEntry* entry = nullptr;
  CodeTable* table = map_once(&code_table);  // a local copy: a concurrent reset gives other threads a new table
  if (table != nullptr) {
    CodeSet& set = table->sets[key % kCodeSets];
    entry = find_entry(set, key, &id);
    entry = entry != nullptr ? entry : add_entry(state, *table, set, key, &id);
  }
  id = entry != nullptr ? id : new_id();  // an id that could not be stored in the table is used only for this stack
  if ((id & kCodeSent) == 0 && table != nullptr && emit_code(segment, state, *table, layout, memory, identity, id) &&
      entry != nullptr) {
    uint32_t expected = id;
    // Sets the flag that the CODE record was sent. This fails if the entry was reused for another code object.
    static_cast<void>(
        __atomic_compare_exchange_n(&entry->id, &expected, id | kCodeSent, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  }
  return id & kMaxCodeId;
}

// Leaks the table, because a thread of the previous recording may still use it and hold its locks.
void reset_code() {
  store_release(&code_table, static_cast<CodeTable*>(nullptr));
}

}  // namespace gpuprof::injection

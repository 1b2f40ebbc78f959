// Gives ids to Python code objects, and emits the CODE records that describe them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/atomics.h"
#include "base/thread_state.h"
#include "python/python_memory.h"
#include "wire/hash.h"
#include "wire/python_layouts.h"
#include "wire/wire.h"

namespace gpuprof::injection {

constexpr uint32_t kCodeWays = 8;
constexpr uint32_t kCodeSets = 1U << 14U;
constexpr uint32_t kCodeSent = 1U << 31U;  // flag in an id: the CODE record of this id was written
constexpr uint32_t kMaxCodeId = kCodeSent - 1;

// An entry of a cache, which consists of sets. If a set is full, it evicts an entry; if that code object appears again,
// it gets a new id. So a program that creates code endlessly uses bounded memory, and readers need no lock.
struct CodeEntry {
  uint64_t key;  // hash of the code object's identity; 0: the entry is free, or about to change
  uint32_t id;   // may include kCodeSent
  uint32_t pad;
};

struct CodeSet {
  CodeEntry entries[kCodeWays];
};

constexpr size_t kMaxCodeText = 4096;  // maximum length of a name or file name in UTF-8
constexpr size_t kMaxCodeLineTable = GPUPROF_WIRE_MAX_TEXT;

// The locks are in the table: a thread that still uses an earlier recording's table must use the locks of that table.
struct CodeTable {
  CodeSet sets[kCodeSets];
  uint32_t sets_lock;
  uint32_t scratch_lock;
  uint32_t victim;
  // Buffer for one CODE record, which is too large for a thread's stack.
  char scratch[kMaxCodeText + kMaxCodeText + kMaxCodeLineTable];
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is zero
extern CodeTable* code_table;  // null before the first id

// A code object with a number, whose CODE record was sent. Another object at this address has another number.
struct NearCode {
  uint64_t code;  // address of the code object; 0: the entry is free
  uint32_t number;
  uint32_t first_line;
  uint32_t id;
  int32_t first_traceable;
};

// A cache of code objects for the walks of one thread. The table for all threads is larger and slower.
struct NearCodes {
  static constexpr uint32_t kLog2 = 6;
  const CodeTable* table;  // the table that has the ids; each connection has a new one
  NearCode codes[1U << kLog2];

  NearCode* at(uint64_t code) { return &codes[code * GPUPROF_HASH_MULTIPLIER >> (64 - kLog2)]; }
};

// Empties the cache if its ids are from an earlier connection.
inline void check_near(NearCodes* near) {
  if (const CodeTable* table = load_acquire(&code_table); near->table != table) {
    memset(near->codes, 0, sizeof(near->codes));
    near->table = table;
  }
}

// Factors of the hash, which is computed for each frame of each launch. It is a sum of independent products, because
// the processor computes these in parallel.
constexpr uint64_t kHashFactors[] = {GPUPROF_HASH_MULTIPLIER, 0xBF58476D1CE4E5B9ULL, 0x94D049BB133111EBULL,
                                     GPUPROF_OTHER_MULTIPLIER, 0xA0761D6478BD642FULL};

inline uint64_t finish_hash(uint64_t sum) {
  constexpr uint32_t kHalf = 32;
  sum ^= sum >> kHalf;
  sum *= kHashFactors[0];
  return sum ^ sum >> kHalf;
}

constexpr uint64_t kMaxSize = 1ULL << 40U;  // maximum size of a str or bytes object

// Adds 1 + 2^kSpread words to the hash. The first is at `from`, the last at `from + span`, and the others are evenly
// between them.
template <bool kCareful, uint32_t kSpread>
bool add_words(const FrameMemory<kCareful>& memory, uint64_t from, uint64_t span, uint64_t* sum) {
  uint64_t factor = kHashFactors[4];
  bool loaded = true;
#pragma GCC unroll 32
  for (uint64_t i = 0; i <= uint64_t{1} << kSpread; ++i) {
    uint64_t word = 0;
    loaded &= memory.load(from + (span * i >> kSpread), &word);
    *sum += word * factor;
    factor += kHashFactors[3] << 1U;  // stays odd
  }
  return loaded;
}

// Hashes `size` bytes of an object into `sum`. If there are at most 8 + 2^kSpread * 8 bytes, hashes all of them;
// otherwise samples at both ends and between. The size causes no branch, because a branch costs more than a few words.
// If the data is shorter than a word, also reads the bytes before it, which belong to the header of the object.
template <bool kCareful, uint32_t kSpread>
bool add_content(const FrameMemory<kCareful>& memory, uint64_t from, uint64_t size, uint64_t* sum) {
  constexpr uint64_t kWord = sizeof(uint64_t);
  constexpr uint64_t kBlock = 1024;
  const uint64_t span = size < kWord ? 0 : size - kWord;
  from -= size < kWord ? kWord - size : 0;
  uint64_t words = size * kHashFactors[1];
  bool loaded = false;
  if (kCareful && memory.pieces == nullptr && size <= kBlock) {  // makes one system call instead of one per word
    uint64_t block[kCareful ? kBlock / kWord : 1];
    loaded = FrameMemory<true>::any().read(from, block, span + kWord) &&
             add_words<false, kSpread>({}, reinterpret_cast<uint64_t>(block), span, &words);
  } else {
    loaded = add_words<kCareful, kSpread>(memory, from, span, &words);
  }
  *sum = (*sum ^ *sum >> 29U) * kHashFactors[0] + words;
  return loaded;
}

// Hashes samples of the line table. Since 3.11, a line table has about 6 bytes per instruction. Hashing all of it for
// each frame of each launch would take longer than the rest of the walk.
template <bool kCareful>
bool hash_line_table(const FrameMemory<kCareful>& memory, const PythonLayout& layout, uint64_t table, uint64_t* sum) {
  using Memory = FrameMemory<kCareful>;
  uint64_t size = 0;
  constexpr uint32_t kSpread = 4;
  return Memory::is_object(table) && memory.load(table + layout.wire.bytes_size, &size) && size < kMaxSize &&
         add_content<kCareful, kSpread>(memory, table + layout.wire.bytes_data, size, sum);
}

template <bool kCareful>
bool hash_text(const FrameMemory<kCareful>& memory, const PythonLayout& layout, uint64_t text, uint64_t* sum) {
  using Memory = FrameMemory<kCareful>;
  constexpr uint32_t kSpread = 1;
  uint64_t length = 0;
  uint32_t state = 0;
  if (!Memory::is_object(text) || !memory.load(text + layout.wire.text_length, &length) ||
      !memory.load(text + layout.wire.text_state, &state) || length >= kMaxSize) {
    return false;
  }
  state >>= layout.wire.text_kind_shift;
  const bool ascii = (state >> 4U & 1U) != 0;
  const uint64_t from = text + (ascii ? layout.wire.text_ascii : layout.wire.text_wide);
  return add_content<kCareful, kSpread>(memory, from, length * (state & 7U), sum);
}

inline uint16_t code_name_field(const gpuprof_python_layout& wire) {
  return wire.code_qualname != GPUPROF_PYTHON_NONE ? wire.code_qualname : wire.code_name;
}

// Before 3.12, code objects have no version number, and recompiled code may reuse the memory of a code object. So this
// hashes everything that gpuprof shows of a code object. Returns false if the code object is not readable.
template <bool kCareful>
bool hash_unnumbered_code(const FrameMemory<kCareful>& memory, const PythonLayout& layout, uint64_t code,
                          uint64_t* sum) {
  uint64_t name = 0;
  uint64_t file = 0;
  uint64_t table = 0;
  uint64_t contents = 0;
  if (!memory.load(code + code_name_field(layout.wire), &name) ||
      !memory.load(code + layout.wire.code_filename, &file) ||
      !memory.load(code + layout.wire.code_line_table, &table) ||
      !hash_text<kCareful>(memory, layout, name, &contents) || !hash_text<kCareful>(memory, layout, file, &contents) ||
      !hash_line_table<kCareful>(memory, layout, table, &contents)) {
    return false;
  }
  *sum += name * kHashFactors[2] + table * kHashFactors[3] + file * kHashFactors[4] + finish_hash(contents);
  return true;
}

// Number and first line of a code object.
struct CodeNumber {
  uint32_t number;  // 0: the code object has none
  uint32_t first_line;
};

template <bool kCareful>
bool load_number(const FrameMemory<kCareful>& memory, const PythonLayout& layout, uint64_t code, CodeNumber* number) {
  return memory.load(code + layout.wire.code_first_line, &number->first_line) &&
         (layout.wire.code_version == GPUPROF_PYTHON_NONE ||
          memory.load(code + layout.wire.code_version, &number->number));
}

// Returns the entry of the code object at `code`, or null if the cache lacks it.
template <bool kCareful>
const NearCode* find_near(const FrameMemory<kCareful>& memory, const PythonLayout& layout, uint64_t code,
                          NearCodes* cache) {
  const NearCode* near = cache->at(code);
  CodeNumber number = {};
  const bool found = near->code == code && load_number<kCareful>(memory, layout, code, &number) &&
                     near->number == number.number && near->first_line == number.first_line;
  return found ? near : nullptr;
}

// Computes a key for the code object at `code`. The address alone is not enough, because memory is reused.
template <bool kCareful>
bool key_of_code(const FrameMemory<kCareful>& memory, const PythonLayout& layout, uint64_t code,
                 const CodeNumber& number, uint64_t* key) {
  uint64_t sum = code * kHashFactors[0] + (uint64_t{number.number} << 32U | number.first_line) * kHashFactors[1];
  if (number.number == 0 && !hash_unnumbered_code<kCareful>(memory, layout, code, &sum)) {
    return false;
  }
  const uint64_t hash = finish_hash(sum);
  *key = hash == 0 ? 1 : hash;
  return true;
}

uint32_t new_code(gpuprof_segment* segment, ThreadState& state, const PythonLayout& layout, const PythonMemory& memory,
                  uint64_t code, uint64_t key);

// Returns the id of the code object at `code`, which a frame of this thread runs. Emits a CODE record unless this was
// done before. Returns 0 if memory cannot be read. check_near(cache) was called after the connection began.
template <bool kCareful>
uint32_t code_id(const FrameMemory<kCareful>& memory, gpuprof_segment* segment, ThreadState& state,
                 const PythonLayout& layout, uint64_t code, NearCodes* cache) {
  CodeNumber number = {};
  uint64_t key = 0;
  if (!load_number<kCareful>(memory, layout, code, &number)) {
    return 0;
  }
  if (!key_of_code<kCareful>(memory, layout, code, number, &key)) {
    return 0;
  }
  const CodeTable* table = load_acquire(&code_table);
  if (table != nullptr) {
    // Compares only the first entry, because nearly every set has only one.
    const CodeEntry& entry = table->sets[key % kCodeSets].entries[0];
    if (load_acquire(&entry.key) == key) {
      const uint32_t id = load_acquire(&entry.id);
      if ((id & kCodeSent) != 0 && load_relaxed(&entry.key) == key) {
        NearCode near = {code, number.number, number.first_line, id & kMaxCodeId, 0};
        if (number.number != 0 && memory.load(code + layout.wire.code_first_traceable, &near.first_traceable)) {
          *cache->at(code) = near;
        }
        return id & kMaxCodeId;
      }
    }
  }
  return new_code(segment, state, layout, FrameMemory<kCareful>::any(), code, key);
}

void reset_code();

}  // namespace gpuprof::injection

#include "ipc/names.h"

#include <sys/mman.h>

#include <cstring>

#include "base/atomics.h"
#include "base/text_arena.h"
#include "ipc/ring.h"

namespace gpuprof::injection {
namespace {

// These limits protect against targets that create kernel names endlessly.
constexpr uint32_t kMaxNames = 1U << 17;
constexpr size_t kMaxTextBytes = 64U << 20;
constexpr size_t kChunkBytes = 256U << 10;
constexpr uint32_t kFirstCapacity = 1024;

struct Entry {
  uint64_t hash;
  const char* text;
  uint32_t length;
  uint32_t id;  // 0: the entry is free. The id is stored last, with release, because readers do not lock.
};

struct Table {
  uint32_t capacity;  // a power of two, and larger than the number of entries in use
  uint32_t used;
  Entry* entries;  // stored after the table in the same mapping
};

struct Names {
  Table* table = nullptr;
  uint32_t lock = 0;
  uint32_t count = 0;
  TextArena<kMaxTextBytes, kChunkBytes> texts;
};
Names names;

struct Found {
  Entry* entry;  // the entry of the text, or the free entry for it
  uint32_t id;   // entry->id when it was read; if it was 0, another thread may have used the entry since then
};

Found find(Table* table, uint64_t hash, const char* text, size_t length) {
  for (uint32_t i = 0;; ++i) {
    Entry& entry = table->entries[(hash + i) & (table->capacity - 1)];
    const uint32_t id = load_acquire(&entry.id);
    if (id == 0 || (entry.hash == hash && entry.length == length && memcmp(entry.text, text, length) == 0)) {
      return {&entry, id};
    }
  }
}

// Returns a table with free entries: copies a half-full table to one of twice the size. Readers may still use the old
// table. If a text is missing there, they take the lock and search the new table. Needs the lock.
Table* table_with_free_entry() {
  Table* old = names.table;
  if (old != nullptr && old->used * 2 < old->capacity) {
    return old;
  }
  const uint32_t capacity = old == nullptr ? kFirstCapacity : old->capacity * 2;
  auto* grown = static_cast<Table*>(map_memory(sizeof(Table) + size_t{capacity} * sizeof(Entry)));
  if (grown == nullptr) {
    return nullptr;
  }
  grown->capacity = capacity;
  grown->entries = reinterpret_cast<Entry*>(grown + 1);
  if (old != nullptr) {
    for (uint32_t i = 0; i < old->capacity; ++i) {
      const Entry& entry = old->entries[i];
      if (entry.id != 0) {
        *find(grown, entry.hash, entry.text, entry.length).entry = entry;
        ++grown->used;
      }
    }
  }
  store_release(&names.table, grown);
  return grown;
}

bool emit_name(gpuprof_segment* segment, uint32_t id, const char* text, size_t length) {
  alignas(gpuprof_name) uint8_t head[sizeof(gpuprof_name)] = {};
  auto* name = reinterpret_cast<gpuprof_name*>(head);
  name->header.type = GPUPROF_RECORD_NAME;
  name->id = id;
  name->length = static_cast<uint32_t>(length);
  return write_record(segment, &name->header, sizeof(gpuprof_name), text, length, false);
}

enum class Added { yes, no_memory, not_emitted };

// Emits the NAME record before the id can be used. If that fails, the text gets no id. Needs the lock.
Added add(gpuprof_segment* segment, uint64_t hash, const char* text, size_t length, uint32_t* id) {
  Table* table = table_with_free_entry();
  if (table == nullptr) {
    return Added::no_memory;
  }
  const auto [entry, known] = find(table, hash, text, length);
  if (known != 0) {
    *id = known;
    return Added::yes;
  }
  if (names.count >= kMaxNames) {
    return Added::no_memory;
  }
  const char* kept = names.texts.keep(text, length);
  if (kept == nullptr) {
    return Added::no_memory;
  }
  if (!emit_name(segment, names.count + 1, text, length)) {
    names.texts.drop_last(length);
    return Added::not_emitted;
  }
  entry->hash = hash;
  entry->text = kept;
  entry->length = static_cast<uint32_t>(length);
  ++table->used;
  *id = ++names.count;
  store_release(&entry->id, *id);
  return Added::yes;
}

uint32_t intern_whole(gpuprof_segment* segment, const char* text, size_t length) {
  const uint64_t hash = hash_text(0, text, length);
  Table* table = load_acquire(&names.table);
  if (table != nullptr) {
    if (const uint32_t known = find(table, hash, text, length).id; known != 0) {
      return known;
    }
  }
  ThreadState& thread = thread_state();
  ++thread.in_write;
  uint32_t id = 0;
  gpuprof_loss loss = GPUPROF_LOSS_DETAIL;
  bool counted = true;
  if (try_lock_bounded(&names.lock)) {
    const Added added = add(segment, hash, text, length, &id);
    unlock(&names.lock);
    counted = added != Added::no_memory;
    loss = GPUPROF_LOSS_OUT_OF_MEMORY;
  } else {
    counted = false;
  }
  if (!counted) {
    add_relaxed(&ring_of(segment, thread).lost[loss], uint64_t{1});
  }
  --thread.in_write;
  return id;
}

}  // namespace

size_t cut_length(const char* text, size_t length) {
  constexpr size_t kDots = 3;
  if (length <= GPUPROF_WIRE_MAX_TEXT) {
    return length;
  }
  size_t cut = GPUPROF_WIRE_MAX_TEXT - kDots;
  // If the cut is inside a UTF-8 character, moves it to the character's first byte. Takes at most three steps, because
  // the text may not be UTF-8.
  for (int i = 0; i < 3 && cut > 0 && (static_cast<uint8_t>(text[cut]) & 0xC0U) == 0x80U; ++i) {
    --cut;
  }
  return cut;
}

uint32_t intern(gpuprof_segment* segment, const char* text, size_t length) {
  if (length <= GPUPROF_WIRE_MAX_TEXT) {
    return intern_whole(segment, text, length);
  }
  const size_t cut = cut_length(text, length);
  auto* shorter = static_cast<char*>(map_memory(GPUPROF_WIRE_MAX_TEXT));
  if (shorter == nullptr) {
    add_relaxed(&ring_of(segment, thread_state()).lost[GPUPROF_LOSS_OUT_OF_MEMORY], uint64_t{1});
    return 0;
  }
  memcpy(shorter, text, cut);
  memset(shorter + cut, '.', 3);
  const uint32_t id = intern_whole(segment, shorter, cut + 3);
  munmap(shorter, GPUPROF_WIRE_MAX_TEXT);
  return id;
}

void reset_names() {
  // Leaks the tables, because another thread may have been changing them at the fork. Clearing them instead would copy
  // the pages that the child shares with its parent.
  names = Names();
}

}  // namespace gpuprof::injection

#include "nvtx/ranges.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "base/text_arena.h"
#include "ipc/emit.h"

namespace gpuprof::injection {
namespace {

// A path is a range with the ranges around it. These limits protect against programs that create names endlessly; paths
// take 768 KiB per connection. After kExactPaths paths, names in new paths have "[N]" in place of numbers.
constexpr uint32_t kExactPaths = 16384;
constexpr uint32_t kMaxPaths = 2 * kExactPaths;
constexpr uint32_t kMaxOpen = 256;
// Limit on the pushed ranges of a thread that are in paths. Of the next ones, only the labels are stored, for the
// search for the wanted range. Deeper ones are only counted.
constexpr uint32_t kMaxDepth = 64;
constexpr uint32_t kMaxDeeper = 448;

constexpr uint32_t kPathSlots = 4 * kMaxPaths;
constexpr uint32_t kMorePaths = kMaxPaths + 1;  // id of the path that represents all other paths

struct Path {
  uint32_t parent;
  RangeLabel label;
  bool renamed;  // its name, or that of a range around it, is not the program's
};

// The paths of one connection. Slots and paths are read without the lock. So a slot is stored after its path, with
// release, and never changes.
struct Paths {
  uint32_t slots[kPathSlots];  // path id; 0: free
  Path paths[kMaxPaths];       // the path with id I is at index I - 1
  uint32_t count;              // atomic
  bool more;                   // kMorePaths has been sent
};

struct Open {
  uint64_t id;
  uint64_t start_ns;  // 0: not measured
  RangeLabel label;
};

// State of all threads. It is global, because NVTX passes no user pointer to a tool. The lock protects changes of
// `open` and `*paths`.
struct Shared {
  uint32_t lock;
  // Atomic. It changes when `open` or `paths` changes. Threads then discard what they have cached.
  uint32_t generation;
  uint32_t connection;  // atomic; number of connections so far
  Paths* paths;         // atomic; null before the first connection
  Open open[kMaxOpen];
  uint32_t open_count;  // atomic
  uint64_t last_open;
  // Ids of ranges that have ended but are still in `open`; 0: free entry. Atomic: changed without the lock.
  uint64_t late[kMaxOpen];
  uint32_t any_late;  // atomic; 1: `late` may contain an id
};
constinit Shared shared = {};

struct Push {
  uint64_t start_ns;  // 0: not measured
  RangeLabel label;
  uint32_t domain;
  uint32_t path;
};

struct Stack {
  uint32_t depth;
  uint32_t deeper;      // number of pushed ranges beyond kMaxDepth
  uint32_t known;       // the first `known` entries have valid paths
  uint32_t base;        // id of the path of the start/end ranges that are open in the process
  uint32_t generation;  // value of Shared::generation for which `known` and `base` are valid; 0: they are not valid
  uint32_t tid;
  uint32_t changes;  // number of pushes and pops so far
  uint32_t wanted_changes;
  uint32_t wanted_generation;
  bool wanted;  // result of find_wanted() for the two values above, which are copies of `changes` and `generation`
  Push entries[kMaxDepth];
  RangeLabel deeper_labels[kMaxDeeper];
};
constinit thread_local Stack stack = {};

uint32_t* find_path(Paths* paths, uint32_t parent, RangeLabel label, uint32_t* found) {
  for (uint64_t i = gpuprof_mix_hash(parent, label);; ++i) {
    uint32_t* slot = &paths->slots[i % kPathSlots];
    *found = load_acquire(slot);
    if (*found == 0) {
      return slot;
    }
    const Path& path = paths->paths[*found - 1];
    if (path.parent == parent && path.label == label) {
      return slot;
    }
  }
}

bool emit_path(uint32_t id, uint32_t parent, RangeText domain, RangeText name) {
  gpuprof_range record = {};
  record.id = id;
  record.parent = parent;
  record.domain_id = name_id(domain.data, domain.length);
  record.name_id = name_id(name.data, name.length);
  return record.name_id != 0 && range(record);
}

// Adds a path unless it is known. Returns 0 if the record could not be sent. Needs the lock.
uint32_t add_path(Paths* paths, uint32_t parent, RangeLabel label) {
  uint32_t known = 0;
  uint32_t* slot = find_path(paths, parent, label, &known);
  if (known != 0) {
    return known;
  }
  if (paths->count == kMaxPaths) {
    paths->more = paths->more || emit_path(kMorePaths, 0, {}, text_of(kMoreRanges));
    return paths->more ? kMorePaths : 0;
  }
  const uint32_t id = paths->count + 1;
  if (!emit_path(id, parent, domain_of(label), text_of(label))) {
    return 0;
  }
  const bool renamed = is_renamed(label) || (parent != 0 && paths->paths[parent - 1].renamed);
  paths->paths[id - 1] = {parent, label, renamed};
  store_relaxed(&paths->count, id);
  store_release(slot, id);
  return id;
}

bool is_wanted_now(RangeLabel label) {
  const char* wanted = wanted_range();
  return wanted != nullptr && is_wanted(label, wanted, load_relaxed(&shared.connection));
}

// Returns whether a name on the path is not the program's.
bool is_renamed_path(uint32_t path) {
  const Paths* paths = load_acquire(&shared.paths);
  return path == kMorePaths || (path != 0 && paths != nullptr && paths->paths[path - 1].renamed);
}

// Returns the path of `label` inside `parent`. Returns 0 if the path cannot be stored or sent now.
uint32_t path_below(uint32_t parent, RangeLabel label) {
  Paths* paths = load_acquire(&shared.paths);
  if (paths == nullptr || parent == kMorePaths) {
    return parent;
  }
  uint32_t found = 0;
  find_path(paths, parent, label, &found);
  if (found == 0 && load_relaxed(&paths->count) >= kExactPaths && !is_wanted_now(label)) {
    label = folded_label(label);
    find_path(paths, parent, label, &found);
  }
  if (found != 0) {
    return found;
  }
  if (!try_lock_bounded(&shared.lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return 0;
  }
  found = add_path(paths, parent, label);
  unlock(&shared.lock);
  return found;
}

// Removes an open range. Needs the lock.
void remove_open(uint64_t id) {
  uint32_t index = 0;
  while (index < shared.open_count && shared.open[index].id != id) {
    ++index;
  }
  if (index < shared.open_count) {
    store_relaxed(&shared.open_count, shared.open_count - 1);
    memmove(&shared.open[index], &shared.open[index + 1], (shared.open_count - index) * sizeof(Open));
  }
}

// Takes the lock and removes ended ranges from `open`. Returns false if the lock is not available.
bool lock_open() {
  if (!try_lock_bounded(&shared.lock)) {
    return false;
  }
  // Clears the flag before the loop: if a thread adds an id during the loop, it sets the flag again.
  if (load_relaxed(&shared.any_late) != 0 && __atomic_exchange_n(&shared.any_late, 0U, __ATOMIC_SEQ_CST) != 0) {
    for (uint64_t& late : shared.late) {
      if (const uint64_t id = __atomic_exchange_n(&late, uint64_t{0}, __ATOMIC_SEQ_CST); id != 0) {
        remove_open(id);
      }
    }
  }
  return true;
}

// Makes the next holder of the lock remove the range. Without this, later launches would stay in the ended range.
void remove_later(uint64_t id) {
  for (uint64_t& late : shared.late) {
    uint64_t expected = 0;
    if (__atomic_compare_exchange_n(&late, &expected, id, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
      __atomic_store_n(&shared.any_late, 1U, __ATOMIC_SEQ_CST);
      return;
    }
  }
  lost(GPUPROF_LOSS_DETAIL, 1);
}

constexpr uint64_t kAllOpen = 0;  // Passed to copy_open() in place of a range id to copy all ranges.

// The process's open ranges in order of their start. copy_open() has copied all of them, or those up to the range
// `last`.
struct OpenRanges {
  RangeLabel labels[kMaxOpen];
  uint32_t count;
  uint64_t last_start_ns;  // start of the range `last`; 0: the start is unknown, or that range is not open
};

// Copies the open ranges. Returns false if the lock is not available.
bool copy_open(uint64_t last, OpenRanges* ranges) {
  ranges->count = 0;
  ranges->last_start_ns = 0;
  if (load_relaxed(&shared.open_count) == 0) {
    return true;
  }
  if (!lock_open()) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return false;
  }
  bool found = false;
  for (uint32_t i = 0; i < shared.open_count && !found; ++i) {
    const Open& open = shared.open[i];
    found = open.id == last;
    ranges->last_start_ns = found ? open.start_ns : 0;
    ranges->labels[ranges->count++] = open.label;
  }
  unlock(&shared.lock);
  return true;
}

// Computes the path of `ranges`. If inner ranges have no path now, returns false, and `*path` is the path of the outer
// ones.
bool path_of(const OpenRanges& ranges, uint32_t* path) {
  *path = 0;
  for (uint32_t i = 0; i < ranges.count; ++i) {
    const uint32_t below = path_below(*path, ranges.labels[i]);
    if (below == 0) {
      return false;
    }
    *path = below;
  }
  return true;
}

bool process_path(uint32_t* path) {
  OpenRanges ranges;  // NOLINT(cppcoreguidelines-pro-type-member-init): large; copy_open() sets what it uses
  *path = 0;
  return copy_open(kAllOpen, &ranges) && path_of(ranges, path);
}

// Returns the thread's path. If inner ranges have no path now, returns the path of the outer ones; the loss was
// counted.
uint32_t update_path(Stack& s) {
  const uint32_t generation = load_acquire(&shared.generation);
  if (load_acquire(&shared.paths) == nullptr) {
    return 0;
  }
  if (s.generation != generation) {
    s.known = 0;
    if (!process_path(&s.base)) {
      return s.base;
    }
    s.generation = generation;
  }
  uint32_t path = s.known == 0 ? s.base : s.entries[s.known - 1].path;
  for (; s.known < s.depth; ++s.known) {
    const uint32_t below = path_below(path, s.entries[s.known].label);
    if (below == 0) {
      break;
    }
    path = s.entries[s.known].path = below;
  }
  return path;
}

// Searches the thread's open ranges for the wanted one. Returns false if they are not accessible now.
bool find_wanted(const Stack& s, const char* wanted, bool* found) {
  const uint32_t connection = load_relaxed(&shared.connection);
  *found = false;
  for (uint32_t i = 0; i < s.depth && !*found; ++i) {
    *found = is_wanted(s.entries[i].label, wanted, connection);
  }
  for (uint32_t i = 0; i < std::min(s.deeper, kMaxDeeper) && !*found; ++i) {
    *found = is_wanted(s.deeper_labels[i], wanted, connection);
  }
  if (*found) {
    return true;
  }
  OpenRanges ranges;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  if (!copy_open(kAllOpen, &ranges)) {
    return false;
  }
  for (uint32_t i = 0; i < ranges.count && !*found; ++i) {
    *found = is_wanted(ranges.labels[i], wanted, connection);
  }
  return true;
}

bool spans_wanted() {
  constexpr uint32_t kBoth = GPUPROF_CONTROL_CALLS | GPUPROF_CONTROL_ENABLED;
  return (control() & kBoth) == kBoth;
}

// Returns the local time. Returns 0 if no SPAN record needs it, because reading the clock costs more than a push. The
// time is local, because a range may begin before the handshake, when the recorder's clock is not known yet.
uint64_t start_time() {
  return load_relaxed(&shared.connection) == 0 || (control() & GPUPROF_CONTROL_CALLS) != 0 ? local_ns() : 0;
}

void emit_span(uint64_t start_ns, uint32_t path, uint32_t tid) {
  if (start_ns == 0 || path == 0) {
    return;
  }
  gpuprof_span record = {};
  record.start_ns = recorder_time(start_ns);
  record.end_ns = now_ns();
  record.range = path;
  record.tid = tid;
  span(record);
}

void emit_pushed_span(Stack& s, uint32_t index) {
  const Guard guard;
  if (!guard.entered()) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return;
  }
  if (s.generation != load_acquire(&shared.generation) || index >= s.known) {
    update_path(s);
  }
  if (s.tid == 0) {
    s.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  }
  if (index < s.known) {
    emit_span(s.entries[index].start_ns, s.entries[index].path, s.tid);
  }
}

void emit_open_span(uint64_t id) {
  if (!spans_wanted()) {
    return;
  }
  const Guard guard;
  if (!guard.entered()) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return;
  }
  OpenRanges ranges;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  uint32_t path = 0;
  if (copy_open(id, &ranges) && ranges.last_start_ns != 0 && path_of(ranges, &path)) {
    emit_span(ranges.last_start_ns, path, 0);
  }
}

int level_of(const Stack& s, uint32_t index) {
  int level = 0;
  for (uint32_t i = 0; i < index; ++i) {
    level += s.entries[i].domain == s.entries[index].domain ? 1 : 0;
  }
  return level;
}

void new_generation() {
  // Skips 0: in a thread, generation 0 means that nothing is cached.
  if (__atomic_add_fetch(&shared.generation, 1U, __ATOMIC_ACQ_REL) == 0) {
    __atomic_add_fetch(&shared.generation, 1U, __ATOMIC_ACQ_REL);
  }
}

void after_fork_in_child() {
  // The thread that holds the lock may exist only in the parent; its unfinished changes are not visible.
  store_release(&shared.lock, 0U);
  unlock_range_names();
  stack.tid = 0;
}

}  // namespace

void init_ranges() {
  init_range_names();
  static uint32_t fork_handler = 0;
  if (swap_if(&fork_handler, 0, 1)) {
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  }
}

uint32_t current_range(bool is_launch) {
  Stack& s = stack;
  uint32_t path = 0;
  if (s.generation == load_acquire(&shared.generation) && s.known == s.depth) {
    path = s.depth == 0 ? s.base : s.entries[s.depth - 1].path;
  } else {
    path = update_path(s);
  }
  if (is_launch && (s.deeper > 0 || is_renamed_path(path))) {
    lost(GPUPROF_LOSS_RANGE_LIMIT, 1);
  }
  return path;
}

bool in_wanted_range() {
  const gpuprof_options* wishes = options();
  if (wishes == nullptr || wishes->nvtx_range[0] == '\0') {
    return true;
  }
  // A launch in ranges that are too deep to be stored may be in the wanted one.
  const auto known = [](const Stack& ranges, bool is_found) {
    if (!is_found && ranges.deeper > kMaxDeeper) {
      lost(GPUPROF_LOSS_RANGE_LIMIT, 1);
    }
    return is_found;
  };
  Stack& s = stack;
  const uint32_t generation = load_acquire(&shared.generation);
  if (s.wanted_generation != generation || s.wanted_changes != s.changes) {
    bool found = false;
    if (!find_wanted(s, wishes->nvtx_range, &found)) {
      return known(s, found);
    }
    s.wanted = found;
    s.wanted_generation = generation;
    s.wanted_changes = s.changes;
  }
  return known(s, s.wanted);
}

void reset_ranges() {
  const KeepErrno keep_errno;
  // Leaks the old paths, because a thread may be reading them.
  auto* paths = static_cast<Paths*>(map_memory(sizeof(Paths)));
  const bool locked = try_lock_bounded(&shared.lock);
  store_release(&shared.paths, paths);
  add_relaxed(&shared.connection, 1U);
  new_generation();
  if (locked) {
    unlock(&shared.lock);
  }
}

int push_range(uint32_t domain, RangeLabel label) {
  Stack& s = stack;
  ++s.changes;
  if (s.depth == kMaxDepth) {
    if (s.deeper < kMaxDeeper) {
      s.deeper_labels[s.deeper] = label;
    }
    return static_cast<int>(s.depth + s.deeper++);
  }
  s.entries[s.depth] = {start_time(), label, domain, 0};
  return level_of(s, s.depth++);
}

int pop_range(uint32_t domain) {
  Stack& s = stack;
  if (s.deeper > 0) {
    ++s.changes;
    return static_cast<int>(s.depth + --s.deeper);
  }
  uint32_t index = s.depth;
  while (index > 0 && s.entries[index - 1].domain != domain) {
    --index;
  }
  if (index-- == 0) {
    return -1;
  }
  if (spans_wanted()) {
    emit_pushed_span(s, index);
  }
  const int level = level_of(s, index);
  ++s.changes;
  --s.depth;
  memmove(&s.entries[index], &s.entries[index + 1], (s.depth - index) * sizeof(Push));
  s.known = std::min(s.known, index);
  return level;
}

uint64_t start_range(RangeLabel label) {
  const uint64_t id = add_relaxed(&shared.last_open, uint64_t{1}) + 1;
  const uint64_t start_ns = start_time();
  if (!lock_open()) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return id;
  }
  // If there are too many ranges, the wanted one takes the place of the last one.
  const bool fits = shared.open_count < kMaxOpen;
  if (fits || is_wanted_now(label)) {
    const uint32_t index = fits ? shared.open_count : kMaxOpen - 1;
    shared.open[index] = {id, start_ns, label};
    store_relaxed(&shared.open_count, index + 1);
    new_generation();
  }
  if (!fits) {
    lost(GPUPROF_LOSS_DETAIL, 1);
  }
  unlock(&shared.lock);
  return id;
}

void end_range(uint64_t id) {
  emit_open_span(id);
  if (lock_open()) {
    remove_open(id);
    new_generation();
    unlock(&shared.lock);
  } else {
    remove_later(id);
    new_generation();
  }
}

}  // namespace gpuprof::injection

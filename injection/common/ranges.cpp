#include "common/ranges.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/atomics.h"
#include "common/emit.h"

namespace gpuprof::injection {
namespace {

// Bounds on what a program with endless new names ("step 4711") can make us keep.
constexpr uint32_t kMaxPaths = 4096;
constexpr uint32_t kMaxLabels = 32768;
constexpr uint32_t kMaxDomains = 256;
constexpr uint32_t kMaxOpen = 256;  // start/end ranges at a time
constexpr uint32_t kMaxLate = 64;   // ends of such ranges that wait for the lock
constexpr uint32_t kMaxDepth = 64;  // pushes of a thread; deeper ones are counted only
constexpr size_t kMaxTextBytes = 8U << 20;
constexpr size_t kMaxName = 4096;
constexpr size_t kChunkBytes = 64U << 10;

constexpr uint32_t kPathSlots = 4 * kMaxPaths;
constexpr uint32_t kLabelSlots = 2 * kMaxLabels;
constexpr uint32_t kMorePaths = kMaxPaths + 1;  // the id of the path that stands for all further ones
constexpr RangeLabel kOtherLabel = 1;           // as its name says
constexpr uint32_t kOtherDomain = kMaxDomains - 1;
constexpr char kMoreRanges[] = "[more ranges]";
constexpr char kMoreDomains[] = "[more domains]";

struct Text {
  const char* data;
  uint32_t length;
};

struct Label {
  uint64_t hash;
  Text text;
  uint32_t domain;
  uint32_t wanted;  // atomic; 2 * connection + (whether the name is the wanted one), 0: not looked at
};

struct Path {
  uint32_t parent;
  RangeLabel label;
};

// Of one connection. Slots and labels are read without a lock: they are stored last, with release, and never change.
struct Paths {
  uint32_t slots[kPathSlots];  // 0: free, else the path's id
  Path paths[kMaxPaths];       // by id - 1
  uint32_t count;
  bool more;  // kMorePaths has been told
};

struct Open {
  uint64_t id;
  uint64_t start_ns;  // 0: not taken
  RangeLabel label;
};

// One a process, as NVTX's functions come without a context of ours. All but `generation` and what is said above is
// changed with the lock held.
struct Shared {
  uint32_t lock;
  uint32_t generation;  // atomic; of `open` and `paths`: what a thread remembers is right while this is the same
  uint32_t connection;  // atomic; how often there was one
  Paths* paths;         // atomic; null before the first connection
  uint32_t label_slots[kLabelSlots];
  Label labels[kMaxLabels];   // by label - 1; the first is kMoreRanges
  uint32_t label_count;       // atomic
  Text domains[kMaxDomains];  // the first is the default one, the last stands for all further ones
  uint32_t domain_count;      // atomic
  Open open[kMaxOpen];
  uint32_t open_count;  // atomic
  uint64_t last_open;
  uint64_t late[kMaxLate];  // atomic, changed without the lock: ids of ranges of `open` that have ended; 0: free
  uint32_t any_late;        // atomic
  char* chunk;
  size_t chunk_left;
  size_t text_bytes;
};
constinit Shared shared = {};

struct Push {
  uint64_t start_ns;  // 0: not taken
  RangeLabel label;
  uint32_t domain;
  uint32_t path;
};

struct Stack {
  uint32_t depth;
  uint32_t deeper;      // pushes that found no place
  uint32_t known;       // entries whose path is known ...
  uint32_t base;        // ... under the path of the process's ranges ...
  uint32_t generation;  // ... both of this generation; 0: none
  uint32_t tid;
  uint32_t changes;  // pushes and pops so far
  uint32_t wanted_changes;
  uint32_t wanted_generation;
  bool wanted;  // as of these two
  Push entries[kMaxDepth];
};
// Nothing to end with the thread. constinit keeps the compiler from a guard at each access.
constinit thread_local Stack stack = {};

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

uint64_t hash_text(uint32_t domain, const char* text, size_t length) {
  uint64_t hash = mix(domain, length);
  while (length > 0) {
    uint64_t word = 0;
    const size_t step = std::min(length, sizeof(word));
    memcpy(&word, text, step);
    hash = mix(hash, word);
    text += step;
    length -= step;
  }
  return hash;
}

void* map_memory(size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

// A copy that stays for ever; null data where there is no more room. Call with the lock held.
Text keep_text(const char* text, size_t length) {
  if (shared.text_bytes + length > kMaxTextBytes) {
    return {};
  }
  if (shared.chunk_left < length) {
    auto* chunk = static_cast<char*>(map_memory(kChunkBytes));
    if (chunk == nullptr) {
      return {};
    }
    shared.chunk = chunk;
    shared.chunk_left = kChunkBytes;
  }
  const Text kept = {shared.chunk, static_cast<uint32_t>(length)};
  memcpy(shared.chunk, text, length);
  shared.chunk += length;
  shared.chunk_left -= length;
  shared.text_bytes += length;
  return kept;
}

Label& label_of(RangeLabel label) {
  return shared.labels[label - 1];
}

bool same(const Text& kept, const char* text, size_t length) {
  return kept.length == length && (length == 0 || memcmp(kept.data, text, length) == 0);
}

// The label's slot, or the free one where it would go.
uint32_t* find_label(uint64_t hash, uint32_t domain, const char* text, size_t length, RangeLabel* found) {
  for (uint64_t i = hash;; ++i) {
    uint32_t* slot = &shared.label_slots[i % kLabelSlots];
    *found = load_acquire(slot);
    if (*found == 0) {
      return slot;
    }
    const Label& label = label_of(*found);
    if (label.hash == hash && label.domain == domain && same(label.text, text, length)) {
      return slot;
    }
  }
}

// Call with the lock held.
RangeLabel add_label(uint64_t hash, uint32_t domain, const char* text, size_t length) {
  RangeLabel known = 0;
  uint32_t* slot = find_label(hash, domain, text, length, &known);
  if (known != 0) {
    return known;
  }
  const Text kept = shared.label_count < kMaxLabels ? keep_text(text, length) : Text{};
  if (kept.data == nullptr) {
    return kOtherLabel;
  }
  const RangeLabel label = shared.label_count + 1;
  label_of(label) = {hash, kept, domain, 0};
  store_release(&shared.label_count, label);
  store_release(slot, label);
  return label;
}

uint32_t* find_path(Paths* paths, uint32_t parent, RangeLabel label, uint32_t* found) {
  for (uint64_t i = mix(parent, label);; ++i) {
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

bool tell_path(uint32_t id, uint32_t parent, const Text& domain, const Text& name) {
  gpuprof_range record = {};
  record.id = id;
  record.parent = parent;
  record.domain_id = name_id(domain.data, domain.length);
  record.name_id = name_id(name.data, name.length);
  return record.name_id != 0 && range(record);
}

// Call with the lock held. 0: it could not be told to the recorder.
uint32_t add_path(Paths* paths, uint32_t parent, RangeLabel label) {
  uint32_t known = 0;
  uint32_t* slot = find_path(paths, parent, label, &known);
  if (known != 0) {
    return known;
  }
  if (paths->count == kMaxPaths) {
    paths->more = paths->more || tell_path(kMorePaths, 0, {}, {kMoreRanges, sizeof(kMoreRanges) - 1});
    return paths->more ? kMorePaths : 0;
  }
  const uint32_t id = paths->count + 1;
  const Label& name = label_of(label);
  if (!tell_path(id, parent, shared.domains[name.domain], name.text)) {
    return 0;
  }
  paths->paths[paths->count++] = {parent, label};
  store_release(slot, id);
  return id;
}

// The path one range further in; 0: not to be had now.
uint32_t path_below(uint32_t parent, RangeLabel label) {
  Paths* paths = load_acquire(&shared.paths);
  if (paths == nullptr || parent == kMorePaths) {
    return parent;
  }
  uint32_t found = 0;
  find_path(paths, parent, label, &found);
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

// Call with the lock held.
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

// For `open`, which is up to date then. False: not to be had now.
bool lock_open() {
  if (!try_lock_bounded(&shared.lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return false;
  }
  if (load_relaxed(&shared.any_late) != 0) {
    store_release(&shared.any_late, 0U);  // first: whoever adds one meanwhile says so afterwards
    for (uint64_t& late : shared.late) {
      if (const uint64_t id = __atomic_exchange_n(&late, uint64_t{0}, __ATOMIC_ACQ_REL); id != 0) {
        remove_open(id);
      }
    }
  }
  return true;
}

// The next one to hold the lock removes it: launches must not be in a range for ever that has ended.
void remove_later(uint64_t id) {
  for (uint64_t& late : shared.late) {
    uint64_t expected = 0;
    if (__atomic_compare_exchange_n(&late, &expected, id, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      store_release(&shared.any_late, 1U);
      return;
    }
  }
}

constexpr uint64_t kAllOpen = 0;  // no range's id

// Of the process's ranges in the order of their start, up to `last`.
struct OpenRanges {
  RangeLabel labels[kMaxOpen];
  uint32_t count;
  uint64_t last_start_ns;  // 0: not known, or there is no such range
};

// False: not to be had now.
bool copy_open(uint64_t last, OpenRanges* ranges) {
  ranges->count = 0;
  ranges->last_start_ns = 0;
  if (load_relaxed(&shared.open_count) == 0) {
    return true;
  }
  if (!lock_open()) {
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

// False: only `path` of it could be had.
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
  OpenRanges ranges;  // NOLINT(cppcoreguidelines-pro-type-member-init): large; copy_open() sets what it has
  *path = 0;
  return copy_open(kAllOpen, &ranges) && path_of(ranges, path);
}

// The thread's path, brought up to date. Where that could not be had it ends further out, which has been counted.
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

// "NAME" in any domain, or "NAME@DOMAIN"; an empty DOMAIN is the default one.
bool matches(const Label& label, const char* wanted) {
  const size_t length = strnlen(wanted, sizeof(gpuprof_options::nvtx_range));
  if (same(label.text, wanted, length)) {
    return true;
  }
  const auto* at = static_cast<const char*>(memrchr(wanted, '@', length));
  if (at == nullptr) {
    return false;
  }
  const auto name = static_cast<size_t>(at - wanted);
  return same(label.text, wanted, name) && same(shared.domains[label.domain], at + 1, length - name - 1);
}

bool is_wanted(RangeLabel label, const char* wanted) {
  const uint32_t connection = load_relaxed(&shared.connection);
  uint32_t* known = &label_of(label).wanted;
  const uint32_t before = load_relaxed(known);
  if (before / 2 == connection) {
    return before % 2 != 0;
  }
  const bool result = matches(label_of(label), wanted);
  store_relaxed(known, connection * 2 + (result ? 1U : 0U));
  return result;
}

// False: it could not be found out now.
bool look_for_wanted(const Stack& s, const char* wanted, bool* found) {
  *found = false;
  for (uint32_t i = 0; i < s.depth && !*found; ++i) {
    *found = is_wanted(s.entries[i].label, wanted);
  }
  if (*found) {
    return true;
  }
  OpenRanges ranges;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  if (!copy_open(kAllOpen, &ranges)) {
    return false;
  }
  for (uint32_t i = 0; i < ranges.count && !*found; ++i) {
    *found = is_wanted(ranges.labels[i], wanted);
  }
  return true;
}

bool spans_wanted() {
  constexpr uint32_t kBoth = GPUPROF_CONTROL_CALLS | GPUPROF_CONTROL_ENABLED;
  return (control() & kBoth) == kBoth;
}

// 0 where nobody will ask for it: reading the clock costs more than a push.
uint64_t start_time() {
  return load_relaxed(&shared.connection) == 0 || (control() & GPUPROF_CONTROL_CALLS) != 0 ? now_ns() : 0;
}

void tell_span(uint64_t start_ns, uint32_t path, uint32_t tid) {
  if (start_ns == 0 || path == 0) {
    return;
  }
  gpuprof_span record = {};
  record.start_ns = start_ns;
  record.end_ns = now_ns();
  record.range = path;
  record.tid = tid;
  span(record);
}

void tell_pushed_span(Stack& s, uint32_t index) {
  const Guard guard;
  if (!guard.entered()) {
    return;
  }
  if (s.generation != load_acquire(&shared.generation) || index >= s.known) {
    update_path(s);
  }
  if (s.tid == 0) {
    s.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  }
  if (index < s.known) {
    tell_span(s.entries[index].start_ns, s.entries[index].path, s.tid);
  }
}

void tell_open_span(uint64_t id) {
  const Guard guard;
  if (!guard.entered() || !spans_wanted()) {
    return;
  }
  OpenRanges ranges;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  uint32_t path = 0;
  if (copy_open(id, &ranges) && ranges.last_start_ns != 0 && path_of(ranges, &path)) {
    tell_span(ranges.last_start_ns, path, 0);
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
  // 0 is what a thread that remembers nothing has.
  if (__atomic_add_fetch(&shared.generation, 1U, __ATOMIC_ACQ_REL) == 0) {
    __atomic_add_fetch(&shared.generation, 1U, __ATOMIC_ACQ_REL);
  }
}

void after_fork_in_child() {
  store_release(&shared.lock, 0U);  // whoever held it is the parent's; what it was at is published last, or not at all
  stack.tid = 0;
}

}  // namespace

void init_ranges() {
  // The NVTX code of two libraries may come here at once: whoever is later changes nothing, and finds all ready.
  shared.labels[kOtherLabel - 1].text = {kMoreRanges, sizeof(kMoreRanges) - 1};
  shared.domains[kOtherDomain] = {kMoreDomains, sizeof(kMoreDomains) - 1};
  swap_if(&shared.label_count, 0, 1);
  swap_if(&shared.domain_count, 0, 1);
  static uint32_t fork_handler = 0;
  if (swap_if(&fork_handler, 0, 1)) {
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  }
}

uint32_t current_range() {
  Stack& s = stack;
  uint32_t path = 0;
  if (s.generation == load_acquire(&shared.generation) && s.known == s.depth) {
    path = s.depth == 0 ? s.base : s.entries[s.depth - 1].path;
  } else {
    path = update_path(s);
  }
  if (path == kMorePaths || s.deeper > 0) {
    lost(GPUPROF_LOSS_RANGE_LIMIT, 1);
  }
  return path;
}

bool in_wanted_range() {
  const gpuprof_options* wishes = options();
  if (wishes == nullptr || wishes->nvtx_range[0] == '\0') {
    return true;
  }
  Stack& s = stack;
  const uint32_t generation = load_acquire(&shared.generation);
  if (s.wanted_generation != generation || s.wanted_changes != s.changes) {
    bool found = false;
    if (!look_for_wanted(s, wishes->nvtx_range, &found)) {
      return found;
    }
    s.wanted = found;
    s.wanted_generation = generation;
    s.wanted_changes = s.changes;
  }
  return s.wanted;
}

void reset_ranges() {
  const KeepErrno keep_errno;
  // Nothing is given back: a thread may be reading it. A recording is made anew seldom enough.
  auto* paths = static_cast<Paths*>(map_memory(sizeof(Paths)));
  const bool locked = try_lock_bounded(&shared.lock);
  store_release(&shared.paths, paths);
  add_relaxed(&shared.connection, 1U);
  new_generation();
  if (locked) {
    unlock(&shared.lock);
  }
}

uint32_t range_domain(const char* name, size_t length) {
  const KeepErrno keep_errno;
  length = std::min(length, kMaxName);
  if (!try_lock_bounded(&shared.lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return kOtherDomain;
  }
  uint32_t domain = 1;
  while (domain < shared.domain_count && !same(shared.domains[domain], name, length)) {
    ++domain;
  }
  if (domain == shared.domain_count) {
    const Text kept = domain < kOtherDomain ? keep_text(name, length) : Text{};
    if (kept.data == nullptr) {
      domain = kOtherDomain;
    } else {
      shared.domains[domain] = kept;
      store_release(&shared.domain_count, domain + 1);
    }
  }
  unlock(&shared.lock);
  return domain;
}

RangeLabel range_label(uint32_t domain, const char* text, size_t length) {
  length = std::min(length, kMaxName);
  const bool known = domain < load_acquire(&shared.domain_count) || domain == kOtherDomain;
  domain = known ? domain : kDefaultDomain;
  const uint64_t hash = hash_text(domain, text, length);
  RangeLabel label = 0;
  find_label(hash, domain, text, length, &label);
  if (label != 0) {
    return label;
  }
  const KeepErrno keep_errno;
  if (!try_lock_bounded(&shared.lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return kOtherLabel;
  }
  label = add_label(hash, domain, text, length);
  unlock(&shared.lock);
  return label;
}

RangeLabel checked_label(uint32_t domain, RangeLabel label) {
  const bool known = label > kOtherLabel && label <= load_acquire(&shared.label_count);
  return known && label_of(label).domain == domain ? label : kOtherLabel;
}

int push_range(uint32_t domain, RangeLabel label) {
  Stack& s = stack;
  ++s.changes;
  if (s.depth == kMaxDepth) {
    return static_cast<int>(s.depth + s.deeper++);
  }
  s.entries[s.depth] = {start_time(), label, domain, 0};
  return level_of(s, s.depth++);
}

int pop_range(uint32_t domain) {
  Stack& s = stack;
  if (s.deeper > 0) {
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
    tell_pushed_span(s, index);
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
    return id;
  }
  if (shared.open_count < kMaxOpen) {
    shared.open[shared.open_count] = {id, start_ns, label};
    store_relaxed(&shared.open_count, shared.open_count + 1);
    new_generation();
  } else {
    lost(GPUPROF_LOSS_DETAIL, 1);
  }
  unlock(&shared.lock);
  return id;
}

void end_range(uint64_t id) {
  tell_open_span(id);
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

#include "nvtx/range_names.h"

#include <algorithm>
#include <cstring>

#include "base/atomics.h"
#include "base/keep_errno.h"
#include "base/text_arena.h"
#include "ipc/emit.h"

namespace gpuprof::injection {
namespace {

// These limits protect against programs that create names endlessly. Labels take 2 MiB, in addition to the texts.
constexpr uint32_t kMaxLabels = 2 * kExactLabels;
constexpr uint32_t kMaxDomains = 256;
constexpr uint32_t kMaxOtherLabels = kMaxLabels - kMaxDomains;  // the rest is for the wanted name in each domain
constexpr size_t kMaxTextBytes = 8U << 20;
constexpr size_t kExactTextBytes = kMaxTextBytes / 2;
constexpr size_t kOtherTextBytes = kMaxTextBytes - kMaxDomains * sizeof(gpuprof_options::nvtx_range);
constexpr size_t kMaxName = 4096;
constexpr size_t kChunkBytes = 64U << 10;

constexpr uint32_t kLabelSlots = 2 * kMaxLabels;
constexpr uint32_t kMoreDomains = kMaxDomains - 1;
constexpr char kMoreRangesText[] = "[more ranges]";
constexpr char kMoreDomainsText[] = "[more domains]";

struct Label {
  uint64_t hash;
  RangeText text;
  uint32_t domain;
  // Atomic. 0: the label was not checked yet; else 2 * (number of the connection), plus 1 if the label is wanted.
  uint32_t wanted;
  // Atomic. The label of the same name with "[N]" for each number. 0: not known yet.
  uint32_t folded;
  bool renamed;  // numbers were replaced, so the text is not the program's
};

// Slots and labels are read without the lock. So a slot is stored after its label, with release, and never changes.
struct RangeNames {
  uint32_t lock;
  uint32_t label_slots[kLabelSlots];
  Label labels[kMaxLabels];        // label L is at index L - 1; the first one is kMoreRanges
  uint32_t label_count;            // atomic
  RangeText domains[kMaxDomains];  // the first is the default domain, the last represents all other domains
  uint32_t domain_count;           // atomic
  TextArena<kMaxTextBytes, kChunkBytes> texts;
  const char* wanted;  // the value of GPUPROF_ENV_NVTX_RANGE
};
constinit RangeNames names = {};

// Returns null data if the storage is full. Needs the lock.
RangeText keep_text(const char* text, size_t length) {
  return {names.texts.keep(text, length), static_cast<uint32_t>(length)};
}

Label& label_of(RangeLabel label) {
  return names.labels[label - 1];
}

bool same(const RangeText& kept, const char* text, size_t length) {
  return kept.length == length && (length == 0 || memcmp(kept.data, text, length) == 0);
}

// Returns the slot of the label, or a free slot for it.
uint32_t* find_label(uint64_t hash, uint32_t domain, const char* text, size_t length, RangeLabel* found) {
  for (uint64_t i = hash;; ++i) {
    uint32_t* slot = &names.label_slots[i % kLabelSlots];
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

bool matches(RangeText text, uint32_t domain, const char* wanted) {
  const size_t length = strnlen(wanted, sizeof(gpuprof_options::nvtx_range));
  if (same(text, wanted, length)) {
    return true;
  }
  const auto* at = static_cast<const char*>(memrchr(wanted, '@', length));
  if (at == nullptr) {
    return false;
  }
  const auto name = static_cast<size_t>(at - wanted);
  return same(text, wanted, name) && same(names.domains[domain], at + 1, length - name - 1);
}

bool is_wanted_name(uint32_t domain, const char* text, size_t length) {
  const char* wanted = wanted_range();
  return wanted != nullptr && matches({text, static_cast<uint32_t>(length)}, domain, wanted);
}

// Adds a label unless it is known. Needs the lock.
RangeLabel add_label(uint64_t hash, uint32_t domain, const char* text, size_t length, bool renamed) {
  RangeLabel known = 0;
  uint32_t* slot = find_label(hash, domain, text, length, &known);
  if (known != 0) {
    return known;
  }
  const bool fits = names.label_count < kMaxOtherLabels && names.texts.bytes_kept() + length <= kOtherTextBytes;
  const bool may_add = fits || (names.label_count < kMaxLabels && is_wanted_name(domain, text, length));
  const RangeText kept = may_add ? keep_text(text, length) : RangeText{};
  if (kept.data == nullptr) {
    return kMoreRanges;
  }
  const RangeLabel label = names.label_count + 1;
  label_of(label) = {hash, kept, domain, 0, 0, renamed};
  store_release(&names.label_count, label);
  store_release(slot, label);
  return label;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A word of hexadecimal digits is one number ("3fa94c1e"). In other words, only the digits are numbers ("step12").
bool is_hex_number(const char* word, size_t length) {
  constexpr size_t kShortest = 4;
  return length >= kShortest && std::all_of(word, word + length, is_hex_digit) &&
         std::any_of(word, word + length, is_digit);
}

// Replaces each number by "[N]". Cuts what does not fit. Returns the length.
size_t fold_numbers(const char* text, size_t length, char* folded, size_t room) {
  constexpr char kNumber[] = {'[', 'N', ']'};
  size_t size = 0;
  const auto put = [&](const char* part, size_t part_length) {
    part_length = std::min(part_length, room - size);
    memcpy(folded + size, part, part_length);
    size += part_length;
  };
  const char* const end = text + length;
  while (text < end) {
    const char* const word = std::find_if_not(text, end, is_alphanumeric);
    if (is_hex_number(text, static_cast<size_t>(word - text))) {
      put(kNumber, sizeof(kNumber));
      text = word;
      continue;
    }
    while (text < word) {
      const char* const other = std::find_if(text, word, is_digit);
      put(text, static_cast<size_t>(other - text));
      if (other < word) {
        put(kNumber, sizeof(kNumber));
      }
      text = std::find_if_not(other, word, is_digit);
    }
    const char* const next = std::find_if(word, end, is_alphanumeric);
    put(word, static_cast<size_t>(next - word));
    text = next;
  }
  return size;
}

// Returns whether a name keeps its numbers instead of "[N]". It does if the limits are not reached, or if the name
// is that of the wanted range.
bool stays_exact(uint32_t domain, const char* text, size_t length) {
  if (load_relaxed(&names.label_count) < kExactLabels && names.texts.bytes_kept() < kExactTextBytes) {
    return true;
  }
  return is_wanted_name(domain, text, length);
}

RangeLabel stored_label(uint32_t domain, const char* text, size_t length, bool renamed) {
  const uint64_t hash = hash_text(domain, text, length);
  RangeLabel label = 0;
  find_label(hash, domain, text, length, &label);
  if (label != 0) {
    return label;
  }
  const KeepErrno keep_errno;
  if (!try_lock_bounded(&names.lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return kMoreRanges;
  }
  label = add_label(hash, domain, text, length, renamed);
  unlock(&names.lock);
  return label;
}

RangeLabel label_of_folded(uint32_t domain, const char* text, size_t length) {
  char folded[kMaxName];
  const size_t size = fold_numbers(text, length, folded, sizeof(folded));
  return stored_label(domain, folded, size, !same({text, static_cast<uint32_t>(length)}, folded, size));
}

}  // namespace

void init_range_names() {
  // NVTX code in two libraries may call this at the same time, so a second call must change nothing.
  names.labels[kMoreRanges - 1].text = {kMoreRangesText, sizeof(kMoreRangesText) - 1};
  names.domains[kMoreDomains] = {kMoreDomainsText, sizeof(kMoreDomainsText) - 1};
  swap_if(&names.label_count, 0, 1);
  swap_if(&names.domain_count, 0, 1);
  if (const char* wanted = secure_getenv(GPUPROF_ENV_NVTX_RANGE);
      wanted != nullptr && load_acquire(&names.wanted) == nullptr) {
    const size_t length = strnlen(wanted, sizeof(gpuprof_options::nvtx_range));
    if (auto* kept = static_cast<char*>(map_memory(length + 1)); kept != nullptr) {  // the program may change its own
      memcpy(kept, wanted, length);
      store_release(&names.wanted, static_cast<const char*>(kept));
    }
  }
}

const char* wanted_range() {
  const gpuprof_options* chosen = options();
  const char* wanted = chosen != nullptr ? chosen->nvtx_range : load_acquire(&names.wanted);
  return wanted != nullptr && wanted[0] != '\0' ? wanted : nullptr;
}

void unlock_range_names() {
  unlock(&names.lock);
}

uint32_t range_domain(const char* name, size_t length) {
  const KeepErrno keep_errno;
  length = std::min(length, kMaxName);
  if (!try_lock_bounded(&names.lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return kMoreDomains;
  }
  uint32_t domain = 1;
  while (domain < names.domain_count && !same(names.domains[domain], name, length)) {
    ++domain;
  }
  if (domain == names.domain_count) {
    const RangeText kept = domain < kMoreDomains ? keep_text(name, length) : RangeText{};
    if (kept.data == nullptr) {
      domain = kMoreDomains;
    } else {
      names.domains[domain] = kept;
      store_release(&names.domain_count, domain + 1);
    }
  }
  unlock(&names.lock);
  return domain;
}

RangeLabel range_label(uint32_t domain, const char* text, size_t length) {
  length = std::min(length, kMaxName);
  const bool known = domain < load_acquire(&names.domain_count) || domain == kMoreDomains;
  domain = known ? domain : kDefaultDomain;
  const uint64_t hash = hash_text(domain, text, length);
  RangeLabel label = 0;
  find_label(hash, domain, text, length, &label);
  if (label != 0) {
    return label;
  }
  return stays_exact(domain, text, length) ? stored_label(domain, text, length, false)
                                           : label_of_folded(domain, text, length);
}

RangeLabel folded_label(RangeLabel label) {
  Label& known = label_of(label);
  if (const uint32_t folded = load_relaxed(&known.folded); folded != 0) {
    return folded;
  }
  RangeLabel folded = label == kMoreRanges ? label : label_of_folded(known.domain, known.text.data, known.text.length);
  folded = folded == kMoreRanges ? label : folded;
  store_relaxed(&known.folded, folded);
  return folded;
}

RangeLabel checked_label(uint32_t domain, RangeLabel label) {
  const bool known = label > kMoreRanges && label <= load_acquire(&names.label_count);
  return known && label_of(label).domain == domain ? label : kMoreRanges;
}

RangeText text_of(RangeLabel label) {
  return label_of(label).text;
}

RangeText domain_of(RangeLabel label) {
  return names.domains[label_of(label).domain];
}

bool is_renamed(RangeLabel label) {
  return label == kMoreRanges || label_of(label).renamed || label_of(label).domain == kMoreDomains;
}

bool is_wanted(RangeLabel label, const char* wanted, uint32_t connection) {
  uint32_t* known = &label_of(label).wanted;
  const uint32_t before = load_relaxed(known);
  if (connection != 0 && before / 2 == connection) {
    return before % 2 != 0;
  }
  const bool result = matches(label_of(label).text, label_of(label).domain, wanted);
  if (connection != 0) {
    store_relaxed(known, connection * 2 + (result ? 1U : 0U));
  }
  return result;
}

}  // namespace gpuprof::injection

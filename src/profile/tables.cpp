#include "profile/tables.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "profile/keywords.h"

namespace gpuprof::profile {
namespace {

using Reason = std::optional<std::string>;

constexpr uint32_t kMaxRangeDepth = 1024;
// Limit of distinct texts and addresses in stacks, because each takes far more memory than space in the file.
constexpr size_t kMostLabels = 1'000'000;

Reason undefined(IdSpace space, uint32_t id) {
  return std::string(word(space)) + " " + std::to_string(id) + " is not defined";
}

Reason redefined(std::string_view kind, uint32_t id) {
  return std::string(kind) + " " + std::to_string(id) + " is already defined, with another value";
}

template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <typename T>
bool same(std::span<const T> /*a*/, std::span<const T> /*b*/) {
  return true;  // define() compares the elements of lists
}
// Compares two definitions of one id, except their lists. A profile may define an id again, but only with the same
// value.
template <typename R>
bool same_fields(const R& a, const R& b) {
  return for_each_field(a, [&](const auto& field, const auto& value) { return same(value, b.*field.member); });
}
bool same(std::span<const Element> a, std::span<const Element> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Element& x, const Element& y) {
    return x.position == y.position && x.is_label == y.is_label;
  });
}

// Returns the kind of WORK that a row of this type measures.
template <typename Row>
constexpr WorkKind kMeasured = WorkKind::gpu;
template <>
constexpr WorkKind kMeasured<Launch> = WorkKind::launch;
template <>
constexpr WorkKind kMeasured<Host> = WorkKind::host;

std::string hexadecimal(uint64_t value) {
  std::array<char, 18> text{'0', 'x'};
  const auto end = std::to_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return std::string(text.data(), end.ptr);
}

}  // namespace

Reason Tables::add(const Record& record) {
  return std::visit([this](const auto& r) { return this->define(r); }, record);
}

Reason Tables::add(const EuStall& record) {
  return define(record);
}

// Checks the ids in a record. In rows, the id of the WORK is checked by check_work() instead.
template <typename R>
Reason Tables::check_ids(const R& r) const {
  IdSpace missing_space{};
  uint32_t missing = 0;
  const bool known = for_each_id(r, [&](IdSpace space, auto id) {
    if (space == kWorkIds || index(id) == 0 || ids_[space].has(index(id))) {
      return true;
    }
    missing_space = space;
    missing = index(id);
    return false;
  });
  return known ? Reason() : undefined(missing_space, missing);
}

template <typename Id>
Reason Tables::check_needed(Id id) const {
  return ids_[kSpaceOf<Id>].has(index(id)) ? Reason() : undefined(kSpaceOf<Id>, index(id));
}

template <typename R>
Reason Tables::define_row(const R& r) {
  IdIndex& ids = ids_[own_space(r)];
  auto& rows = std::get<std::vector<R>>(rows_);
  const uint32_t known = ids.find(index(r.id));
  if (known != IdIndex::kNone) {
    return same_fields(rows[known], r) ? Reason() : redefined(kind_of(r), index(r.id));
  }
  ids.insert(index(r.id), static_cast<uint32_t>(rows.size()));
  rows.push_back(r);
  return std::nullopt;
}

template <typename Row>
Reason Tables::check_work(const Row& r) const {
  const Work* const known = work(r.work);
  if (known == nullptr) {
    return undefined(kWorkIds, index(r.work));
  }
  const bool fits = work_kind(known->op) == kMeasured<Row> || (std::is_same_v<Row, Duration> && known->op == Op::call);
  if (!fits) {
    return std::string(kind_of(r)) + ": WORK " + std::to_string(index(r.work)) + " has the operation '" +
           std::string(word(known->op)) + "', which does not fit this kind of record";
  }
  return std::nullopt;
}

template <typename Other>
Reason Tables::define(const Other& r) {
  Reason reason = check_ids(r);
  if (reason) {
    return reason;
  }
  if constexpr (kIsDefinition<Other>) {
    return define_row(r);
  } else if constexpr (requires { r.work; }) {
    return check_work(r);
  }
  return std::nullopt;
}

Reason Tables::define(const String& r) {
  const uint32_t known = ids_[kStringIds].find(index(r.id));
  if (known != IdIndex::kNone) {
    return texts_[known] == r.value ? Reason() : redefined(kind_of(r), index(r.id));
  }
  ids_[kStringIds].insert(index(r.id), static_cast<uint32_t>(texts_.size()));
  texts_.emplace_back(r.value);
  return std::nullopt;
}

std::string_view Tables::text(StringId id) const {
  const uint32_t position = ids_[kStringIds].find(index(id));
  return position == IdIndex::kNone ? std::string_view() : std::string_view(texts_[position]);
}

std::optional<uint32_t> Tables::intern_label(std::string_view label) {
  const auto found = label_ids_.find(label);
  if (found != label_ids_.end()) {
    return found->second;
  }
  if (labels_.size() >= kMostLabels) {
    return std::nullopt;
  }
  const auto position = static_cast<uint32_t>(labels_.size());
  // The key is a view of the string, which a deque does not move.
  label_ids_.emplace(labels_.emplace_back(label), position);
  return position;
}

[[gnu::always_inline]] inline bool Tables::add_frame(FrameId id) {
  const uint32_t position = ids_[kFrameIds].find(index(id));
  if (position == IdIndex::kNone) {
    return false;
  }
  scratch_.emplace_back(position, false);
  return true;
}

Reason Tables::define(const Stack& r) {
  scratch_.clear();
  for (const StackElement& element : r.elements) {
    if (element.is_address || !element.text.empty()) {
      const auto label = intern_label(element.is_address ? hexadecimal(element.address) : std::string(element.text));
      if (!label) {
        return "the stacks hold more than " + std::to_string(kMostLabels) + " distinct texts and addresses";
      }
      scratch_.emplace_back(*label, true);
    } else if (!add_frame(element.frame)) {
      return undefined(kFrameIds, index(element.frame));
    }
  }
  IdIndex& ids = ids_[own_space(r)];
  if (ids.has(index(r.id))) {
    return same(stack(r.kernel, r.id), scratch_) ? Reason() : redefined(kind_of(r), index(r.id));
  }
  ids.insert(index(r.id), static_cast<uint32_t>(stack_rows_.size()));
  stack_rows_.push_back({elements_.size(), scratch_.size()});
  elements_.insert(elements_.end(), scratch_.begin(), scratch_.end());
  return std::nullopt;
}

Reason Tables::define(const Range& r) {
  if (Reason reason = check_ids(r)) {
    return reason;
  }
  const uint32_t parent = ids_[kRangeIds].find(index(r.parent));
  const uint32_t depth = parent == IdIndex::kNone ? 1 : range_depths_[parent] + 1;
  if (depth > kMaxRangeDepth) {
    return "RANGE " + std::to_string(index(r.id)) + " is nested deeper than " + std::to_string(kMaxRangeDepth);
  }
  Reason reason = define_row(r);
  if (range_depths_.size() < rows<Range>().size()) {
    range_depths_.push_back(depth);
  }
  return reason;
}

Reason Tables::define(const GpuPlace& r) {
  if (Reason reason = check_ids(r)) {
    return reason;
  }
  scratch_.clear();
  for (const FrameId frame : r.frames) {
    if (!add_frame(frame)) {
      return undefined(kFrameIds, index(frame));
    }
  }
  const uint32_t known = position(r.id);
  if (known != IdIndex::kNone && !same(run(gpu_place_frames_[known]), scratch_)) {
    return redefined(kind_of(r), index(r.id));
  }
  GpuPlace row = r;
  // The span is only valid until the next line, so elements_ stores the frames.
  row.frames = {};
  Reason reason = define_row(row);
  if (gpu_place_frames_.size() < rows<GpuPlace>().size()) {
    gpu_place_frames_.push_back({elements_.size(), scratch_.size()});
    elements_.insert(elements_.end(), scratch_.begin(), scratch_.end());
  }
  return reason;
}

Reason Tables::define(const GpuInstruction& r) {
  Reason reason = check_needed(r.place);
  reason = reason ? reason : check_ids(r);
  if (reason) {
    return reason;
  }
  const auto [known, is_new] = gpu_instructions_.try_emplace(index(r.place), r);
  return is_new || same_fields(known->second, r) ? Reason() : redefined(kind_of(r), index(r.place));
}

Reason Tables::define(const GpuCount& r) {
  Reason reason = check_needed(r.place);
  reason = reason ? reason : check_ids(r);
  if (reason) {
    return reason;
  }
  uint64_t& sum = gpu_counts_[{r.place, r.name}];
  if (__builtin_add_overflow(sum, r.value, &sum)) {
    return "the sum of the counts of GPU_PLACE " + std::to_string(index(r.place)) + " does not fit into 64 bits";
  }
  return std::nullopt;
}

Reason Tables::define(const Idle& r) {
  Reason reason = check_needed(r.device);
  return reason || index(r.work) == 0 ? reason : check_needed(r.work);
}

Reason Tables::define(const Event& r) {
  return check_needed(r.work);
}

std::span<const Element> Tables::stack(bool kernel, StackId id) const {
  const uint32_t position = ids_[kernel ? kKstackIds : kUstackIds].find(index(id));
  if (position == IdIndex::kNone) {
    return {};
  }
  return run(stack_rows_[position]);
}

GpuInstruction Tables::instruction(GpuPlaceId id) const {
  const auto found = gpu_instructions_.find(index(id));
  GpuInstruction known = found == gpu_instructions_.end() ? GpuInstruction{.place = id} : found->second;
  if (const GpuPlace* const place = gpu_place(id); place != nullptr && index(place->instruction) != 0) {
    known.text = place->instruction;
  }
  return known;
}

std::span<const Element> Tables::place_frames(GpuPlaceId id) const {
  const uint32_t position = this->position(id);
  return position == IdIndex::kNone ? std::span<const Element>() : run(gpu_place_frames_[position]);
}

}  // namespace gpuprof::profile

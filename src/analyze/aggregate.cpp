#include "analyze/aggregate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyze/row_map.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

using Reason = std::optional<std::string>;

RowKey key_of(const p::Gpu& r) {
  return {.kind = RowKind::gpu,
          .op = r.op,
          .process = index(r.process),
          .ustack = r.ustack,
          .kstack = r.kstack,
          .name = index(r.name)};
}

RowKey key_of(const p::Launch& r) {
  return {.kind = RowKind::launch,
          .process = index(r.process),
          .ustack = r.ustack,
          .kstack = r.kstack,
          .name = index(r.function)};
}

RowKey key_of(const p::EuStall& r) {
  return {.kind = RowKind::stall,
          .process = index(r.proc_name),
          .pid = r.pid,
          .ustack = r.ustack,
          .kstack = r.kstack,
          .name = r.gpu_symbol,
          .gpu_file = r.gpu_file,
          .insn_text = r.insn_text,
          .stall_type = r.stall_type,
          .offset = r.offset};
}

class Aggregator {
 public:
  Aggregator() : map_(result_.rows) {}

  // The reason why the record can not be accepted, or nothing. A refused record leaves no trace.
  Reason take(const p::Record& record) {
    if (ended_ && !std::holds_alternative<p::Unknown>(record)) {
      return "there are records after END";
    }
    if (const auto* gpu = std::get_if<p::Gpu>(&record)) {
      return take_gpu(*gpu, record);
    }
    if (const auto* stall = std::get_if<p::EuStall>(&record)) {
      return add_row(key_of(*stall), Weight{.count = stall->count}, record, nullptr);
    }
    if (const auto* launch = std::get_if<p::Launch>(&record)) {
      return take_launch(*launch, record);
    }
    Reason reason = result_.tables.add(record);
    return reason ? reason : take_rare(record);
  }

  Aggregate finish(const p::Reader& reader) {
    ProfileInfo& info = result_.info;
    info.cut_short = reader.cut_short();
    info.complete = !info.cut_short && (ended_ || reader.major() == 0);
    info.skipped_bad = reader.skipped_bad();
    info.skipped_unknown = reader.skipped_unknown();
    info.gpu_records = gpu_count_;
    info.with_stack = with_stack_;
    info.launches = launch_count_;
    info.kind = kind();
    if (ended_) {
      check_end();
    }
    return std::move(result_);
  }

 private:
  Reason take_gpu(const p::Gpu& r, const p::Record& record) {
    // Ids that are not part of the key; the others are checked where a row is new.
    if (!result_.tables.has(r.thread) || !result_.tables.has(r.device)) {
      return result_.tables.add(record);
    }
    Reason reason = add_row(key_of(r), Weight{.ns = r.sum_ns, .count = r.count, .bytes = r.bytes}, record, &r);
    if (!reason) {
      gpu_count_ += r.count;
      with_stack_ += index(r.ustack) != 0 || index(r.kstack) != 0 ? r.count : 0;
    }
    return reason;
  }

  Reason take_launch(const p::Launch& r, const p::Record& record) {
    if (!result_.tables.has(r.thread)) {
      return result_.tables.add(record);
    }
    Reason reason = add_row(key_of(r), Weight{.count = r.count}, record, nullptr);
    if (!reason) {
      launch_count_ += r.count;
    }
    return reason;
  }

  // META, LOSS and END, whose ids are checked already.
  Reason take_rare(const p::Record& record) {
    if (const auto* meta = std::get_if<p::Meta>(&record)) {
      result_.info.meta.emplace(meta->key, meta->value);
    } else if (const auto* loss = std::get_if<p::Loss>(&record)) {
      if (__builtin_add_overflow(lost_, loss->count, &lost_)) {
        return "the sum of all LOSS counts exceeds 64 bits";
      }
      result_.info.losses[std::string(loss->reason)] += loss->count;
    } else if (const auto* end = std::get_if<p::End>(&record)) {
      ended_ = true;
      end_ = *end;
    }
    return std::nullopt;
  }

  Reason add_row(const RowKey& key, const Weight& weight, const p::Record& record, const p::Gpu* gpu) {
    Weight total = result_.total;
    if (__builtin_add_overflow(total.ns, weight.ns, &total.ns) ||
        __builtin_add_overflow(total.count, weight.count, &total.count) ||
        __builtin_add_overflow(total.bytes, weight.bytes, &total.bytes)) {
      return "the sum of all records up to this one exceeds 64 bits";
    }
    RowMap::Place place;
    Row* row = map_.find(key, place);
    if (row == nullptr) {
      Reason reason = map_.full() ? Reason("too many distinct rows") : result_.tables.add(record);
      if (reason) {
        return reason;
      }
      row = &map_.insert(key, place);
    }
    if (gpu != nullptr && gpu->count > 0) {
      row->min_ns = row->weight.count == 0 ? gpu->min_ns : std::min(row->min_ns, gpu->min_ns);
      row->max_ns = std::max(row->max_ns, gpu->max_ns);
    }
    row->weight.ns += weight.ns;
    row->weight.count += weight.count;
    if (weight.bytes != 0) {  // lies in the row's second cache line
      row->weight.bytes += weight.bytes;
    }
    result_.total = total;
    ++result_.info.records;
    seen_[static_cast<size_t>(key.kind)] = true;
    return std::nullopt;
  }

  [[nodiscard]] ProfileKind kind() const {
    const int kinds = int{seen_[0]} + int{seen_[1]} + int{seen_[2]};
    if (kinds > 1) {
      return ProfileKind::mixed;
    }
    if (seen_[static_cast<size_t>(RowKind::gpu)]) {
      return ProfileKind::durations;
    }
    if (seen_[static_cast<size_t>(RowKind::launch)]) {
      return ProfileKind::launch_counts;
    }
    return kinds == 1 ? ProfileKind::stall_samples : ProfileKind::empty;
  }

  void check_end() {
    compare("GPU records", end_.gpu_records, gpu_count_);
    compare("ns of GPU time", end_.gpu_ns, result_.total.ns);
    compare("lost records", end_.lost, lost_);
    result_.info.launches = end_.launches;
    result_.info.with_stack = std::min(end_.with_stack, gpu_count_);
  }

  void compare(const char* what, uint64_t end, uint64_t sum) {
    if (end != sum) {
      result_.info.warnings.push_back("the END record counts " + std::to_string(end) + " " + what +
                                      ", the records before it sum up to " + std::to_string(sum));
    }
  }

  Aggregate result_;
  RowMap map_;
  uint64_t gpu_count_ = 0;  // these three are parts of total.count, so they do not overflow
  uint64_t with_stack_ = 0;
  uint64_t launch_count_ = 0;
  uint64_t lost_ = 0;
  bool seen_[3] = {};  // by RowKind
  bool ended_ = false;
  p::End end_;
};

}  // namespace

Result<Aggregate> aggregate(profile::Reader& reader) {
  Aggregator aggregator;
  for (;;) {
    auto next = reader.next();
    if (!next) {
      return std::move(next).error();
    }
    if (!next->has_value()) {
      return aggregator.finish(reader);
    }
    const Reason reason = aggregator.take(**next);
    if (!reason) {
      continue;
    }
    if (!reader.lenient()) {
      return reader.error_here(*reason);
    }
    reader.count_bad();
  }
}

}  // namespace gpuprof::analyze

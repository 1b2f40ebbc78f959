#include "analyze/aggregate.h"

#include <algorithm>
#include <array>
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
  explicit Aggregator(p::Reader& reader) : reader_(reader), map_(result_.rows) {}

  // Fails for a record that can not be accepted, unless the reader is lenient. A refused record leaves no trace.
  Status take(const p::Record& record) {
    if (ended_ && !std::holds_alternative<p::Unknown>(record)) {
      return refuse(reader_.line(), "there are records after END");
    }
    if (const auto* gpu = std::get_if<p::Gpu>(&record)) {
      // Ids that are not part of the key; the others are checked where a row is new.
      const bool known = result_.tables.has(gpu->thread) && result_.tables.has(gpu->device);
      return known ? wait({.key = key_of(*gpu),
                           .weight = {.ns = gpu->sum_ns, .count = gpu->count, .bytes = gpu->bytes},
                           .min_ns = gpu->min_ns,
                           .max_ns = gpu->max_ns})
                   : take_other(record);
    }
    if (const auto* stall = std::get_if<p::EuStall>(&record)) {
      return wait({.key = key_of(*stall), .weight = {.count = stall->count}});
    }
    if (const auto* launch = std::get_if<p::Launch>(&record)) {
      return result_.tables.has(launch->thread) ? wait({.key = key_of(*launch), .weight = {.count = launch->count}})
                                                : take_other(record);
    }
    return take_other(record);
  }

  // Adds the waiting records to their rows. Due before anything that comes after them is looked at.
  Status settle() {
    while (settled_ != queued_) {
      if (Status added = add_oldest(); !added) {
        return added;
      }
    }
    return {};
  }

  // After the last settle().
  Aggregate finish() {
    ProfileInfo& info = result_.info;
    info.cut_short = reader_.cut_short();
    info.complete = !info.cut_short && (ended_ || reader_.major() == 0);
    info.skipped_bad = reader_.skipped_bad();
    info.skipped_unknown = reader_.skipped_unknown();
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
  // A record on its way to its row.
  struct Waiting {
    RowKey key;
    Weight weight;
    uint64_t min_ns = 0;
    uint64_t max_ns = 0;
    uint64_t hash = 0;
    uint64_t line = 0;
  };

  Status refuse(uint64_t line, std::string_view reason) {
    if (!reader_.lenient()) {
      return reader_.error_at(line, reason);
    }
    reader_.count_bad();
    return {};
  }

  Status wait(const Waiting& record) {
    Waiting& waiting = queue_[queued_++ % kQueue];
    waiting = record;
    waiting.hash = map_.begin(record.key);
    waiting.line = reader_.line();
    if (queued_ - settled_ <= kQueue / 2) {
      return {};
    }
    const Waiting& halfway = queue_[(queued_ - 1 - kQueue / 2) % kQueue];
    map_.approach(halfway.key, halfway.hash);
    return queued_ - settled_ == kQueue ? add_oldest() : Status();
  }

  Status add_oldest() {
    const Waiting& oldest = queue_[settled_++ % kQueue];
    const Reason reason = add_row(oldest);
    return reason ? refuse(oldest.line, *reason) : Status();
  }

  // Definitions, what is rare, and what the tables refuse.
  Status take_other(const p::Record& record) {
    if (Status settled = settle(); !settled) {
      return settled;
    }
    Reason reason = result_.tables.add(record);
    if (!reason) {
      reason = take_rare(record);
    }
    return reason ? refuse(reader_.line(), *reason) : Status();
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

  // The ids that make up a key are checked when its first record comes.
  Reason check_ids(const RowKey& key) {
    switch (key.kind) {
      case RowKind::gpu:
        return result_.tables.add(p::Gpu{.process = p::ProcessId{key.process},
                                         .ustack = key.ustack,
                                         .kstack = key.kstack,
                                         .name = p::StringId{key.name}});
      case RowKind::launch:
        return result_.tables.add(p::Launch{.process = p::ProcessId{key.process},
                                            .ustack = key.ustack,
                                            .kstack = key.kstack,
                                            .function = p::StringId{key.name}});
      case RowKind::stall:
        return result_.tables.add(p::EuStall{.proc_name = p::StringId{key.process},
                                             .ustack = key.ustack,
                                             .kstack = key.kstack,
                                             .gpu_file = key.gpu_file,
                                             .gpu_symbol = key.name,
                                             .insn_text = key.insn_text});
    }
    return std::nullopt;
  }

  Reason add_row(const Waiting& record) {
    const Weight& weight = record.weight;
    Weight total = result_.total;
    if (__builtin_add_overflow(total.ns, weight.ns, &total.ns) ||
        __builtin_add_overflow(total.count, weight.count, &total.count) ||
        __builtin_add_overflow(total.bytes, weight.bytes, &total.bytes)) {
      return "the sum of all records up to this one exceeds 64 bits";
    }
    RowMap::Place place;
    Row* row = map_.find(record.key, record.hash, place);
    if (row == nullptr) {
      Reason reason = map_.full() ? Reason("too many distinct rows") : check_ids(record.key);
      if (reason) {
        return reason;
      }
      row = &map_.insert(record.key, place);
    }
    add_weight(record, *row);
    result_.total = total;
    count_kind(record);
    return std::nullopt;
  }

  static void add_weight(const Waiting& record, Row& row) {
    if (record.key.kind == RowKind::gpu && record.weight.count > 0) {
      row.min_ns = row.weight.count == 0 ? record.min_ns : std::min(row.min_ns, record.min_ns);
      row.max_ns = std::max(row.max_ns, record.max_ns);
    }
    row.weight.ns += record.weight.ns;
    row.weight.count += record.weight.count;
    if (record.weight.bytes != 0) {  // lies in the row's second cache line
      row.weight.bytes += record.weight.bytes;
    }
  }

  void count_kind(const Waiting& record) {
    ++result_.info.records;
    seen_[static_cast<size_t>(record.key.kind)] = true;
    if (record.key.kind == RowKind::gpu) {
      gpu_count_ += record.weight.count;
      const bool has_stack = index(record.key.ustack) != 0 || index(record.key.kstack) != 0;
      with_stack_ += has_stack ? record.weight.count : 0;
    } else if (record.key.kind == RowKind::launch) {
      launch_count_ += record.weight.count;
    }
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

  // Long enough for memory to answer, short enough to stay in the nearest cache itself.
  static constexpr size_t kQueue = 16;

  p::Reader& reader_;
  Aggregate result_;
  RowMap map_;
  std::array<Waiting, kQueue> queue_;
  size_t queued_ = 0;       // how many were ever put into the queue,
  size_t settled_ = 0;      // and taken out of it
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
  Aggregator aggregator(reader);
  for (;;) {
    auto next = reader.next();
    const bool at_end = next && !next->has_value();
    // What waits comes from lines before this one, so its error goes first.
    Status taken = next && !at_end ? aggregator.take(**next) : aggregator.settle();
    if (!taken) {
      return std::move(taken).error();
    }
    if (!next) {
      return std::move(next).error();
    }
    if (at_end) {
      return aggregator.finish();
    }
  }
}

}  // namespace gpuprof::analyze

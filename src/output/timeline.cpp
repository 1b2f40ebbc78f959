#include "output/timeline.h"

#include <algorithm>

#include "analyze/names/labels.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/text.h"
#include "output/trust.h"

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;

constexpr size_t kMostNoteBytes = 1024;
constexpr size_t kMostCounters = 256;  // each counter needs 0.5 MiB, and a hostile file can name any number of devices

void add_most(uint64_t count, uint64_t& sum) {
  sum = saturating_add(sum, count);
}

}  // namespace

bool Timeline::is_failure(const p::Host& host) const {
  return tables_.work(host.work)->op == p::Op::failed;
}

const char* Timeline::word(Category category) {
  constexpr std::array<const char*, 4> kWords = {"gpu", "host", "call", "nvtx"};
  return kWords[static_cast<size_t>(category)];
}

Status Timeline::add(const p::Record& record) {
  const bool is_slice = std::holds_alternative<p::Event>(record) || std::holds_alternative<p::Call>(record) ||
                        std::holds_alternative<p::Span>(record);
  if (is_slice && events_++ == 0) {
    begin();
  }
  if (const auto* event = std::get_if<p::Event>(&record)) {
    take(*event);
  } else if (const auto* call = std::get_if<p::Call>(&record)) {
    take(*call);
  } else if (const auto* span = std::get_if<p::Span>(&record)) {
    take(*span);
  } else if (const auto* meta = std::get_if<p::Meta>(&record)) {
    if (meta->key == "start_ns" && !start_ns_) {
      start_ns_ = whole_number(meta->value);
    }
    info_.meta.emplace(meta->key, meta->value);
  } else if (const auto* loss = std::get_if<p::Loss>(&record)) {
    const uint64_t count = std::min(loss->count, UINT64_MAX - 1 - lost_);  // lost_gpu_work() limits the sum
    lost_ += count;
    info_.losses[std::string(loss->reason)] += count;
    scale_.add(*loss);
  } else if (const auto* window = std::get_if<p::Window>(&record)) {
    info_.add(*window);
  } else if (const auto* coverage = std::get_if<p::Coverage>(&record)) {
    add_most(coverage->count, info_.coverage[std::string(coverage->what)]);
    info_.add_process_of(*coverage);
    scale_.add(*coverage);
  } else if (const auto* host = std::get_if<p::Host>(&record); host != nullptr && is_failure(*host)) {
    add_most(host->count, failures_[tables_.position(host->work)]);
  } else if (const auto* gpu = std::get_if<p::Gpu>(&record)) {
    analyze::add_records(*tables_.work(gpu->work), gpu->count, records_);
  } else if (std::holds_alternative<p::End>(record)) {
    info_.complete = true;
  }
  return is_due() ? flush() : Status();
}

Status Timeline::finish() {
  constexpr const char* kDepth = "queue depth";
  for (const auto& [device, depth] : depths_) {
    const Track track = counter_track(p::DeviceId{device}, kDepth);
    for (const DepthCounter::Sample& sample : depth.samples()) {
      put_counter(track, kDepth, sample.time_ns, static_cast<uint64_t>(sample.depth));
      if (Status written = is_due() ? flush() : Status(); !written) {
        return written;
      }
    }
  }
  if (left_out_ > 0) {
    info_.warnings.push_back("events left out, because too many in one track overlapped: " + std::to_string(left_out_));
  }
  for (const auto& [process, counts] : records_) {
    add_most(counts.recorded, info_.gpu_records);
    add_most(counts.with_stack, info_.with_stack);
  }
  info_.covered = {info_.gpu_records, info_.with_stack, info_.lost_gpu_work()};
  const bool is_estimate = info_.is_estimate();
  if (is_estimate) {
    scale_.apply(records_, info_);
  }
  scale_.put_failures(failures_, tables_, is_estimate, info_);
  for (const std::string& line : notice_lines(info_)) {
    put_note(cut_middle(escaped(line), kMostNoteBytes));
  }
  if (is_estimate && (!info_.failures.empty() || !info_.covered.is_full())) {
    put_note("numbers of failed calls and of GPU work with a CPU stack are estimates of the complete time");
  }
  return end();
}

void Timeline::take(const p::Event& event) {
  const p::Work& work = *tables_.work(event.work);
  const uint64_t end_ns = std::max(event.start_ns, event.end_ns);
  const bool on_gpu = p::work_kind(work.op) == p::WorkKind::gpu;
  const auto track = on_gpu ? device_track(work.device, "stream " + std::to_string(work.stream), event.start_ns, end_ns)
                     : work.tid != 0 ? thread_track(work.process, work.tid, event.start_ns, end_ns)
                                     : device_track(work.device, "unified memory", event.start_ns, end_ns);
  if (!track) {
    ++left_out_;
    return;
  }
  std::array<Fact, 4> facts{};
  size_t count = 0;
  const auto add_fact = [&](bool is_known, const char* name, uint64_t value) {
    if (is_known) {
      facts[count++] = {name, value};
    }
  };
  add_fact(on_gpu && event.correlation != 0, "correlation", event.correlation);
  add_fact(event.bytes != 0, "bytes", event.bytes);
  add_fact(event.queued_ns != 0 && event.queued_ns <= event.start_ns, "queue_ns", event.start_ns - event.queued_ns);
  add_fact(event.submitted_ns != 0 && event.submitted_ns <= event.start_ns, "submitted_ns",
           event.start_ns - event.submitted_ns);
  put({.track = *track,
       .category = on_gpu ? Category::gpu : Category::host,
       .start_ns = event.start_ns,
       .end_ns = end_ns,
       .work = &work,
       .site = analyze::stacks_of(work),
       .facts = std::span(facts).first(count),
       .range = work.range,
       .process = work.process,
       .arrow = on_gpu ? event.correlation : 0});
  if (on_gpu) {
    join(event, work, *track, end_ns);
  }
}

// Joins GPU work with the call that launched it. The file may have the call before or after the work.
void Timeline::join(const p::Event& event, const p::Work& work, const Track& track, uint64_t end_ns) {
  uint64_t launched_ns = event.queued_ns != 0 ? std::min(event.queued_ns, event.start_ns) : event.start_ns;
  const Place* const call = event.correlation == 0 ? nullptr : calls_.find(work.process, event.correlation);
  if (call != nullptr) {
    launched_ns = std::min(launched_ns, call->start_ns);
    put_arrow(*call, {track, event.start_ns});
  } else if (event.correlation != 0) {
    work_without_call_.put(work.process, event.correlation, {track, event.start_ns});
  }
  if (depths_.size() < kMostCounters || depths_.count(index(work.device)) != 0) {
    depths_.try_emplace(index(work.device), start_ns_.value_or(launched_ns)).first->second.add(launched_ns, end_ns);
  }
}

void Timeline::take(const p::Call& call) {
  const uint64_t end_ns = std::max(call.start_ns, call.end_ns);
  const auto track = thread_track(call.process, call.tid, call.start_ns, end_ns);
  if (!track) {
    ++left_out_;
    return;
  }
  const std::string_view function = tables_.text(call.function);
  const Fact correlation{"correlation", call.correlation};
  put({.track = *track,
       .category = Category::call,
       .start_ns = call.start_ns,
       .end_ns = end_ns,
       .name = function.empty() ? analyze::kUnknown : function,
       .site = {.ustack = call.ustack},
       .facts = std::span(&correlation, call.correlation != 0 ? 1 : 0),
       .process = call.process,
       .arrow = call.correlation});
  if (call.correlation == 0) {
    return;
  }
  const Place place{*track, call.start_ns};
  if (const Place* work = work_without_call_.find(call.process, call.correlation)) {
    put_arrow(place, *work);
    work_without_call_.erase(call.process, call.correlation);
  }
  calls_.put(call.process, call.correlation, place);
}

void Timeline::take(const p::Span& span) {
  const uint64_t end_ns = std::max(span.start_ns, span.end_ns);
  const auto track = range_track(span.process, span.tid, span.start_ns, end_ns);
  if (!track) {
    ++left_out_;
    return;
  }
  const p::Range* const range = tables_.range(span.range);
  const std::string name = range == nullptr ? std::string(analyze::kUnknown) : range_name(*range);
  put({.track = *track,
       .category = Category::nvtx,
       .start_ns = span.start_ns,
       .end_ns = end_ns,
       .name = name,
       .process = span.process});
}

std::string Timeline::range_name(const p::Range& range) const {
  const std::string_view name = tables_.text(range.name);
  const std::string_view domain = tables_.text(range.domain);
  if (name.size() + domain.size() < kMostShownBytes) {
    return analyze::range_label(tables_, range);
  }
  return domain.empty() ? shown_text(name) : shown_text(domain) + ":" + shown_text(name);
}

}  // namespace gpuprof::output

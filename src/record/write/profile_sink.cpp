#include "record/write/profile_sink.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "profile/coverage.h"
#include "profile/loss.h"
#include "profile/record_fields.h"
#include "profile/tables.h"
#include "record/write/range_lag.h"
#include "record/write/stack_frames.h"
#include "record/write/watched_writer.h"
#include "symbolize/kernel_symbols.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::record {
namespace {

constexpr uint64_t kSoonNs = 1'000'000'000;
constexpr int kMostWaitMs = 20;  // time between two checks of whether the writer thread has ended

}  // namespace

// The writer thread uses it. Other threads may call bytes() at any time, and other getters after the writer thread has
// ended.
class ProfileSink::BatchWriter {
 public:
  BatchWriter(UniqueFd fd, ProfilerLibraries profiler_libraries, std::shared_ptr<MemoryBudget> memory,
              const std::atomic<bool>& give_up, LiveSums* live, symbolize::MakeFileNames names, Recent recent)
      : out_(std::move(fd), &give_up, live, std::move(recent.rows)),
        range_(std::move(recent.range)),
        memory_(std::move(memory)),
        stack_frames_(std::move(profiler_libraries),
                      {.room = [memory = memory_] { return memory->room(); }, .names = std::move(names)}) {
    out_.header();
  }

  Status write(const Batch& batch) {
    memory_->look();
    add_definitions(batch);
    add_measurements(batch);
    put_all(batch.losses);
    put_all(batch.coverage);
    put_all(batch.weighted);
    for (const profile::ProcessId process : batch.ended) {
      const auto begin = stacks_.lower_bound({profile::index(process), 0});
      stacks_.erase(begin, stacks_.upper_bound({profile::index(process), UINT64_MAX}));
      stack_frames_.forget(process);
    }
    if (const uint64_t left_out = memory_->left_out(); left_out > told_left_out_) {
      out_.add(profile::Loss{
          {}, profile::word(profile::LossReason::memory_limit), left_out - std::exchange(told_left_out_, left_out)});
    }
    if (batch.end) {
      add_end(*batch.end);
    }
    auto status = out_.flush(batch.swept_ns);
    if (batch.rewrite) {
      out_.rewrite(*batch.rewrite);
    }
    bytes_ = out_.bytes_written();
    return status;
  }

  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  Longest take_longest() {
    return {.kernel_ns = longest_kernel_ns_.exchange(0),
            .wait_ns = longest_wait_ns_.exchange(0),
            .range_ns = longest_range_ns_.exchange(0),
            .lag_ns = longest_lag_ns_.exchange(0)};
  }
  [[nodiscard]] uint64_t without_frames() const { return without_frames_; }
  [[nodiscard]] uint64_t samples_without_frames() const { return samples_without_frames_; }
  [[nodiscard]] uint64_t stacks() const { return frame_lists_.size(); }
  [[nodiscard]] symbolize::ReadingBudget& budget() { return stack_frames_.budget(); }

 private:
  profile::StringId string(std::string_view text) {
    if (text.empty()) {
      return {};
    }
    if (const auto known = strings_.find(text); known != strings_.end()) {
      return profile::StringId{known->second};
    }
    if (text != kMoreNames && !admits(text.size() + kStringBytes)) {
      return string(kMoreNames);
    }
    const profile::StringId id{static_cast<uint32_t>(strings_.size() + 1)};
    strings_.emplace(text, profile::index(id));
    out_.add(profile::String{id, text});
    return id;
  }

  // Adds `bytes` to the memory budget's estimate. Returns whether a new item of about this size may be stored.
  bool admits(size_t bytes) {
    memory_->grew(bytes);
    return memory_->admit();
  }

  void add_definitions(const Batch& batch) {
    for (const auto& [key, value] : batch.meta) {
      out_.add(profile::Meta{key, value});
    }
    for (const NewName& name : batch.names) {
      raw_names_.emplace(name.index, admits(name.text.size() + kStringBytes) ? name.text : std::string(kMoreNames));
    }
    for (const auto& process : batch.processes) {
      add_process(*process);
    }
    for (const NewDevice& device : batch.devices) {
      const profile::StringId backend = string(device.backend);
      const profile::StringId name = string(device.name);
      out_.add(profile::Device{device.id, backend, device.index, name, string(device.uuid)});
    }
    put_all(batch.ranges);
    for (const profile::Range& range : batch.ranges) {
      if (const auto name = raw_names_.find(profile::index(range.name));
          !range_.empty() && name != raw_names_.end() && name->second == range_) {
        observed_ranges_.insert(range.id);
      }
    }
    for (const NewCode& code : batch.codes) {
      if (admits(code.name.size() + code.file.size() + code.line_table.size() + kStringBytes)) {
        stack_frames_.add(code);
      }
    }
    for (const NewStack& stack : batch.stacks) {
      add_stack(stack);
    }
    for (const profile::GpuModule& module : batch.gpu_modules) {
      gpu_modules_[module.id] = put(module);
    }
    for (const NewGpuPlace& place : batch.gpu_places) {
      add_gpu_place(place);
    }
    put_all(batch.samplings);
    for (const NewWork& work : batch.works) {
      add_work(work);
    }
  }

  // Writes a record of a batch and returns what it has written: NameIndex values are replaced by ids of STRING records.
  template <typename R>
  R put(R record) {
    profile::for_each_id(record, [&]<typename Id>(profile::IdSpace /*space*/, Id& id) {
      if constexpr (std::is_same_v<Id, profile::StringId>) {
        id = named(profile::index(id), false);
      }
      return true;
    });
    out_.add(record);
    return record;
  }
  template <typename R>
  void put_all(const std::vector<R>& records) {
    for (const R& record : records) {
      put(record);
    }
  }

  // Writes a code location. Omits its source lines if the memory budget is used up.
  void add_gpu_place(const NewGpuPlace& place) {
    std::vector<profile::FrameId> frames;
    if (!place.lines.empty() && admits(place.lines.size() * kFrameBytes)) {
      std::transform(place.lines.begin(), place.lines.end(), std::back_inserter(frames),
                     [&](const GpuLine& line) { return gpu_frame(place.module, line); });
    }
    const profile::StringId function = named(place.function, true);
    out_.add(
        profile::GpuPlace{place.id, place.module, function, place.offset, named(place.instruction, false), frames});
  }

  profile::FrameId gpu_frame(profile::GpuModuleId module_id, const GpuLine& line) {
    profile::Frame frame{.kind = profile::FrameKind::gpu, .line = line.line};
    frame.name = named(line.function, true);
    frame.file = named(line.file, false);
    if (const auto module = gpu_modules_.find(module_id); module != gpu_modules_.end()) {
      frame.module = module->second.name;
      frame.build_id = module->second.hash;
    }
    return frame_id(frame);
  }

  void add_measurements(const Batch& batch) {
    for (const auto& [key, value] : batch.rows) {
      add_row(key, value);
    }
    for (const auto& [key, value] : batch.rows) {
      if (!value.durations.empty()) {
        out_.add(profile::Duration{key.slice, key.work, value.durations});
      }
    }
    for (const auto& [key, totals] : batch.blocks) {
      profile::Blocks blocks = totals.sums;
      blocks.slice = key.slice;
      blocks.work = key.work;
      blocks.buckets = totals.buckets;
      out_.add(blocks);
    }
    put_all(batch.gpu_instructions);
    for (const auto& [key, value] : batch.gpu_counts) {
      put(profile::GpuCount{key.process, key.device, key.place, name_id(key.name), value});
    }
    for (const auto& [key, count] : batch.samples) {
      samples_without_frames_ += works_[profile::index(key.work)].without_frames ? count : 0;
      put(profile::EuStall{key.slice, key.work, key.place, name_id(key.reason), key.sampling, count, key.flags});
    }
    put_all(batch.shares);
    put_all(batch.idle);
    put_all(batch.windows);
    for (const NewLatency& latency : batch.latencies) {
      const Histogram& h = latency.histogram;
      out_.add(profile::Latency{latency.work, latency.phase, h.count, h.sum_ns, h.min_ns, h.max_ns, h.buckets});
    }
    put_all(batch.events);
    for (const NewCall& made : batch.calls) {
      profile::Call call = made.call;
      call.ustack = stack_ids(call.process, made.stack).user;
      put(call);
    }
    put_all(batch.spans);
    for (const profile::Span& span : batch.spans) {
      if (observed_ranges_.contains(span.range)) {
        longest_range_ns_ = std::max(longest_range_ns_.load(), span.end_ns - std::min(span.end_ns, span.start_ns));
        longest_lag_ns_ = std::max(longest_lag_ns_.load(), range_lag_.add(span.process, span.end_ns));
      }
    }
  }

  void add_end(profile::End end) {
    end.with_stack -= std::min(end.with_stack, without_frames_);
    end.lost += told_left_out_;
    if (gpu_without_frames_ > 0) {
      out_.add(profile::Coverage{{}, profile::word(profile::CoverageCount::without_stack), gpu_without_frames_});
    }
    add_left_out(stack_frames_.budget().left_out());
    out_.add(end);
  }

  void add_left_out(const symbolize::ReadingBudget::LeftOut& left_out) {
    const std::pair<const char*, uint64_t> counts[] = {{"perf_maps", left_out.perf_maps},
                                                       {"debug_links", left_out.debug_links},
                                                       {"debug_infos", left_out.debug_infos},
                                                       {"symbol_tables", left_out.symbol_tables},
                                                       {"downloads", left_out.downloads},
                                                       {"addresses", left_out.addresses},
                                                       {"files", left_out.files}};
    for (const auto& [what, count] : counts) {
      if (count > 0) {
        out_.add(profile::Meta{std::string("symbols.left_out.") + what, std::to_string(count)});
      }
    }
  }

  void add_process(const ProcessImage& image) {
    const profile::StringId name = string(image.name);
    const profile::StringId command = string(image.command);
    const profile::StringId rank = string(image.rank);
    out_.add(profile::Process{image.id, image.pid, image.ppid, image.start_ns, name, command, rank, {}});
  }

  profile::FrameId frame(const symbolize::SymbolizedFrame& f) {
    const profile::StringId name = string(f.name);
    const profile::StringId file = string(f.file);
    const profile::StringId module = string(f.module);
    return frame_id({{}, f.kind, name, file, f.line, module, string(f.build_id), f.address});
  }

  profile::FrameId frame_id(profile::Frame frame) {
    const auto key =
        std::make_tuple(static_cast<uint8_t>(frame.kind), profile::index(frame.name), profile::index(frame.file),
                        frame.line, profile::index(frame.module), profile::index(frame.build_id), frame.address);
    const auto [entry, made] = frames_.try_emplace(key, static_cast<uint32_t>(frames_.size() + 1));
    frame.id = profile::FrameId{entry->second};
    if (made) {
      out_.add(frame);
    }
    return frame.id;
  }

  std::vector<profile::FrameId> frames_of(const std::vector<symbolize::SymbolizedFrame>& names) {
    std::vector<profile::FrameId> frames(names.size());
    std::transform(names.begin(), names.end(), frames.begin(), [this](const auto& named) { return frame(named); });
    return frames;
  }

  // Returns the id of a USTACK or KSTACK record; 0: `frames` is empty.
  profile::StackId stack_of(bool kernel, const std::vector<profile::FrameId>& frames) {
    if (frames.empty()) {
      return {};
    }
    FrameLists& lists = kernel ? kernel_frame_lists_ : frame_lists_;
    const auto [entry, made] = lists.try_emplace(frames, static_cast<uint32_t>(lists.size() + 1));
    const profile::StackId id{entry->second};
    if (made) {
      std::vector<profile::StackElement> elements(frames.size());
      for (size_t i = 0; i < frames.size(); ++i) {
        elements[i].frame = frames[i];
      }
      out_.add(profile::Stack{kernel, id, elements});
    }
    return id;
  }

  // Skips a stack if the memory budget is used up, or if it has only profiler frames. Its work counts as work without a
  // stack.
  void add_stack(const NewStack& stack) {
    if (!admits((stack.words.size() + stack.kernel.size()) * kFrameBytes)) {
      return;
    }
    names_.clear();
    stack_frames_.of(stack, names_);
    const profile::StackId user = stack_of(false, frames_of(names_));
    names_.clear();
    if (!stack_frames_.in_own_handler(stack)) {
      kernel_symbols_.name(stack.kernel, names_);
    }
    const profile::StackId kernel = stack_of(true, frames_of(names_));
    if (profile::index(user) != 0 || profile::index(kernel) != 0) {
      stacks_[{profile::index(stack.process->id), stack.stack}] = {user, kernel};
    }
  }

  profile::StringId named(NameIndex index, bool is_symbol) {
    const auto raw = raw_names_.find(index);
    if (raw == raw_names_.end()) {
      return {};
    }
    if (!is_symbol) {
      return string(raw->second);
    }
    if (const auto known = demangled_.find(index); known != demangled_.end()) {
      return known->second;
    }
    const profile::StringId id = string(symbolize::demangle(raw->second));
    demangled_.emplace(index, id);
    return id;
  }

  struct StackIds {
    profile::StackId user{};
    profile::StackId kernel{};
  };

  [[nodiscard]] StackIds stack_ids(profile::ProcessId process, uint64_t stack) const {
    const auto found = stack == 0 ? stacks_.end() : stacks_.find({profile::index(process), stack});
    return found == stacks_.end() ? StackIds{} : found->second;
  }

  void add_work(const NewWork& made) {
    const WorkKey& key = made.key;
    profile::Work work;
    work.id = made.id;
    work.process = key.process;
    work.tid = key.tid;
    work.thread = named(key.thread, false);
    const StackIds stacks = stack_ids(key.process, key.stack);
    work.ustack = stacks.user;
    work.kstack = stacks.kernel;
    work.capture = stack_ids(key.process, key.capture).user;
    work.range = key.range;
    work.device = key.device;
    work.stream = key.stream;
    work.op = key.op;
    work.name = named(key.name, true);
    work.flags = key.flags;
    out_.add(work);
    // Ids start at 1 and have no gaps, so a vector can be indexed by id.
    const size_t at = profile::index(made.id);
    works_.resize(std::max(works_.size(), at + 1));
    works_[at] = {key.op, profile::work_kind(key.op), key.stack != 0 && !profile::has_stack(work)};
  }

  void add_row(const RowKey& key, const RowValue& value) {
    const WrittenWork& work = works_[profile::index(key.work)];
    if (work.op == profile::Op::kernel || work.op == profile::Op::sync) {
      auto& longest = work.op == profile::Op::kernel ? longest_kernel_ns_ : longest_wait_ns_;
      longest = std::max(longest.load(), value.max_ns);
    }
    if (work.kind == profile::WorkKind::host) {
      out_.add(profile::Host{key.slice, key.work, value.count, value.sum_ns, value.min_ns, value.max_ns, value.bytes});
      return;
    }
    without_frames_ += work.without_frames ? value.count : 0;
    if (work.kind == profile::WorkKind::launch) {
      out_.add(profile::Launch{key.slice, key.work, value.count});
      return;
    }
    gpu_without_frames_ += work.without_frames ? value.count : 0;
    out_.add(profile::Gpu{key.slice, key.work, value.count, value.sum_ns, value.min_ns, value.max_ns,
                          value.sum_squares_ns2, value.queue_ns, value.bytes});
  }

  struct WrittenWork {
    profile::Op op = profile::Op::other;
    profile::WorkKind kind = profile::WorkKind::gpu;  // selects GPU, HOST or LAUNCH lines
    bool without_frames = false;                      // the work's stack had only profiler frames
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // Estimated memory in bytes: of a string besides its text, and of the frame for a stack word.
  static constexpr size_t kStringBytes = 128;
  static constexpr size_t kFrameBytes = 384;
  using FrameKey = std::tuple<uint8_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint64_t>;

  WatchedWriter out_;
  std::string range_;
  std::set<profile::RangeId> observed_ranges_;  // those with the name `range_`
  RangeLag range_lag_;
  std::shared_ptr<MemoryBudget> memory_;
  uint64_t told_left_out_ = 0;
  StackFrames stack_frames_;
  symbolize::KernelSymbols kernel_symbols_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> longest_kernel_ns_{0};
  std::atomic<uint64_t> longest_wait_ns_{0};
  std::atomic<uint64_t> longest_range_ns_{0};
  std::atomic<uint64_t> longest_lag_ns_{0};
  // Number of GPU records and counted launches whose stack had only profiler frames.
  uint64_t without_frames_ = 0;
  // The part of without_frames_ that are GPU records.
  uint64_t gpu_without_frames_ = 0;
  uint64_t samples_without_frames_ = 0;
  std::vector<symbolize::SymbolizedFrame> names_;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> strings_;
  std::map<FrameKey, uint32_t> frames_;
  using FrameLists = std::map<std::vector<profile::FrameId>, uint32_t>;
  FrameLists frame_lists_;
  FrameLists kernel_frame_lists_;
  std::map<std::pair<uint32_t, uint64_t>, StackIds> stacks_;  // contains only stacks of live processes
  std::unordered_map<profile::GpuModuleId, profile::GpuModule> gpu_modules_;
  std::vector<WrittenWork> works_;
  std::unordered_map<NameIndex, std::string> raw_names_;
  std::unordered_map<NameIndex, profile::StringId> demangled_;
};

ProfileSink::ProfileSink(UniqueFd fd, ProfilerLibraries profiler_libraries, std::shared_ptr<MemoryBudget> memory,
                         LiveSums* live, symbolize::MakeFileNames names, Recent recent)
    : writer_(std::make_unique<BatchWriter>(std::move(fd), std::move(profiler_libraries), std::move(memory), give_up_,
                                            live, std::move(names), std::move(recent))),
      thread_([this] { loop(); }) {}

ProfileSink::~ProfileSink() {
  (void)finish();
}

void ProfileSink::put(Batch batch) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(batch));
  changed_.notify_one();
}

bool ProfileSink::failed() const {
  const std::lock_guard lock(mutex_);
  return !status_.ok();
}

size_t ProfileSink::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void ProfileSink::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) {
      ended_ = true;
      return;
    }
    const Batch batch = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Status status = writer_->write(batch);
    lock.lock();
    if (status_.ok()) {
      status_ = std::move(status);
    }
  }
}

void ProfileSink::close() {
  const std::lock_guard lock(mutex_);
  if (!stop_) {
    writer_->budget().end(monotonic_ns(), own_cpu_ns());
  }
  stop_ = true;
  changed_.notify_one();
}

bool ProfileSink::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

Status ProfileSink::finish(Signals& signals, bool soon) {
  close();
  if (soon) {
    writer_->budget().end_at(monotonic_ns() + kSoonNs);
  }
  for (int wait_ms = 1; !ended(); wait_ms = std::min(wait_ms * 2, kMostWaitMs)) {
    pollfd signal{signals.fd(), POLLIN, 0};
    ::poll(&signal, 1, wait_ms);
    while (const auto event = signals.next()) {
      if (is_stop(event->signal)) {
        give_up_ = true;
        writer_->budget().end_at(monotonic_ns());
      }
    }
  }
  return finish();
}

Status ProfileSink::finish() {
  close();
  if (thread_.joinable()) {
    thread_.join();
  }
  return status_;
}

Longest ProfileSink::take_longest() {
  return writer_->take_longest();
}

uint64_t ProfileSink::bytes_written() const {
  return writer_->bytes();
}
uint64_t ProfileSink::without_frames() const {
  return writer_->without_frames();
}

uint64_t ProfileSink::samples_without_frames() const {
  return writer_->samples_without_frames();
}
uint64_t ProfileSink::stacks() const {
  return writer_->stacks();
}
const symbolize::ReadingBudget::LeftOut& ProfileSink::left_out() const {
  return writer_->budget().left_out();
}

}  // namespace gpuprof::record

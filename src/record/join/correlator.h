// Passes each event to the part of the join that stores it, and makes batches for the writer. Only the main thread uses
// it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/bpf/off_cpu_engine.h"
#include "record/bpf/stack_engine.h"
#include "record/join/context/context.h"
#include "record/join/context/join_counters.h"
#include "record/join/context/options.h"
#include "record/join/context/windows.h"
#include "record/join/launches/attribution.h"
#include "record/join/launches/launches.h"
#include "record/join/launches/stacks.h"
#include "record/join/off_cpu.h"
#include "record/join/samples/sample_join.h"
#include "record/join/sums/kernel_times.h"
#include "record/join/sums/rows.h"
#include "record/join/timeline.h"
#include "record/join/work_join.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class Correlator final : public backend::EventSink, public StackSink, public OffCpuSink {
 public:
  explicit Correlator(JoinOptions options);

  // EventSink
  void on_process(uint32_t pid, const std::shared_ptr<ProcessGuard>& guard) override;
  void on_source(backend::SourceId source, uint32_t pid, std::string_view backend) override;
  void on_name(backend::SourceId source, uint32_t id, std::string_view text) override;
  void on_device(backend::SourceId source, uint32_t device, uint32_t name_id, uint32_t uuid_id) override;
  void on_gpu_op(const backend::GpuOp& op) override { work_.on_gpu_op(op); }
  void on_kernel_of(const backend::GpuOp& op, uint32_t name_id) override { work_.on_kernel_of(op, name_id); }
  void on_launch(backend::SourceId source, const backend::LaunchCall& launch) override;
  void on_host_op(const backend::HostOp& op) override { work_.on_host_op(op); }
  void on_graph_node(backend::SourceId source, const backend::GraphNode& node) override;
  void on_graph_launch(backend::SourceId source, const backend::GraphLaunch& launch) override;
  void on_range(backend::SourceId source, const backend::Range& range) override;
  void on_call(backend::SourceId source, const backend::Call& call) override { timeline_.on_call(source, call); }
  void on_span(backend::SourceId source, const backend::Span& span) override { timeline_.on_span(source, span); }
  void on_meta(backend::SourceId source, std::string_view text) override;
  void on_stack(backend::SourceId source, const backend::Stack& stack) override;
  void on_module(backend::SourceId source, const backend::Module& module) override;
  void on_mappings(backend::SourceId source) override;
  void on_code(backend::SourceId source, const backend::PythonCode& code) override;
  void on_python(backend::SourceId source, const gpuprof_python_layout& layout) override;
  void on_counters(backend::SourceId source, const backend::Counters& counters) override;
  void on_traits(backend::SourceId source, const backend::SourceTraits& traits) override;
  void on_gpu_module(backend::SourceId source, const backend::GpuModule& module) override;
  void on_gpu_place(backend::SourceId source, const backend::GpuPlace& place) override;
  void on_sample(const backend::Sample& sample) override { samples_.on_sample(sample); }
  void on_samples_dropped(backend::SourceId source, uint64_t count) override { samples_.on_dropped(source, count); }
  void on_sampled_launch(backend::SourceId source, uint64_t correlation) override;
  void on_blocks(backend::SourceId source, const backend::LaunchBlocks& blocks) override;
  void on_location_samples(backend::SourceId source, const backend::LocationSamples& samples) override;
  void on_sample_window(backend::SourceId source, const backend::SampleWindow& window) override;
  [[nodiscard]] size_t counted() const { return samples_.counts().kept(); }
  void on_location_count(backend::SourceId source, const backend::PlaceCount& count) override;
  void on_loaded_kernel(backend::SourceId source, const backend::LoadedKernel& kernel) override;
  void on_source_end(backend::SourceId source) override;

  // StackSink
  void on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> words, uint32_t flags,
                uint64_t read_ns) override;
  void on_process_code(uint32_t pid, const backend::PythonCode& code) override;
  void on_thread(uint32_t pid, uint32_t tid, std::string_view name) override;
  void on_loader(uint32_t pid) override;
  void on_launch_stack(const LaunchStack& launch) override;
  void on_counted_launch(uint32_t function, const LaunchStack& launch) override;

  // OffCpuSink, which shares two functions with StackSink
  void on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words,
                std::span<const uint64_t> kernel) override;
  void on_off_cpu(const gpuprof_bpf_off_cpu& off) override;
  // The engine has lost times off a CPU.
  void on_off_cpu_lost() { rows_.lose_exact(join_.options.clock()); }

  // From now on, the launches of this process are counted. It is a child of the attached process.
  void on_counted_process(uint32_t pid, const std::shared_ptr<ProcessGuard>& guard);
  // Reads the mappings of such a process, so that the stack engine can prepare for its first launch.
  void prepare_counted(uint32_t pid);

  void open_window(uint64_t at, uint64_t weight = 1) { windows_.open(at, weight); }
  void close_window(uint64_t at) { windows_.close(at); }

  // Call it when the process of the source already runs although its unwind tables are not ready.
  void on_tables_late(backend::SourceId source);

  // Ends a poll iteration: retries events that wait for launches or names. `last`: no more data will arrive.
  void end_iteration(bool last = false);

  // Ends the recording: processes all events that still wait. Close the last window before this call.
  void finish();

  // Returns each stack that the join has dropped, by its id in the stack engine. The engine can then drop the stack,
  // too.
  std::vector<uint64_t> take_ended_stacks() { return stacks_.take_ended(); }

  std::vector<ProcessEvent> take_process_events() { return producers_.processes().take_process_events(); }

  void add_loss(profile::ProcessId process, profile::LossReason reason, uint64_t count) {
    join_.counters.add_loss(process, reason, count);
  }
  // Call it before the library is injected into the running process.
  void on_attach(uint32_t pid) { join_.attached.insert(pid); }
  void add_meta(std::string key, std::string value) { producers_.add_meta(std::move(key), std::move(value)); }

  // Returns up to `most` functions whose instructions are to be analyzed, in descending order of samples. Call it after
  // finish().
  [[nodiscard]] std::vector<SampledFunction> most_sampled(size_t most) const {
    return samples_.places().most_sampled(most);
  }
  [[nodiscard]] GpuCode& gpu_code() { return producers_.gpu_code(); }
  [[nodiscard]] NameTable& names() { return producers_.names(); }

  void sweep_early(uint64_t ns) { rows_.sweep_early(ns); }  // see Rows
  Batch take_batch();
  [[nodiscard]] size_t rows_waiting() const { return rows_.waiting() + samples_.rows() + timeline_.waiting(); }
  [[nodiscard]] const std::map<std::string, uint32_t>& device_indices() const { return producers_.devices().indices(); }
  [[nodiscard]] size_t windows() const { return windows_.count(); }
  [[nodiscard]] uint64_t open_window_ns() const { return windows_.open_since(); }
  [[nodiscard]] uint64_t recorded_ns(uint64_t begin, uint64_t end) const { return windows_.recorded(begin, end); }
  // Returns the longest time without work on a device since the last call: see Occupancy.
  uint64_t take_longest_gap() { return rows_.take_longest_gap(); }
  [[nodiscard]] uint64_t late_ns() const { return rows_.late_ns(); }
  [[nodiscard]] SampledIdle::Totals sampled_idle() const { return rows_.sampled_idle(); }
  // Returns how many rounds of polls were left out, because there are many threads.
  [[nodiscard]] uint64_t skipped_polls() { return thread_polls_ ? thread_polls_->skipped() : 0; }
  [[nodiscard]] const JoinCounters& counters() const { return join_.counters; }
  [[nodiscard]] const Totals& totals() const { return join_.counters.totals(); }

 private:
  template <typename Use>
  void with(backend::SourceId id, Use use) {
    if (Source* source = producers_.find(id); source != nullptr) {
      use(*source);
    }
  }
  void add_launch(backend::SourceId source, uint64_t correlation, const PendingLaunch& call);
  void close(const Source& source);
  void poll_threads();
  void report_threads();
  void add_poll(const Source& source, uint32_t tid, const ThreadStates::Thread& thread, const ThreadPoll& poll);
  void add_off_cpu(const Source& source, WorkKey key, const OffCpu& time, uint64_t from_ns, uint64_t to_ns);

  JoinContext join_;
  Producers producers_;
  Windows windows_;
  Stacks stacks_;
  Launches launches_;
  Rows rows_;
  KernelTimes kernel_times_;
  Attribution attribution_;
  WorkJoin work_;
  SampleJoin samples_;
  Timeline timeline_;
  ThreadStates thread_states_;
  std::vector<ThreadId> ended_threads_;      // since the last poll iteration
  std::vector<ThreadId> ended_before_;       // in the poll iteration before
  std::optional<ThreadPolls> thread_polls_;  // with CPU samples
  uint64_t polled_version_ = 0;              // see ThreadStates::version(); 0: no threads are polled
};

}  // namespace gpuprof::record

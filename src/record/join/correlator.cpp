#include "record/join/correlator.h"

#include <cstring>

#include "profile/keywords.h"

namespace gpuprof::record {

Correlator::Correlator(JoinOptions options)
    : join_(std::move(options)),
      producers_(join_.options.attach_pid, &join_.memory()),
      stacks_(join_, producers_),
      launches_(join_, windows_),
      rows_(join_, windows_),
      kernel_times_(join_),
      attribution_(join_, producers_, stacks_, launches_),
      work_(join_, {producers_, attribution_, launches_, rows_, windows_, kernel_times_}),
      samples_(join_, {producers_, attribution_, launches_, rows_, windows_, kernel_times_}),
      timeline_(join_, producers_, windows_) {
  if (join_.options.cpu_period_ns != 0 && !join_.options.report_off_cpu) {
    thread_polls_.emplace(join_.options.cpu_period_ns, join_.options.clock);
  }
}

void Correlator::on_process(uint32_t pid, const std::shared_ptr<ProcessGuard>& guard) {
  producers_.processes().on_process(pid, guard);
}

void Correlator::on_source(backend::SourceId id, uint32_t pid, std::string_view backend) {
  work_.forget_repeats();
  producers_.on_source(id, pid, backend);
}

void Correlator::on_name(backend::SourceId id, uint32_t name_id, std::string_view text) {
  work_.forget_repeats();
  with(id, [&](Source& source) { producers_.on_name(source, name_id, text); });
}

void Correlator::on_device(backend::SourceId id, uint32_t index, uint32_t name_id, uint32_t uuid_id) {
  work_.forget_repeats();
  with(id, [&](Source& source) { producers_.on_device(source, {index, name_id, uuid_id}); });
}

void Correlator::on_range(backend::SourceId id, const backend::Range& range) {
  work_.forget_repeats();
  with(id, [&](Source& source) { producers_.on_range(source, range); });
}

void Correlator::on_meta(backend::SourceId id, std::string_view text) {
  with(id, [&](Source& source) { producers_.on_meta(source, text); });
}

void Correlator::on_tables_late(backend::SourceId id) {
  with(id, [&](const Source& source) { producers_.on_tables_late(source); });
}

void Correlator::on_counters(backend::SourceId id, const backend::Counters& counters) {
  with(id, [&](const Source& source) { join_.counters.on_counters(source, counters); });
}

void Correlator::on_module(backend::SourceId id, const backend::Module& module) {
  with(id, [&](Source& source) {
    if (stacks_.are_of(source) && join_.memory().admit()) {
      source.modules.add(module);
    }
  });
}

void Correlator::on_mappings(backend::SourceId id) {
  with(id, [&](const Source& source) {
    LiveProcesses& processes = producers_.processes();
    // The BPF walk of the drm backend needs new unwind tables.
    if (source.traits.walks_stacks) {
      processes.on_loader(source.pid);
    } else {
      processes.on_mappings(*source.image);
    }
  });
}

void Correlator::on_code(backend::SourceId id, const backend::PythonCode& code) {
  with(id, [&](Source& source) {
    if (stacks_.are_of(source)) {
      producers_.on_code(source, code);
    }
  });
}

void Correlator::on_traits(backend::SourceId id, const backend::SourceTraits& traits) {
  with(id, [&](Source& source) { source.traits = traits; });
}

void Correlator::on_gpu_module(backend::SourceId id, const backend::GpuModule& module) {
  with(id, [&](Source& source) { producers_.gpu_code().add(source.gpu_code, module); });
}

void Correlator::on_gpu_place(backend::SourceId id, const backend::GpuPlace& place) {
  with(id, [&](Source& source) { producers_.gpu_code().add(source.gpu_code, place); });
}

void Correlator::on_sampled_launch(backend::SourceId id, uint64_t correlation) {
  with(id, [&](const Source& source) { kernel_times_.expect(source.id, correlation); });
}

void Correlator::on_blocks(backend::SourceId id, const backend::LaunchBlocks& blocks) {
  with(id, [&](const Source& source) { work_.on_blocks(source, blocks); });
}

void Correlator::on_location_samples(backend::SourceId id, const backend::LocationSamples& samples) {
  with(id, [&](const Source& source) { samples_.sharing().on_samples(source, samples); });
}

void Correlator::on_location_count(backend::SourceId id, const backend::PlaceCount& count) {
  with(id, [&](const Source& source) { samples_.counts().on_count(source, count); });
}

void Correlator::on_loaded_kernel(backend::SourceId id, const backend::LoadedKernel& kernel) {
  with(id, [&](const Source& source) { samples_.loaded_kernels().on_kernel(source, kernel); });
}

void Correlator::on_sample_window(backend::SourceId id, const backend::SampleWindow& window) {
  with(id, [&](const Source& source) { samples_.sharing().on_window(source, window); });
}

void Correlator::on_python(backend::SourceId id, const gpuprof_python_layout& layout) {
  with(id, [&](Source& source) {
    if (!producers_.on_python(source, layout)) {
      join_.counters.refuse_record();
    }
  });
}

void Correlator::on_stack(backend::SourceId id, const backend::Stack& stack) {
  with(id, [&](Source& source) { stacks_.on_source_stack(source, stack); });
}

void Correlator::add_launch(backend::SourceId source, uint64_t correlation, const PendingLaunch& call) {
  if ((correlation & GPUPROF_CORRELATION_NODE) != 0) {
    work_.forget_repeats();
  }
  launches_.add(source, correlation, call);
}

void Correlator::on_launch(backend::SourceId id, const backend::LaunchCall& launch) {
  with(id, [&](const Source& source) {
    if (join_.options.cpu_period_ns != 0 && Launches::is_launch(launch.correlation)) {
      thread_states_.on_launch({source.pid, launch.tid}, id, producers_.names().intern(launch.thread));
    }
    add_launch(id, launch.correlation,
               {.stack = stacks_.of_source(source, launch.stack, Launches::is_launch(launch.correlation)),
                .time_ns = join_.clamped_call_time(launch.time_ns),
                .thread = producers_.names().intern(launch.thread),
                .tid = launch.tid,
                .range = launch.range});
  });
}

void Correlator::on_graph_node(backend::SourceId id, const backend::GraphNode& node) {
  work_.forget_repeats();
  with(id, [&](const Source&) { launches_.on_graph_node(id, node); });
}

void Correlator::on_graph_launch(backend::SourceId id, const backend::GraphLaunch& launch) {
  with(id, [&](const Source&) { work_.on_graph_launch(id, launch); });
}

void Correlator::on_stack(uint64_t stack, uint32_t pid, std::span<const uint64_t> words, uint32_t flags,
                          uint64_t read_ns) {
  stacks_.on_engine_stack(pid, stack, words, flags, read_ns);
}

void Correlator::on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words,
                          std::span<const uint64_t> kernel) {
  stacks_.on_engine_stack(stack.pid, stack.stack, words, stack.flags, stack.read_ns, kernel);
}

void Correlator::on_process_code(uint32_t pid, const backend::PythonCode& code) {
  if ((!join_.options.stacks_from_sources || join_.options.report_off_cpu) && producers_.is_recorded(pid)) {
    producers_.on_process_code(pid, code);
  }
}

void Correlator::on_thread(uint32_t pid, uint32_t tid, std::string_view name) {
  producers_.on_thread(pid, tid, name);
}

void Correlator::on_loader(uint32_t pid) {
  producers_.processes().on_loader(pid);
}

void Correlator::on_launch_stack(const LaunchStack& launch) {
  with(launch.source, [&](const Source& source) {
    if (source.pid != launch.pid) {
      return;  // another process has called the launch probe with this source's id
    }
    add_launch(launch.source, launch.correlation,
               {.stack = stacks_.of_engine(source, launch.stack, Launches::is_launch(launch.correlation)),
                .time_ns = launch.time_ns,
                .thread = producers_.thread_name(launch.pid, launch.tid),
                .tid = launch.tid,
                .range = launch.range});
  });
}

void Correlator::on_counted_process(uint32_t pid, const std::shared_ptr<ProcessGuard>& guard) {
  if (producers_.processes().knows(pid)) {
    producers_.processes().forget(pid);  // an earlier child had the pid
  }
  producers_.processes().on_process(pid, guard);
  producers_.count(pid);
}

void Correlator::prepare_counted(uint32_t pid) {
  producers_.processes().by_pid(pid);
}

void Correlator::on_counted_launch(uint32_t function, const LaunchStack& launch) {
  if (!producers_.is_counted(launch.pid) || !windows_.is_open()) {
    return;
  }
  const std::vector<std::string>& functions = join_.options.counted_functions;
  LiveProcesses& processes = producers_.processes();
  const LiveImage& image = processes.image_of(processes.by_pid(launch.pid));
  WorkKey key;
  key.process = image.id();
  key.op = profile::Op::launch;
  key.name = function < functions.size() ? producers_.names().intern(functions[function]) : 0;
  key.tid = launch.tid;
  key.thread = producers_.thread_name(launch.pid, launch.tid);
  key.stack = stacks_.use(image, stacks_.of_engine(launch.pid, launch.stack));
  rows_.add_launch(rows_.intern(key), launch.time_ns);
  join_.counters.totals().with_stack += key.stack != 0 ? 1 : 0;
  ++join_.counters.totals().launches;
}

// Adds up the times in which the threads that launch do not compute.
void Correlator::poll_threads() {
  if (!thread_polls_) {
    report_threads();
    return;
  }
  for (const ThreadPolls::Result& result : thread_polls_->take()) {
    if (result.poll && !windows_.contains(result.poll->time_ns)) {
      continue;
    }
    thread_states_.on_poll(
        result, windows_.open_since(), [&](const ThreadStates::Thread& thread, const ThreadPoll& poll) {
          with(thread.source, [&](const Source& source) { add_poll(source, result.id.tid, thread, poll); });
        });
  }
  const uint64_t wanted = windows_.is_open() ? thread_states_.version() : 0;
  if (polled_version_ != wanted) {
    polled_version_ = wanted;
    thread_polls_->set(wanted == 0 ? std::vector<ThreadId>() : thread_states_.ids());
  }
}

// Makes the engine report the threads that launch GPU work.
void Correlator::report_threads() {
  if (!join_.options.report_off_cpu) {
    return;
  }
  // The end of a thread may be known before its last launches, which the rings still hold. So it counts one poll later.
  for (const ThreadId& id : std::exchange(ended_before_, std::exchange(ended_threads_, {}))) {
    thread_states_.erase(id);
  }
  const uint64_t wanted = windows_.is_open() ? thread_states_.version() : 0;
  const uint64_t before = std::exchange(polled_version_, wanted);
  if (before == wanted) {
    return;
  }
  std::vector<gpuprof_bpf_feeder> threads;
  for (const ThreadId& id : wanted == 0 ? std::vector<ThreadId>() : thread_states_.ids()) {
    threads.push_back({id.pid, id.tid});
  }
  join_.options.report_off_cpu(threads);
  const uint64_t now = join_.options.clock();
  if (before == 0) {
    rows_.lose_exact(now);  // nothing was reported in the pause
  }
}

void Correlator::on_off_cpu(const gpuprof_bpf_off_cpu& off) {
  const ThreadId id{off.pid, off.tid};
  if ((off.state & GPUPROF_OFF_CPU_ENDED) != 0) {
    ended_threads_.push_back(id);
    return;
  }
  const ThreadStates::Thread* thread = thread_states_.find(id);
  if (thread == nullptr) {
    return;
  }
  with(thread->source, [&](const Source& source) {
    WorkKey key{.process = source.process(), .tid = off.tid, .thread = thread->name, .op = profile::Op::off_cpu};
    const Stacks::Number stack = stacks_.use(*source.image, stacks_.of_engine(off.pid, off.stack));
    rows_.set_exact(key, off.pid, off.off_ns);
    const std::string_view waker(off.waker, strnlen(off.waker, sizeof(off.waker)));
    const Stacks::Number waker_stack =
        off.waker_stack == 0 ? 0 : stacks_.use(*source.image, stacks_.of_engine(off.pid, off.waker_stack));
    split_off_cpu(off, [&](const OffCpuPart& part) {
      key.name = producers_.names().intern(part.is_wait ? profile::off_cpu_name(part.reason, waker) : part.reason);
      key.stack = stack;
      key.capture = part.is_wait ? waker_stack : 0;
      rows_.add_off_cpu(key, off.pid, part.start_ns, part.end_ns, windows_.recorded(part.start_ns, part.end_ns));
    });
  });
}

void Correlator::add_poll(const Source& source, uint32_t tid, const ThreadStates::Thread& thread,
                          const ThreadPoll& poll) {
  const auto key_of = [&](std::string_view reason) {
    return WorkKey{.process = source.process(),
                   .tid = tid,
                   .thread = thread.name,
                   .name = producers_.names().intern(reason),
                   .op = profile::Op::off_cpu};
  };
  WorkKey cause = key_of(poll.blocked.empty() ? kNoProcessor : poll.blocked);
  rows_.add_poll(source.pid, tid,
                 {.at = poll.time_ns,
                  .cause = profile::index(rows_.intern(cause)),
                  .is_runnable = poll.blocked.empty(),
                  .waited_ns = poll.waited_ns});
  if (thread.last.time_ns != 0) {
    split_off_cpu(thread.last, poll, [&](const OffCpu& time) {
      add_off_cpu(source, key_of(time.reason), time, thread.last.time_ns, poll.time_ns);
    });
  }
}

void Correlator::add_off_cpu(const Source& source, WorkKey key, const OffCpu& time, uint64_t from_ns, uint64_t to_ns) {
  const WorkEvent event{.site = {.source = source.id, .tid = key.tid, .op = profile::Op::off_cpu, .is_host = true},
                        .start_ns = to_ns - time.ns,
                        .end_ns = to_ns,
                        .within_ns = from_ns};
  if (rows_.admit(event)) {
    const profile::WorkId work = rows_.intern(key);
    rows_.add(event, key, work, source.pid, 0);
  }
}

void Correlator::end_iteration(bool last) {
  join_.now_ns = join_.options.clock();
  poll_threads();
  producers_.retry_devices();
  launches_.retry_pending(last);
  work_.retry_pending(last);
  samples_.retry_pending(last);
  timeline_.end_iteration(launches_, stacks_);
  producers_.end_iteration();
  rows_.end_iteration();
  launches_.expire();
  kernel_times_.expire();
  stacks_.bound();
}

void Correlator::close(const Source& source) {
  stacks_.close(source);
  // A walk by frame pointers never finds Python frames, so do not report that the interpreter is unsupported.
  if (join_.options.stacks_wanted && !join_.options.frame_pointers) {
    join_.counters.python_refused(source);
  }
  join_.counters.close(source);
}

void Correlator::on_source_end(backend::SourceId id) {
  work_.forget_repeats();
  Source* source = producers_.find(id);
  if (source == nullptr) {
    return;
  }
  producers_.retry_devices();
  work_.retry_pending(true, id);
  samples_.retry_pending(true, id);
  timeline_.end_iteration(launches_, stacks_);
  launches_.retry_pending(false);
  work_.report_without_work(id);
  work_.report_unknown_launches(*source);
  close(*source);
  launches_.end_source(id);
  work_.end_source(id);
  samples_.end_source(id);
  stacks_.end_source(id);
  thread_states_.end_source(id);
  const uint32_t pid = source->pid;
  const profile::ProcessId image = source->process();
  const Producers::Ended ended = producers_.end(*source);
  if (ended.image) {
    stacks_.end_image(image);
    rows_.end_image(image);
  }
  if (ended.process) {
    stacks_.end_process(pid);
  }
}

void Correlator::finish() {
  end_iteration(true);
  work_.report_without_work(0);
  producers_.for_each([this](Source& source) {
    work_.report_unknown_launches(source);
    close(source);
  });
  rows_.finish();
}

Batch Correlator::take_batch() {
  Batch batch;
  rows_.sweep(launches_.oldest_waiting());
  rows_.take_new(batch);
  samples_.take_new(batch);
  timeline_.take_new(batch);
  join_.counters.take_new(batch);
  producers_.take_new(batch);
  batch.stacks = stacks_.take_new();
  batch.windows = windows_.take_new();
  return batch;
}

}  // namespace gpuprof::record

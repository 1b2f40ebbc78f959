#include "backend/drm/drm_backend.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/drm/clients.h"
#include "backend/drm/job_join.h"
#include "backend/drm/job_programs.h"
#include "backend/drm/kernel_events.h"
#include "backend/drm/stalls/stall_sampling.h"
#include "backend/drm/submitters.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text/numbers.h"
#include "wire/wire.h"

namespace gpuprof::backend {
namespace {

using drm::Job;
using drm::JobKey;

constexpr Descriptor kDrm = {
    "drm", "GPU jobs as kernel drivers report them, without an injection library (only with --backend drm)"};

Error impossible(const Error& why) {
  return {"--backend drm is impossible here: " + why.message, why.hint};
}

// Intel's driver for Level Zero and OpenCL (compute-runtime) puts work into a ring in memory, without a system call.
constexpr const char* kDirectSubmission =
    "Level Zero and OpenCL programs on PVC, Xe2 and later submit most work without the kernel driver, and gpuprof does "
    "not see that work";
constexpr const char* kNoDirectSubmission =
    "run the program with NEOReadDebugKeys=1 EnableDirectSubmission=0 in its environment";

bool may_submit_directly(const drm::KernelEvents& used) {
  const char* reads = std::getenv("NEOReadDebugKeys");
  const char* direct = std::getenv("EnableDirectSubmission");
  const bool is_off =
      reads != nullptr && direct != nullptr && std::string_view(reads) == "1" && std::string_view(direct) == "0";
  return used.xe_exec_queues && !is_off;
}

constexpr uint64_t kPollIntervalNs = 200'000'000;
constexpr uint64_t kSweepIntervalNs = 2'000'000'000;
// After a search for clients, the next one waits for this many times the duration of the search.
constexpr uint64_t kSearchPause = 20;
constexpr uint64_t kLongestSearchPauseNs = drm::JobJoin::kMaxIncompleteNs / 2;
constexpr size_t kMaxUnclaimed = 16384;

class DrmRecording final : public drm::JobEventSink, public drm::JobSink {
 public:
  DrmRecording(const Recording& recording, std::unique_ptr<drm::JobPrograms> programs)
      : programs_(std::move(programs)), submitters_(recording, kDrm.name), clients_(recording.root), join_(*this) {
    if (recording.sampling.samples) {
      start_sampling(recording);
    }
  }

  void set_recording(bool on) {
    if (on != on_) {
      drain();
    }
    on_ = on;
  }

  [[nodiscard]] bpf_object* programs() const { return programs_->object(); }

  size_t drain() {
    size_t events = programs_->drain(*this);
    find_clients();
    events += stalls_ ? stalls_->drain(on_, monotonic_ns()) : 0;
    if (const uint64_t now = monotonic_ns(); now >= next_poll_ns_) {
      next_poll_ns_ = now + kPollIntervalNs;
      poll(now);
    }
    submitters_.report_counters();
    return events;
  }

  void stop() {
    programs_->drain(*this);
    next_search_ns_ = 0;
    find_clients();
    count_lost();
    if (stalls_) {
      stalls_->stop([] { return monotonic_ns(); });
      report_lost_kernels();
    }
    report_unknown();
    report_lost_times();
    report_untimed();
    report_waits();
    submitters_.report_counters();
    for (const SourceId source : submitters_.all()) {
      join_.end_source(source);
      submitters_.end(source);
    }
  }

  void on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words,
                std::span<const uint64_t> kernel) override {
    submitters_.on_stack(stack, words, kernel);
  }

  void on_code(uint32_t pid, const PythonCode& code) override { submitters_.on_code(pid, code); }
  void on_loader(uint32_t pid) override { submitters_.on_loader(pid); }

  void on_queued(const gpuprof_drm_queued& queued) override {
    const JobKey key{queued.job.context, queued.job.seqno};
    if (!on_) {
      programs_->forget(key);
    } else if (queued.pid != 0) {
      clients_.learn(queued.submission.client, {static_cast<pid_t>(queued.pid), queued.uid, queued.gid});
      const Job job = submitters_.launch(queued);
      if (stalls_) {
        stalls_->join().on_queued(key, job, queued.submission);
      }
      join_.on_queued(key, job);
    } else if (!queue_for_client(queued)) {
      if (unclaimed_.size() < kMaxUnclaimed) {
        unclaimed_.push_back(queued);
      } else {
        drop(queued, true);
      }
    }
  }

  void on_run(const JobKey& key, uint64_t time_ns) override {
    if (stalls_) {
      stalls_->join().on_run(key, time_ns);
    }
    join_.on_run(key, time_ns);
  }

  void on_done(const JobKey& key, uint64_t time_ns, gpuprof_drm_end end) override {
    if (stalls_ && end == GPUPROF_DRM_NO_FENCE) {
      stalls_->join().on_no_fence(key);
    } else if (stalls_) {
      stalls_->join().on_done(key, time_ns);
    }
    join_.on_done(key, time_ns, end);
  }

  void on_batch(const gpuprof_drm_batch& batch) override {
    if (stalls_) {
      stalls_->join().on_batch(batch);
    }
  }

  void on_batch_job(uint64_t batch, const JobKey& key) override {
    if (stalls_) {
      stalls_->join().on_batch_job(batch, key);
    }
  }

  void on_bound(const gpuprof_drm_bound& bound) override {
    if (stalls_) {
      vms_gone_ = vms_gone_ || bound.bytes == UINT64_MAX;
      stalls_->join().on_bound(bound);
    }
  }

  void on_queue_ended(const gpuprof_drm_queue_ended& ended) override {
    if (stalls_) {
      stalls_->join().on_queue_ended(ended);
    }
  }

  void on_job(const JobKey& key, const Job& job, uint64_t start_ns) override {
    if (stalls_) {
      stalls_->join().on_job(key, job, start_ns);
    }
    submitters_.report_work(job, start_ns);
  }

  void on_failed_job(const Job& job) override { submitters_.count_failed(job.source); }

  void on_untimed_job(const JobKey& key, const Job& job) override {
    ++untimed_;
    submitters_.lose(job.source, GPUPROF_LOSS_NO_TIMING, 1);
    if (stalls_) {
      Job named = job;
      named.name_id = submitters_.untimed_name(job);
      stalls_->join().on_untimed(key, named);
    }
  }

  void on_lost_job(const JobKey& key, const Job& job, bool unfinished) override {
    programs_->forget(key);
    if (stalls_) {
      stalls_->join().forget(key);
    }
    submitters_.lose(job.source, unfinished ? GPUPROF_LOSS_UNFINISHED : GPUPROF_LOSS_NO_TIMING, 1);
  }

 private:
  // Starts to sample stalls. If a GPU can not be sampled, it is recorded without samples.
  void start_sampling(const Recording& recording) {
    auto reader = drm::StallReader::open(drm::make_xe_stall_devices(), recording.sampling.period);
    if (!reader) {
      log::warn("no stalls are sampled: " + reader.error().message, reader.error().hint);
      if (programs_->used().xe_batches || programs_->used().i915_batches) {
        stalls_.emplace(recording, submitters_, std::nullopt);
      }
      return;
    }
    for (const Error& refused : reader->refused()) {
      log::warn(refused.message, refused.hint);
    }
    if (!programs_->used().xe_batches) {
      log::warn("samples will have unknown kernels: gpuprof cannot read the batches that xe gets",
                "`gpuprof doctor` lists what the driver lacks");
    }
    stalls_.emplace(recording, submitters_, std::move(*reader));
  }

  void poll(uint64_t now) {
    join_.expire(now);
    count_lost();
    if (vms_gone_ && now >= next_sweep_ns_) {
      next_sweep_ns_ = now + kSweepIntervalNs;
      vms_gone_ = false;
      programs_->sweep();
    }
    // The source of a process that has ended stays for one more interval, in which the driver can finish its jobs.
    const std::vector<SourceId> ending = std::exchange(to_end_, submitters_.ended());
    if (stalls_ && !ending.empty()) {
      stalls_->flush(now);  // attributes the last samples before join_ drops their jobs
    }
    for (const SourceId source : ending) {
      if (stalls_) {
        stalls_->end_source(source);
      }
      join_.end_source(source);
      clients_.forget(submitters_.pid_of(source));
      submitters_.end(source);
    }
  }

  // Handles a job that a kernel thread queued. Returns false if find_owners() must first find the owner of its
  // client.
  bool queue_for_client(gpuprof_drm_queued queued) {
    const auto found = clients_.find(queued.submission.client);
    if (!found) {
      return false;
    }
    if (found->owner == drm::Clients::Owner::recorded) {
      queued.pid = static_cast<uint32_t>(found->process.pid);
      queued.uid = found->process.uid;
      queued.gid = found->process.gid;
      join_.on_queued({queued.job.context, queued.job.seqno}, submitters_.launch(queued));
    } else {
      drop(queued, found->owner == drm::Clients::Owner::unknown);
    }
    return true;
  }

  void drop(const gpuprof_drm_queued& queued, bool of_nobody) {
    const JobKey key{queued.job.context, queued.job.seqno};
    of_nobody_ += of_nobody ? 1 : 0;
    join_.ignore(key, queued.job.time_ns);
    programs_->forget(key);
  }

  void find_clients() {
    const uint64_t begin = monotonic_ns();
    if (unclaimed_.empty() || begin < next_search_ns_) {
      return;
    }
    std::vector<uint64_t> clients;
    for (const gpuprof_drm_queued& queued : unclaimed_) {
      if (!clients_.find(queued.submission.client)) {
        clients.push_back(queued.submission.client);
      }
    }
    clients_.find_owners(clients);
    for (const gpuprof_drm_queued& queued : std::exchange(unclaimed_, {})) {
      // `clients_` has already dropped this client, because it holds at most kMaxClients.
      if (!queue_for_client(queued)) {
        drop(queued, true);
      }
    }
    const uint64_t end = monotonic_ns();
    next_search_ns_ = end + std::min(kSearchPause * (end - begin), kLongestSearchPauseNs);
  }

  void report_unknown() {
    const uint64_t of_kernel = programs_->count(GPUPROF_DRM_OF_KERNEL) + of_nobody_;
    submitters_.add_meta("drm.jobs_of_unknown_submitter=" + std::to_string(of_kernel + join_.unknown()));
    if (of_kernel == 0) {
      return;
    }
    note("unknown_submitter", "not in the profile: " + counted_text(of_kernel, "job") +
                                  " of this machine's GPUs that kernel threads queued for unknown processes");
  }

  void note(const std::string& name, const std::string& text) {
    if (!submitters_.add_meta("note.drm." + name + "=" + text)) {
      log::info(text);
    }
  }

  // Writes a counter to the profile. If it is not 0, also writes a note: the number of `what` (singular) and `meaning`.
  void report_count(const std::string& name, uint64_t count, std::string_view what, const std::string& meaning) {
    submitters_.add_meta("drm." + name + "=" + std::to_string(count));
    if (count != 0) {
      note(name, counted_text(count, what) + meaning);
    }
  }

  void report_lost_kernels() {
    report_count(
        "batches.lost", programs_->count(GPUPROF_DRM_LOST_BATCHES), "event",
        " of batches and binds dropped because the buffer was full: the kernels of some jobs are unknown, or have the "
        "name of a kernel that was at the same address before");
    report_count("batches.given_up", programs_->count(GPUPROF_DRM_GIVEN_UP), "batch",
                 " incomplete at submission, and gpuprof did not see the rest: some kernels are unknown");
    uint64_t batches = 0;
    std::string commands;
    for (const auto& [command, count] : stalls_->join().unknown_commands()) {
      batches += count;
      std::array<char, 16> digits{};
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), command, 16);
      commands += (commands.empty() ? "0x" : ", 0x") + std::string(digits.data(), end.ptr) + " in " +
                  counted_text(count, "batch");
    }
    report_count("batches.unknown_commands", batches, "batch",
                 " read only up to a command that gpuprof does not know, or to memory that was never written: later "
                 "kernels are unknown, and samples are estimated. The commands: " +
                     commands);
    report_count("bindings.lost", programs_->count(GPUPROF_DRM_LOST_BINDINGS), "VM bind",
                 " not tracked: later batches in these VMs were not read");
  }

  void report_lost_times() {
    if (const uint64_t skipped = programs_->skipped(); skipped != 0) {
      report_count("calls.skipped", skipped, "driver call",
                   " not recorded: gpuprof's BPF program for the same call was interrupted, and Linux does not run it "
                   "inside itself. Jobs, batches or binds of such calls are missing");
    }
    if (const uint64_t lost = programs_->count(GPUPROF_DRM_LOST_TIMES); lost != 0) {
      report_count("times.lost", lost, "start or end time",
                   " of jobs dropped because the buffer was full: these jobs have no times");
    }
  }

  void report_waits() {
    if (const uint64_t waits = programs_->count(GPUPROF_DRM_WAITS_ONLY); waits != 0) {
      report_count("waits_without_jobs", waits, "wait",
                   std::string(" for xe of processes that had submitted nothing to xe since their last wait. ") +
                       kDirectSubmission + ": " + kNoDirectSubmission);
    }
  }

  void report_untimed() {
    if (untimed_ != 0) {
      report_count(
          "jobs.untimed", untimed_, "job",
          " without a time, because the driver gave Linux no fence that says when the hardware finished: before "
          "Linux 6.19, xe gives none for long-running VMs, which Level Zero and OpenCL use");
    }
  }

  void count_lost() {
    const uint64_t lost = programs_->count(GPUPROF_DRM_LOST_QUEUED);
    submitters_.lose(GPUPROF_LOSS_RING_FULL, lost - std::exchange(lost_, lost));
  }

  std::unique_ptr<drm::JobPrograms> programs_;
  drm::Submitters submitters_;
  drm::Clients clients_;
  drm::JobJoin join_;
  // nullopt if neither samples nor the kernels of jobs are reported.
  std::optional<drm::StallSampling> stalls_;
  std::vector<gpuprof_drm_queued> unclaimed_;  // jobs of clients whose owner is unknown
  std::vector<SourceId> to_end_;
  uint64_t next_poll_ns_ = 0;
  uint64_t next_sweep_ns_ = 0;
  bool vms_gone_ = false;
  uint64_t next_search_ns_ = 0;
  uint64_t of_nobody_ = 0;
  uint64_t untimed_ = 0;
  uint64_t lost_ = 0;
  bool on_ = false;
};

class DrmBackend final : public Backend {
 public:
  [[nodiscard]] const Descriptor& descriptor() const override { return kDrm; }

  [[nodiscard]] Availability probe() const override {
    if (running_) {
      return {true, found_, ""};
    }
    const auto events = drm::find_kernel_events();
    if (!events) {
      return {false, events.error().message, events.error().hint};
    }
    const auto programs = drm::JobPrograms::start(::getpid(), *events);
    if (!programs) {
      return {false, programs.error().message, programs.error().hint};
    }
    const std::string stalls = drm::stall_text(*drm::make_xe_stall_devices());
    const drm::KernelEvents& used = (*programs)->used();
    return {true, used.text() + (stalls.empty() ? "" : "; " + stalls),
            may_submit_directly(used) ? std::string(kDirectSubmission) + ": " + kNoDirectSubmission : ""};
  }

  Status prepare(LaunchEnv& /*env*/) override { return {}; }
  [[nodiscard]] bool is_local() const override { return true; }
  [[nodiscard]] bool only_by_name() const override { return true; }
  [[nodiscard]] std::string_view code_from() const override { return "level_zero"; }

  Status start(const Recording& recording) override {
    const auto events = drm::find_kernel_events();
    if (!events) {
      return impossible(events.error());
    }
    auto programs = drm::JobPrograms::start(recording.root, *events, recording.sampling.samples);
    if (!programs) {
      return impossible(programs.error());
    }
    found_ = (*programs)->used().text();
    if (may_submit_directly((*programs)->used())) {
      log::warn(kDirectSubmission, kNoDirectSubmission);
    }
    running_.emplace(recording, std::move(*programs));
    return {};
  }

  void set_recording(bool on) override {
    if (running_) {
      running_->set_recording(on);
    }
  }

  [[nodiscard]] bpf_object* walking_programs() const override { return running_ ? running_->programs() : nullptr; }

  size_t drain() override { return running_ ? running_->drain() : 0; }

  void stop() override {
    if (running_) {
      running_->stop();
      running_.reset();
    }
  }

 private:
  std::optional<DrmRecording> running_;
  std::string found_;
};

}  // namespace

std::unique_ptr<Backend> make_drm() {
  return std::make_unique<DrmBackend>();
}

}  // namespace gpuprof::backend

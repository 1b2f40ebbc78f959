#include "backend/drm/submitters.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "wire/wire.h"

namespace gpuprof::backend::drm {

std::optional<uint32_t> card_number(const std::string& device, const std::string& root) {
  constexpr std::string_view kPrefix = "card";
  if (device.empty()) {
    return std::nullopt;
  }
  std::error_code error;
  std::filesystem::directory_iterator entries(root + "/sys/class/drm", error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string file = entries->path().filename().string();
    uint32_t number = 0;
    const char* end = file.data() + file.size();
    if (!file.starts_with(kPrefix) || std::from_chars(file.data() + kPrefix.size(), end, number).ptr != end) {
      continue;  // for example "card0-HDMI-A-1", which is a connector
    }
    std::error_code ignored;
    if (std::filesystem::read_symlink(entries->path() / "device", ignored).filename() == device) {
      return number;
    }
  }
  return std::nullopt;
}

std::string job_name(std::string_view driver, std::string_view ring) {
  if (driver == "xe") {
    ring = ring.substr(0, ring.find_last_not_of("0123456789") + 1);
  }
  if (ring.empty()) {
    ring = "job";
  }
  return driver.empty() ? std::string(ring) : std::string(driver) + "-" + std::string(ring);
}

namespace {

std::string untimed_job_name(const std::string& job) {
  // Linux's xe gives no fence for jobs of long-running VMs before 6.19. Other drivers have other reasons.
  return job + (job.starts_with("xe-") ? " [time unknown: long-running VM before Linux 6.19]"
                                       : " [time unknown: the driver gave no fence]");
}

GpuOp work_of(const Job& job, uint64_t start_ns) {
  return {.source = job.source,
          .correlation = job.correlation,
          .start_ns = start_ns,
          .end_ns = job.done_ns,
          .queued_ns = job.queued_ns,
          .submitted_ns = job.run_ns,
          .stream = job.stream,
          .name_id = job.name_id,
          .device = job.device,
          .op = GPUPROF_OP_KERNEL};
}

}  // namespace

void Submitters::on_stack(const gpuprof_bpf_stack& stack, std::span<const uint64_t> words,
                          std::span<const uint64_t> kernel) {
  forget_waiting(stack.stack);
  // Forgets all waiting stacks. The events that refer to them were lost.
  if (waiting_words_ >= kMaxWaitingWords) {
    waiting_.clear();
    waiting_words_ = 0;
  }
  Words& waits = waiting_[stack.stack];
  waits = {{words.begin(), words.end()}, {kernel.begin(), kernel.end()}, stack.flags, stack.read_ns};
  waiting_words_ += waits.size();
}

void Submitters::forget_waiting(uint64_t stack) {
  if (const auto waits = waiting_.find(stack); waits != waiting_.end()) {
    waiting_words_ -= waits->second.size();
    waiting_.erase(waits);
  }
}

// Ignores unknown processes. Stacks have Python frames only after the process's first submission, which makes it
// known.
void Submitters::on_code(uint32_t pid, const PythonCode& code) {
  if (const auto known = by_pid_.find(pid); known != by_pid_.end()) {
    recording_.sink.on_code(known->second, code);
  }
}

void Submitters::on_loader(uint32_t pid) {
  if (const auto known = by_pid_.find(pid); known != by_pid_.end()) {
    recording_.sink.on_mappings(known->second);
  }
}

Submitters::Submitter& Submitters::submitter(const gpuprof_drm_queued& queued) {
  const auto known = by_pid_.find(queued.pid);
  if (known != by_pid_.end()) {
    Submitter& before = submitters_.at(known->second);
    if (before.image == 0) {  // earlier events named the process's pid, but not its image
      before.image = queued.image;
    }
    if (queued.image == 0 || before.image == queued.image) {
      return before;
    }
    before.replaced = true;
  }
  if (!recording_.ids.admit_process()) {
    return submitters_.at(unknown_source());
  }
  return make({static_cast<pid_t>(queued.pid), queued.uid, queued.gid}, queued.image);
}

// The guard has the rights with which the process submitted the job. The process may have executed a set-user-id
// program since then, or ended, and another one may have its pid.
Submitters::Submitter& Submitters::make(const Credentials& process, uint64_t image) {
  const SourceId id = recording_.ids.make();
  const auto pid = static_cast<uint32_t>(process.pid);
  Submitter& made = submitters_[id];
  by_pid_[pid] = id;
  made.id = id;
  made.pid = pid;
  made.image = image;
  if (auto guard = ProcessGuard::of_earlier(process)) {
    made.guard = std::make_shared<ProcessGuard>(std::move(*guard));
  }
  recording_.sink.on_process(pid, made.guard);
  recording_.sink.on_source(id, pid, backend_);
  recording_.sink.on_traits(id,
                            {.walks_stacks = true, .takes_samples = recording_.sampling.samples, .in_recorder = true});
  return made;
}

uint32_t Submitters::name(Submitter& of, const std::string& text) {
  if (names_ >= kMaxNames && !of.names.contains(text)) {
    return 0;
  }
  const auto [at, is_new] = of.names.try_emplace(text, static_cast<uint32_t>(of.names.size() + 1));
  if (is_new) {
    ++names_;
    recording_.sink.on_name(of.id, at->second, text);
  }
  return at->second;
}

uint32_t Submitters::device_number(std::string_view bus) {
  const std::string which(bus);
  auto known = devices_.find(which);
  if (known == devices_.end()) {
    const auto others = static_cast<uint32_t>(kFirstOfOthers + devices_.size());
    known = devices_.emplace(which, card_number(which, root_).value_or(others)).first;
  }
  return known->second;
}

uint32_t Submitters::device(Submitter& of, std::string_view bus, std::string_view driver) {
  const std::string which(bus);
  const uint32_t number = device_number(bus);
  if (of.devices.insert(number).second) {
    std::string text = driver.empty() ? "GPU" : std::string(driver);
    text += which.empty() ? "" : " " + which;
    recording_.sink.on_device(of.id, number, name(of, text), which.empty() ? 0 : name(of, which));
  }
  return number;
}

// A scheduler makes one ring. The address and the name identify a scheduler, because a later one may have the same
// address.
uint64_t Submitters::ring(const gpuprof_drm_queued& queued) {
  std::string name(text_of(queued.device));
  name += '\n';
  name += text_of(queued.ring);
  // Forgets all rings. Each queue of xe makes one, so most of the rings are gone.
  if (rings_.size() >= kMaxRings) {
    rings_.clear();
  }
  const auto [at, is_new] = rings_.try_emplace({std::move(name), queued.scheduler}, last_ring_ + 1);
  last_ring_ += is_new ? 1 : 0;
  return at->second;
}

std::pair<uint64_t, bool> StreamNumbers::number(const StreamKey& key, uint64_t wanted) {
  if (numbers_.size() >= kMax) {
    numbers_.clear();
    taken_.clear();
  }
  const auto [at, is_new] = numbers_.try_emplace(key, wanted);
  if (is_new && (wanted >= kFirstOfOthers || !taken_.emplace(key.device, wanted).second)) {
    at->second = next_other_++;
  }
  return {at->second, is_new};
}

// Returns the number of the job's stream. The first time, describes an exec queue or context in the profile.
uint64_t Submitters::stream(Submitter& of, const gpuprof_drm_queued& queued, const Job& job) {
  const gpuprof_drm_submission& to = queued.submission;
  if (to.kind == 0) {
    // Small numbers are reserved for exec queues (xe) and contexts (i915).
    const std::string_view driver = text_of(queued.driver);
    const bool is_other = driver == "xe" || driver == "i915";
    return of.streams.number({job.ring, 0, job.device}, is_other ? StreamNumbers::kFirstOfOthers : job.ring).first;
  }
  const uint64_t file = to.client != 0 ? to.client : to.file;
  const auto [number, is_new] = of.streams.number({to.id, file, job.device}, to.id);
  if (is_new && of.described_streams < kMaxDescribedStreams) {
    ++of.described_streams;
    std::string text = "drm.device" + std::to_string(job.device) + ".stream" + std::to_string(number) + "=";
    text += (to.kind == GPUPROF_DRM_CONTEXT ? "context " : "exec queue ") + std::to_string(to.id);
    text += to.vm != 0 ? ", VM " + std::to_string(to.vm) : "";
    text += to.client != 0 ? ", client " + std::to_string(to.client) : "";
    recording_.sink.on_meta(of.id, text);
  }
  return number;
}

// Returns 0 if the stack was lost, or could not be walked.
uint64_t Submitters::stack(Submitter& of, uint64_t id) {
  if (const auto told = of.stacks.find(id); told != of.stacks.end()) {
    of.without_tables += told->second ? 0 : 1;
    forget_waiting(id);
    return id;
  }
  const auto came = waiting_.find(id);
  if (id == 0 || came == waiting_.end() || stacks_ >= kMaxStacks) {
    forget_waiting(id);
    lose(of.id, GPUPROF_LOSS_STACK, 1);
    return 0;
  }
  const Words& stack = came->second;
  recording_.sink.on_stack(of.id, {.id = id,
                                   .words = stack.words,
                                   .flags = stack.flags,
                                   .modules = {},
                                   .kernel = stack.kernel,
                                   .read_ns = stack.read_ns});
  of.stacks.emplace(id, stack.read_ns != 0);
  ++stacks_;
  of.without_tables += stack.read_ns != 0 ? 0 : 1;
  forget_waiting(id);
  return id;
}

Job Submitters::launch(const gpuprof_drm_queued& queued) {
  Submitter& of = submitter(queued);
  const uint32_t tid = of.pid == 0 ? 0 : queued.tid;  // a process that is not admitted has no threads and no stacks
  Job job;
  job.source = of.id;
  job.correlation = ++last_correlation_;
  job.ring = ring(queued);
  job.queued_ns = queued.job.time_ns;
  job.device = device(of, text_of(queued.device), text_of(queued.driver));
  job.stream = stream(of, queued, job);
  job.name_id = name(of, job_name(text_of(queued.driver), text_of(queued.ring)));
  recording_.sink.on_launch(of.id, {.correlation = job.correlation,
                                    .stack = tid == 0 ? 0 : stack(of, queued.stack),
                                    .time_ns = queued.job.time_ns,
                                    .tid = tid,
                                    .range = 0,
                                    .thread = text_of(queued.thread)});
  ++of.counters.launches;
  of.changed = true;
  return job;
}

void Submitters::report_work(const Job& job, uint64_t start_ns) {
  recording_.sink.on_gpu_op(work_of(job, start_ns));
}

void Submitters::report_kernel(const Job& job, uint64_t start_ns, const std::string& kernel) {
  if (const uint32_t name = name_id(job.source, kernel); name != 0) {
    recording_.sink.on_kernel_of(work_of(job, start_ns), name);
  }
}

uint32_t Submitters::name_id(SourceId source, const std::string& text) {
  const auto known = submitters_.find(source);
  return known == submitters_.end() ? 0 : name(known->second, text);
}

uint32_t Submitters::untimed_name(const Job& job) {
  const auto known = submitters_.find(job.source);
  if (known == submitters_.end()) {
    return job.name_id;
  }
  const auto [at, is_new] = known->second.untimed_names.try_emplace(job.name_id, job.name_id);
  if (is_new) {
    const auto& names = known->second.names;
    const auto text =
        std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.second == job.name_id; });
    if (text != names.end()) {
      at->second = name(known->second, untimed_job_name(text->first));
    }
  }
  return at->second;
}

uint32_t Submitters::device_of(SourceId source, std::string_view bus, std::string_view driver) {
  const auto known = submitters_.find(source);
  return known == submitters_.end() ? UINT32_MAX : device(known->second, bus, driver);
}

SourceId Submitters::unknown_source() {
  if (unknown_source_ == 0) {
    unknown_source_ = make({}, 0).id;
  }
  return unknown_source_;
}

void Submitters::lose(SourceId source, unsigned reason, uint64_t count) {
  const auto known = submitters_.find(source);
  if (known != submitters_.end()) {
    known->second.counters.lost[reason] += count;
    known->second.changed = true;
  }
}

void Submitters::count_failed(SourceId source) {
  const auto known = submitters_.find(source);
  if (known != submitters_.end()) {
    ++known->second.counters.counts[GPUPROF_COUNT_FAILED];
    known->second.changed = true;
  }
}

bool Submitters::add_meta(const std::string& text) {
  const SourceId source = any_source();
  if (source != 0) {
    recording_.sink.on_meta(source, text);
  }
  return source != 0;
}

// Returns the source of any process, else unknown_source_, which is 0 until it is needed.
SourceId Submitters::any_source() const {
  for (const auto& [id, of] : submitters_) {
    if (id != unknown_source_) {
      return id;
    }
  }
  return unknown_source_;
}

void Submitters::report_counters() {
  if (const SourceId source = any_source(); source != 0) {
    for (const auto& [reason, count] : std::exchange(pending_losses_, {})) {
      lose(source, reason, count);
    }
  }
  for (auto& [id, of] : submitters_) {
    if (std::exchange(of.changed, false)) {
      recording_.sink.on_counters(id, of.counters);
    }
  }
}

std::vector<SourceId> Submitters::ended() const {
  std::vector<SourceId> ended;
  for (const auto& [id, of] : submitters_) {
    if (id != unknown_source_ && (of.replaced || !of.guard || of.guard->has_ended())) {
      ended.push_back(id);
    }
  }
  return ended;
}

uint32_t Submitters::pid_of(SourceId source) const {
  const auto known = submitters_.find(source);
  return known == submitters_.end() ? 0 : known->second.pid;
}

std::vector<SourceId> Submitters::all() const {
  std::vector<SourceId> all;
  for (const auto& [id, of] : submitters_) {
    all.push_back(id);
  }
  return all;
}

void Submitters::end(SourceId source) {
  const auto known = submitters_.find(source);
  if (known == submitters_.end()) {
    return;
  }
  const Submitter& of = known->second;
  recording_.sink.on_counters(source, of.counters);
  if (of.without_tables != 0) {
    recording_.sink.on_meta(source, "drm.stacks_without_tables=" + std::to_string(of.without_tables));
  }
  recording_.sink.on_source_end(source);
  if (const auto current = by_pid_.find(of.pid); current != by_pid_.end() && current->second == source) {
    by_pid_.erase(current);
  }
  names_ -= of.names.size();
  stacks_ -= of.stacks.size();
  submitters_.erase(known);
}

}  // namespace gpuprof::backend::drm

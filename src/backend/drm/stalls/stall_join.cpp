#include "backend/drm/stalls/stall_join.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "backend/kernel_addresses.h"

namespace gpuprof::backend::drm {
namespace {

constexpr uint64_t kExpiryNs = 500'000'000;
// A kernel address is less than this far above its instruction base address.
constexpr uint64_t kSpaceBytes = uint64_t{1} << 32;
// Addresses in a record may be sign-extended from bit 47. Those of batches and binds are not.
constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;

std::string hex(uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return "0x" + std::string(digits.data(), end.ptr);
}

// Returns what must be added to kernel addresses of a space with this base.
uint64_t origin_of(uint64_t base) {
  return base == GPUPROF_BATCH_NO_BASE ? 0 : base;
}

uint64_t sum_of(const StallCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

}  // namespace

std::string BatchKernel::name() const {
  const std::string what = is_routine() ? "system routine at " : "kernel at ";
  const std::string which = generation == 0 ? "" : " (" + std::to_string(generation + 1) + ")";
  // A process may have different code at the same address of two VMs, so the name contains the VM.
  const std::string where = vm <= 1 ? "" : " in VM " + std::to_string(vm);
  return what + hex(start & ~uint64_t{GPUPROF_BATCH_SYSTEM_ROUTINE}) + which + where;
}

void StallJoin::on_batch(const gpuprof_drm_batch& batch) {
  if (batch.count > GPUPROF_BATCH_KERNELS) {
    return;
  }
  Batch& known = batch_of(batch.id);
  count_unknown(known.told, batch);
  known.told = batch;
  if (bases_.size() >= kMaxBatches) {
    bases_.clear();
  }
  uint64_t& base = bases_[{batch.file, batch.queue}];
  base = batch.base != 0 ? batch.base : base;
  // Relative addresses are below 4 GiB. The base addresses of Xe3p may be off although no batch of this queue says so.
  const bool absolute =
      std::any_of(batch.starts, batch.starts + batch.count, [](uint64_t start) { return start >= kSpaceBytes; });
  known.told.base = absolute ? GPUPROF_BATCH_NO_BASE : base;
  if (const auto run = known.has_job ? runs_.find(known.job) : runs_.end(); run != runs_.end()) {
    add_kernels(run->second, known.told);
  }
}

// A batch may be complete when it is read again.
void StallJoin::count_unknown(const gpuprof_drm_batch& before, const gpuprof_drm_batch& now) {
  if (before.state == GPUPROF_BATCH_UNKNOWN) {
    const auto known = unknown_commands_.find(before.unknown);
    if (known != unknown_commands_.end() && --known->second == 0) {
      unknown_commands_.erase(known);
    }
  }
  if (now.state == GPUPROF_BATCH_UNKNOWN &&
      (unknown_commands_.size() < kMaxUnknownCommands || unknown_commands_.contains(now.unknown))) {
    ++unknown_commands_[now.unknown];
  }
}

// A bind replaces the code at its addresses. The next kernel that starts there is another kernel.
void StallJoin::on_bound(const gpuprof_drm_bound& bound) {
  const bool all = bound.vm == GPUPROF_DRM_ALL_VMS;
  const uint64_t end = bound.address + std::min(bound.bytes, UINT64_MAX - bound.address);
  auto known = live_spaces_.lower_bound({.file = bound.file, .vm = all ? 0 : bound.vm});
  while (known != live_spaces_.end() && known->first.file == bound.file && (all || known->first.vm == bound.vm)) {
    Space& space = spaces_.at(known->second);
    const uint64_t base = origin_of(space.key.base);
    // Without a base address, kernels of Xe3p may be anywhere.
    if ((base == 0 || bound.address < base + kSpaceBytes) && end > base) {
      replace_kernels(space, bound.address > base ? bound.address - base : 0, end - base);
    }
    known = space.live.empty() ? live_spaces_.erase(known) : std::next(known);
  }
}

void StallJoin::replace_kernels(Space& space, uint64_t from, uint64_t to) {
  auto at = space.live.lower_bound(from);
  while (at != space.live.end() && at->first < to) {
    --kernels_;
    if (kernels_ < kMaxKernels || space.generations.contains(at->first)) {
      kernels_ += space.generations.insert_or_assign(at->first, at->second + 1).second ? 1 : 0;
    }
    at = space.live.erase(at);
  }
}

void StallJoin::on_queued(const JobKey& key, const Job& job, const gpuprof_drm_submission& submission) {
  if (submission.batch == 0) {
    return;
  }
  if (runs_.size() >= kMaxJobs) {
    ++not_followed_;
    return;
  }
  // False for i915, whose engines switch between contexts.
  const bool in_order = submission.kind != GPUPROF_DRM_CONTEXT;
  forget(key);
  runs_[key] = Run{.job = job, .file = submission.file, .in_order = in_order};
  running_[key.context].insert(key.seqno);
}

void StallJoin::on_batch_job(uint64_t batch, const JobKey& key) {
  const auto run = runs_.find(key);
  if (run == runs_.end()) {
    return;
  }
  Batch& known = batch_of(batch);  // on_batch() may be called later
  run->second.batch = batch;
  run->second.is_complete = false;
  known.job = key;
  known.has_job = true;
  if (known.told.id != 0) {
    add_kernels(run->second, known.told);
  }
}

StallJoin::Batch& StallJoin::batch_of(uint64_t id) {
  // Forgets all batches, because most of their jobs have ended.
  if (batches_.size() >= kMaxBatches && !batches_.contains(id)) {
    not_followed_ += batches_.size();
    batches_.clear();
  }
  return batches_[id];
}

uint32_t StallJoin::vm_number(SourceId source, const gpuprof_drm_batch& batch) {
  auto& numbers = vms_[source];
  if (const auto known = numbers.find({batch.file, batch.vm}); known != numbers.end()) {
    return known->second;
  }
  if (numbers.size() >= kMaxSpaces) {
    return static_cast<uint32_t>(numbers.size());
  }
  return numbers.try_emplace({batch.file, batch.vm}, static_cast<uint32_t>(numbers.size() + 1)).first->second;
}

uint64_t StallJoin::space_of(SourceId source, const gpuprof_drm_batch& batch) {
  const SpaceKey key{.file = batch.file, .vm = batch.vm, .base = batch.base, .source = source};
  if (const auto known = space_ids_.find(key); known != space_ids_.end()) {
    return known->second;
  }
  forget_bases(key);
  if (spaces_.size() >= kMaxSpaces) {
    not_followed_ += spaces_.size();
    spaces_.clear();
    space_ids_.clear();
    live_spaces_.clear();
    kernels_ = 0;
  }
  const uint64_t id = ++next_space_;
  spaces_[id] = {.key = key, .vm_number = vm_number(source, batch), .live = {}, .generations = {}};
  space_ids_[key] = id;
  return id;
}

// Forgets the VM's spaces if it has kMaxBases, because on_bound() must check all of them.
void StallJoin::forget_bases(const SpaceKey& of_vm) {
  std::vector<uint64_t> ids;
  for (auto known = space_ids_.lower_bound({.file = of_vm.file, .vm = of_vm.vm});
       known != space_ids_.end() && known->first.file == of_vm.file && known->first.vm == of_vm.vm; ++known) {
    ids.push_back(known->second);
  }
  if (ids.size() >= kMaxBases) {
    not_followed_ += ids.size();
    for (const uint64_t id : ids) {
      forget_space(spaces_.at(id));
      spaces_.erase(id);
    }
  }
}

// Call it before the space is erased from spaces_.
void StallJoin::forget_space(const Space& space) {
  kernels_ -= space.live.size() + space.generations.size();
  space_ids_.erase(space.key);
  live_spaces_.erase(space.key);
}

BatchKernel StallJoin::kernel_at(uint64_t space, uint64_t start) {
  Space& in = spaces_[space];
  if (const auto known = in.live.find(start); known != in.live.end()) {
    return {space, start, known->second, in.vm_number};
  }
  const auto later = in.generations.find(start);
  const uint32_t generation = later == in.generations.end() ? 0 : later->second;
  if (kernels_ < kMaxKernels) {
    in.live[start] = generation;
    live_spaces_.emplace(in.key, space);
    ++kernels_;
  } else {
    ++not_followed_;
  }
  return {space, start, generation, in.vm_number};
}

void StallJoin::add_kernels(Run& run, const gpuprof_drm_batch& batch) {
  const uint64_t space = space_of(run.job.source, batch);
  if (!run.kernels.empty() && run.kernels.begin()->second.space != space) {
    // The base address has changed. The event lists all kernels of the batch again.
    kernels_of_jobs_ -= run.kernels.size();
    run.kernels.clear();
  }
  run.is_complete = batch.state == GPUPROF_BATCH_ENDED;
  std::vector<BatchKernel> added;
  for (uint32_t i = 0; i < batch.count; ++i) {
    if (kernels_of_jobs_ >= kMaxKernelsOfJobs) {
      ++not_followed_;
      run.is_complete = false;
      break;
    }
    const BatchKernel kernel = kernel_at(space, batch.starts[i]);
    const auto [first, last] = run.kernels.equal_range(kernel.start);
    if (std::none_of(first, last, [&](const auto& known) { return known.second == kernel; })) {
      run.kernels.emplace(kernel.start, kernel);
      ++kernels_of_jobs_;
      added.push_back(kernel);
    }
  }
  for (const BatchKernel& kernel : added) {
    if (run.start_ns != 0) {
      report_kernel(run, kernel);
    }
  }
}

void StallJoin::report_kernel(const Run& run, const BatchKernel& kernel) {
  const auto kernels =
      std::count_if(run.kernels.begin(), run.kernels.end(), [](const auto& one) { return !one.second.is_routine(); });
  const bool is_alone = run.is_complete && kernels == 1 && !kernel.is_routine() && !run.no_fence;
  sink_.on_kernel(run.job, run.start_ns, kernel.name(), is_alone);
}

void StallJoin::on_run(const JobKey& key, uint64_t time_ns) {
  const auto found = runs_.find(key);
  if (found == runs_.end()) {
    return;
  }
  const auto before = untimed_.find({found->second.file, key.context});
  if (before != untimed_.end() && before->second.seqno < key.seqno) {
    if (const auto other = runs_.find(before->second); other != runs_.end()) {
      end_untimed(other->second, time_ns);
    }
    untimed_.erase(before);
  }
  Run& run = found->second;
  if (run.in_order && run.done_ns == 0) {
    auto& on_ring = on_ring_[run.job.ring];
    on_ring.erase({run.run_ns, key.context, key.seqno});
    on_ring.emplace(time_ns, key.context, key.seqno);
  }
  run.run_ns = time_ns;
}

void StallJoin::on_done(const JobKey& key, uint64_t time_ns) {
  const auto run = runs_.find(key);
  if (run == runs_.end()) {
    return;
  }
  ends_inferred_ -= std::exchange(run->second.is_inferred, false) ? 1 : 0;
  run->second.done_ns = time_ns;
  stop_running(key, run->second);
  end_those_before(key, run->second);
}

void StallJoin::on_no_fence(const JobKey& key) {
  if (const auto run = runs_.find(key); run != runs_.end()) {
    run->second.no_fence = true;
    stop_running(key, run->second);
  }
}

void StallJoin::on_untimed(const JobKey& key, const Job& job) {
  const auto run = runs_.find(key);
  if (run == runs_.end()) {
    return;
  }
  run->second.job = job;
  if (const auto stopped = stopped_.find(key.context); stopped != stopped_.end()) {
    end_untimed(run->second, stopped->second);
    return;
  }
  if (untimed_.size() >= kMaxJobs) {
    untimed_.clear();  // these jobs end with their process
  }
  untimed_[{run->second.file, key.context}] = key;
}

// Jobs of the queue that Linux's scheduler has not ended yet find the time when it does.
void StallJoin::on_queue_ended(const gpuprof_drm_queue_ended& ended) {
  if (stopped_.size() >= kMaxJobs) {
    stopped_.clear();
  }
  if (ended.context != 0) {
    stopped_[ended.context] = ended.time_ns;
  }
  auto at = untimed_.lower_bound({ended.file, ended.context});
  while (at != untimed_.end() && at->first.first == ended.file &&
         (ended.context == 0 || at->first.second == ended.context)) {
    stopped_[at->first.second] = ended.time_ns;
    if (const auto run = runs_.find(at->second); run != runs_.end()) {
      end_untimed(run->second, ended.time_ns);
    }
    at = untimed_.erase(at);
  }
}

void StallJoin::end_untimed(Run& run, uint64_t now_ns) {
  run.done_ns = std::max(run.run_ns, now_ns);
  run.start_ns = run.run_ns;
  run.job.done_ns = run.done_ns;
  for (const auto& [start, kernel] : run.kernels) {
    report_kernel(run, kernel);
  }
}

void StallJoin::end_untimed(uint64_t now_ns) {
  for (auto& [key, run] : runs_) {
    if (run.no_fence && run.done_ns == 0) {
      end_untimed(run, now_ns);
    }
  }
  untimed_.clear();
}

// Finds earlier jobs whose end events were lost, and infers when they ended.
void StallJoin::end_those_before(const JobKey& key, const Run& done) {
  std::vector<JobKey> over;
  if (const auto in_context = running_.find(key.context); in_context != running_.end()) {
    for (auto at = in_context->second.begin(); at != in_context->second.end() && *at < key.seqno; ++at) {
      over.push_back({key.context, *at});
    }
  }
  const auto on_ring = done.in_order && done.run_ns != 0 ? on_ring_.find(done.job.ring) : on_ring_.end();
  if (on_ring != on_ring_.end()) {
    for (const auto& [run_ns, context, seqno] : on_ring->second) {
      if (run_ns >= done.run_ns) {
        break;
      }
      over.push_back({context, seqno});
    }
  }
  for (const JobKey& one : over) {
    infer_end(one, done.done_ns);
  }
}

void StallJoin::infer_end(const JobKey& key, uint64_t time_ns) {
  const auto run = runs_.find(key);
  if (run != runs_.end() && run->second.done_ns == 0) {
    run->second.done_ns = time_ns;
    run->second.is_inferred = true;
    ++ends_inferred_;
    stop_running(key, run->second);
  }
}

void StallJoin::stop_running(const JobKey& key, const Run& run) {
  if (const auto in_context = running_.find(key.context); in_context != running_.end()) {
    in_context->second.erase(key.seqno);
    if (in_context->second.empty()) {
      running_.erase(in_context);
    }
  }
  if (const auto on_ring = on_ring_.find(run.job.ring); on_ring != on_ring_.end()) {
    on_ring->second.erase({run.run_ns, key.context, key.seqno});
    if (on_ring->second.empty()) {
      on_ring_.erase(on_ring);
    }
  }
}

void StallJoin::on_job(const JobKey& key, const Job& job, uint64_t start_ns) {
  const auto run = runs_.find(key);
  if (run == runs_.end()) {
    return;
  }
  run->second.job = job;
  run->second.start_ns = start_ns;
  for (const auto& [start, kernel] : run->second.kernels) {
    report_kernel(run->second, kernel);
  }
}

void StallJoin::forget(const JobKey& key) {
  if (const auto run = runs_.find(key); run != runs_.end()) {
    stop_running(key, run->second);
    kernels_of_jobs_ -= run->second.kernels.size();
    runs_.erase(run);
  }
}

void StallJoin::end_source(SourceId source, uint64_t now_ns) {
  for (auto& [key, run] : runs_) {
    if (run.job.source == source && run.no_fence && run.done_ns == 0) {
      end_untimed(run, now_ns);
      untimed_.erase({run.file, key.context});
    }
  }
  vms_.erase(source);
  std::erase_if(runs_, [&](const auto& entry) {
    const bool is_its = entry.second.job.source == source;
    if (is_its) {
      stop_running(entry.first, entry.second);
      kernels_of_jobs_ -= entry.second.kernels.size();
    }
    return is_its;
  });
  std::erase_if(spaces_, [&](const auto& entry) {
    const bool is_its = entry.second.key.source == source;
    if (is_its) {
      forget_space(entry.second);
    }
    return is_its;
  });
}

void StallJoin::on_record(uint32_t device, const StallRecord& record, uint64_t since_ns, uint64_t now_ns) {
  if (record.samples() == 0) {
    return;
  }
  Window& window = open_[device];
  window.device = device;
  const uint64_t start_ns = since_ns - std::min(since_ns, kLagNs);
  window.start_ns = window.counts.empty() ? start_ns : std::min(window.start_ns, start_ns);
  window.end_ns = now_ns;
  const auto [at, is_new] = window.counts.try_emplace(record.address);
  pending_count_ += is_new ? 1 : 0;
  for (size_t i = 0; i < kStalls; ++i) {
    at->second[i] += record.counts[i];
  }
}

void StallJoin::close(Window& window) {
  if (!window.counts.empty()) {
    pending_.push_back(std::move(window));
  }
  window = {};
}

void StallJoin::flush(uint64_t now_ns, uint64_t period) {
  for (auto& [device, window] : open_) {
    close(window);
  }
  for (Window& window : pending_) {
    resolve(window, now_ns, period, false);
  }
  std::erase_if(pending_, [](const Window& window) { return window.counts.empty(); });
}

void StallJoin::finish_windows(uint64_t now_ns, uint64_t period, bool last) {
  for (auto& [device, window] : open_) {
    if (last || now_ns >= window.start_ns + kLagNs + kWindowNs) {
      close(window);
    }
  }
  while (!pending_.empty()) {
    const bool enough = last || pending_count_ > kMaxWaiting;
    Window& window = pending_.front();
    if (!enough && now_ns < std::max(window.end_ns + kResolveDelayNs, window.next_try_ns)) {
      break;
    }
    if (!resolve(window, now_ns, period, enough)) {
      break;
    }
    pending_.pop_front();
  }
  expire(now_ns);
}

std::vector<StallJoin::Ran> StallJoin::ran_in(const Window& window) const {
  // A ring runs its jobs one after the other. So the jobs after its first unfinished job have not begun.
  const auto waits = [this](const Run& run) {
    const auto on_ring = run.in_order && run.done_ns == 0 ? on_ring_.find(run.job.ring) : on_ring_.end();
    return on_ring != on_ring_.end() && run.run_ns > std::get<0>(*on_ring->second.begin());
  };
  // A process may run thousands of jobs with the same kernels in one window.
  std::map<std::tuple<SourceId, bool, bool, std::vector<BatchKernel>>, Ran> all;
  for (const auto& [key, run] : runs_) {
    const bool overlaps =
        run.run_ns != 0 && run.began_ns() < window.end_ns && (run.done_ns == 0 || run.done_ns > window.start_ns);
    const auto stopped = run.no_fence ? stopped_.find(key.context) : stopped_.end();
    const bool may_run = run.no_fence && run.run_ns != 0 && run.began_ns() < window.end_ns &&
                         (stopped == stopped_.end() || window.start_ns < stopped->second + kStopNs);
    if (run.job.device != window.device || (run.kernels.empty() && run.is_complete) || (!overlaps && !may_run) ||
        (!run.no_fence && waits(run))) {
      continue;
    }
    std::vector<BatchKernel> kernels;
    for (const auto& [start, kernel] : run.kernels) {
      kernels.push_back(kernel);
    }
    const uint64_t from = std::max(run.began_ns(), window.start_ns);
    const uint64_t to = run.done_ns == 0 ? window.end_ns : std::min(run.done_ns, window.end_ns);
    Ran& ran = all[{run.job.source, run.is_complete, run.no_fence, std::move(kernels)}];
    ran.run = &run;
    ran.ns += overlaps ? std::max<uint64_t>(to > from ? to - from : 0, 1) : 0;
  }
  std::vector<Ran> list;
  list.reserve(all.size());
  for (const auto& [key, ran] : all) {
    list.push_back(ran);
  }
  return list;
}

// Returns false if some samples must wait for events that are late.
bool StallJoin::resolve(Window& window, uint64_t now_ns, uint64_t period, bool last) {
  const std::vector<Ran> ran = ran_in(window);
  const bool gives_up = last || now_ns >= window.end_ns + kLateNs;
  const uint32_t number = ++last_window_;
  SamplesBySource told;
  size_t lookups = 0;
  pending_count_ -= std::erase_if(window.counts, [&](const auto& entry) {
    lookups += ran.size();
    const bool too_many = lookups > kMaxLookups;
    const auto found = too_many ? std::vector<Candidate>() : candidates(ran, entry.first);
    not_followed_ += too_many ? 1 : 0;
    if (!found.empty()) {
      give(number, found, entry.second, told);
    } else if (gives_up || too_many) {
      sink_.on_unknown(window.device, window.end_ns, entry.second);
    }
    return !found.empty() || gives_up || too_many;
  });
  window.next_try_ns = now_ns + kRetryNs;
  for (const auto& [source, samples] : told) {
    sink_.on_window(source, {.start_ns = window.start_ns,
                             .end_ns = window.end_ns,
                             .handed = samples,
                             .period = period,
                             .window = number,
                             .device = window.device});
  }
  return window.counts.empty();
}

// Returns the kernels with this address that ran in the window, and how long each ran.
std::vector<StallJoin::Candidate> StallJoin::candidates(const std::vector<Ran>& ran, uint64_t address) const {
  std::map<std::pair<SourceId, BatchKernel>, Candidate> found;
  std::set<SourceId> incomplete;  // a kernel of their processes that is not known may have the address
  for (const auto& [run, ns] : ran) {
    if (!run->is_complete || run->no_fence) {
      incomplete.insert(run->job.source);
    }
    uint64_t offset = 0;
    const BatchKernel* kernel = find_kernel(*run, address, offset);
    if (kernel == nullptr) {
      continue;
    }
    Candidate& candidate = found[{run->job.source, *kernel}];
    candidate.source = run->job.source;
    candidate.kernel = *kernel;
    candidate.offset = offset;
    candidate.address = address_of(*kernel, offset);
    candidate.ns += ns;
  }
  // Kernels of jobs that may be over count only if no other kernel has the address.
  const bool any_ran = std::any_of(found.begin(), found.end(), [](const auto& one) { return one.second.ns != 0; });
  std::erase_if(found, [any_ran](const auto& one) { return any_ran && one.second.ns == 0; });
  std::vector<Candidate> list;
  list.reserve(found.size());
  for (auto& [key, candidate] : found) {
    candidate.ns = std::max<uint64_t>(candidate.ns, 1);
    candidate.is_guess = incomplete.contains(key.first);
    list.push_back(candidate);
  }
  return list;
}

uint64_t StallJoin::address_of(const BatchKernel& kernel, uint64_t offset) const {
  const auto space = spaces_.find(kernel.space);
  const bool known = space != spaces_.end() && space->second.key.base != 0;
  return known ? origin_of(space->second.key.base) + (kernel.start & ~uint64_t{GPUPROF_BATCH_SYSTEM_ROUTINE}) + offset
               : 0;
}

// Returns the last kernel of the job that starts at or before the address. Returns null if the job has none, or if
// another known kernel starts between that kernel and the address.
const BatchKernel* StallJoin::find_kernel(const Run& run, uint64_t address, uint64_t& offset) const {
  if (run.kernels.empty()) {
    return nullptr;
  }
  const auto space = spaces_.find(run.kernels.begin()->second.space);
  const uint64_t base = space == spaces_.end() ? 0 : origin_of(space->second.key.base);
  // Addresses of kernels are relative to the base address, but addresses in records of Xe3p are absolute.
  const uint64_t plain = address & kAddressMask;
  const uint64_t at = plain < kSpaceBytes || plain < base ? plain : plain - base;
  // The start address of a system routine has its lowest bit set. So this sets the bit too, to find a routine that
  // starts exactly at `at`.
  const uint64_t up_to = at | GPUPROF_BATCH_SYSTEM_ROUTINE;
  const BatchKernel* found = nullptr;
  for_each_start_before(run.kernels, up_to, [&found](uint64_t /*start*/, const BatchKernel& kernel) {
    found = &kernel;
    return false;
  });
  if (found != nullptr && space != spaces_.end()) {
    for_each_start_before(space->second.live, up_to, [&found](uint64_t start, uint32_t /*generation*/) {
      found = start > found->start ? nullptr : found;
      return false;
    });
  }
  offset = found == nullptr ? 0 : at - (found->start & ~uint64_t{GPUPROF_BATCH_SYSTEM_ROUTINE});
  return found;
}

void StallJoin::give(uint32_t window, const std::vector<Candidate>& to, const StallCounts& counts,
                     SamplesBySource& told) {
  std::vector<uint64_t> weights;
  weights.reserve(to.size());
  for (const Candidate& candidate : to) {
    weights.push_back(candidate.ns);
  }
  std::vector<StallCounts> parts(to.size());
  for (size_t stall = 0; stall < kStalls; ++stall) {
    const auto split = counts[stall] == 0 ? std::vector<uint64_t>(to.size()) : split_.split(counts[stall], weights);
    for (size_t i = 0; i < to.size(); ++i) {
      parts[i][stall] = static_cast<uint32_t>(split[i]);
    }
  }
  for (size_t i = 0; i < to.size(); ++i) {
    const uint64_t samples = sum_of(parts[i]);
    if (samples > 0) {
      told[to[i].source] += samples;
      sink_.on_stalls(to[i].source, window, {to[i].kernel.name(), to[i].offset, to[i].address}, parts[i],
                      to.size() > 1 || to[i].is_guess);
    }
  }
}

uint64_t StallJoin::oldest_window() const {
  uint64_t oldest = UINT64_MAX;
  for (const Window& window : pending_) {
    oldest = std::min(oldest, window.start_ns);
  }
  for (const auto& [device, window] : open_) {
    oldest = window.counts.empty() ? oldest : std::min(oldest, window.start_ns);
  }
  return oldest;
}

void StallJoin::expire(uint64_t now_ns) {
  if (now_ns < next_expiry_ns_) {
    return;
  }
  next_expiry_ns_ = now_ns + kExpiryNs;
  const uint64_t needed_ns = oldest_window();
  std::erase_if(runs_, [&](const auto& entry) {
    const Run& run = entry.second;
    const bool is_over = run.done_ns != 0 && run.done_ns + kKeepNs < now_ns && run.done_ns < needed_ns;
    if (is_over) {
      batches_.erase(run.batch);
      kernels_of_jobs_ -= run.kernels.size();
    }
    return is_over;
  });
  std::erase_if(stopped_,
                [&](const auto& entry) { return entry.second + kKeepNs < now_ns && entry.second < needed_ns; });
}

}  // namespace gpuprof::backend::drm

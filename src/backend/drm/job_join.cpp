#include "backend/drm/job_join.h"

#include <algorithm>

namespace gpuprof::backend::drm {

void JobJoin::on_queued(const JobKey& key, const Job& job) {
  if (jobs_.size() >= kMaxJobs && !jobs_.contains(key)) {
    sink_.on_lost_job(key, job, true);
    return;
  }
  const auto [at, is_new] = jobs_.try_emplace(key, job);
  if (!is_new) {
    // Other events of this job may have arrived first. Events older than queued_ns belong to an earlier job with this
    // key.
    const Job before = at->second;
    const bool is_half =
        before.source == 0 && !before.ignored && std::max(before.run_ns, before.done_ns) >= job.queued_ns;
    if (!is_half) {
      drop(key, before);
    }
    at->second = job;
    at->second.run_ns = is_half ? before.run_ns : 0;
    at->second.done_ns = is_half ? before.done_ns : 0;
    at->second.failed = is_half && before.failed;
    at->second.untimed = is_half && before.untimed;
  }
  complete_job(at);
}

void JobJoin::ignore(const JobKey& key, uint64_t queued_ns) {
  if (Job* job = half(key)) {
    job->queued_ns = queued_ns;
    job->ignored = true;
  }
}

void JobJoin::on_run(const JobKey& key, uint64_t time_ns) {
  if (Job* job = half(key)) {
    job->run_ns = time_ns;
    complete_job(jobs_.find(key));
  }
}

void JobJoin::on_done(const JobKey& key, uint64_t time_ns, gpuprof_drm_end end) {
  if (Job* job = half(key)) {
    job->done_ns = time_ns;
    job->failed = end == GPUPROF_DRM_FAILED;
    job->untimed = end == GPUPROF_DRM_NO_FENCE;
    complete_job(jobs_.find(key));
  }
}

Job* JobJoin::half(const JobKey& key) {
  const auto known = jobs_.find(key);
  if (known != jobs_.end()) {
    return &known->second;
  }
  if (jobs_.size() >= kMaxJobs) {
    ++unknown_;
    return nullptr;
  }
  return &jobs_[key];
}

void JobJoin::complete_job(Jobs::iterator at) {
  const Job& job = at->second;
  if (job.source == 0 || job.run_ns == 0 || job.done_ns == 0) {
    return;
  }
  const JobKey key = at->first;
  const Job done = job;
  jobs_.erase(at);
  if (done.untimed) {
    sink_.on_untimed_job(key, done);
    return;
  }
  if (last_done_.size() >= kMaxRings) {
    last_done_.clear();
  }
  uint64_t& last = last_done_[done.ring];
  // `last` is when the last of the ring's earlier jobs ended. If it is after the end of this job, this job did not
  // wait for it.
  const uint64_t start = last <= done.done_ns ? std::max(done.run_ns, last) : done.run_ns;
  last = std::max(last, done.done_ns);
  sink_.on_job(key, done, start);
}

void JobJoin::drop(const JobKey& key, const Job& job) {
  if (job.source == 0) {
    unknown_ += job.ignored ? 0 : 1;
  } else if (job.failed && job.run_ns == 0) {
    sink_.on_failed_job(job);
  } else {
    sink_.on_lost_job(key, job, job.done_ns == 0);
  }
}

void JobJoin::expire(uint64_t now_ns) {
  std::erase_if(jobs_, [&](const auto& entry) {
    const auto& [key, job] = entry;
    const uint64_t last = std::max({job.run_ns, job.done_ns, job.ignored ? job.queued_ns : 0});
    // A job that is not over may run for hours, and must be kept.
    const bool is_over = job.source == 0 || job.done_ns != 0;
    if (!is_over || now_ns < last + kMaxIncompleteNs) {
      return false;
    }
    drop(key, job);
    return true;
  });
}

void JobJoin::end_source(SourceId source) {
  std::erase_if(jobs_, [&](const auto& entry) {
    if (entry.second.source != source) {
      return false;
    }
    drop(entry.first, entry.second);
    return true;
  });
}

}  // namespace gpuprof::backend::drm

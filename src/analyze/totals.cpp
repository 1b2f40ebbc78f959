#include "analyze/totals.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <string_view>

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// Of these, the GPU work itself is in the profile. All other reasons stand for GPU records that are not.
constexpr std::array<std::string_view, 12> kOtherLosses = {
    "reentrant",       "bpf_ring_full",         "bpf_stack_lost",  "stack_unreadable",
    "stack_not_taken", "no_launch_record",      "process_refused", "range_limit",
    "late_name",       "launch_without_record", "timeline_full",   "details_lost"};

bool has_stack(const p::Work& work) {
  return index(work.ustack) != 0 || index(work.kstack) != 0;
}

uint64_t value_of(const std::map<std::string, uint64_t>& counts, const char* key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

// The sum of all LOSS counts fits, so parts of it do.
uint64_t lost_gpu_records(const ProfileInfo& info) {
  uint64_t lost = 0;
  for (const auto& [reason, count] : info.losses) {
    const bool other = std::find(kOtherLosses.begin(), kOtherLosses.end(), reason) != kOtherLosses.end();
    lost += other ? 0 : count;
  }
  return std::max({lost, value_of(info.losses, "launch_without_record"), value_of(info.coverage, "without_record")});
}

ProfileKind kind_of(const bool (&seen)[3]) {
  const int kinds = int{seen[0]} + int{seen[1]} + int{seen[2]};
  if (kinds > 1) {
    return ProfileKind::mixed;
  }
  if (seen[0]) {
    return ProfileKind::durations;
  }
  if (seen[1]) {
    return ProfileKind::launch_counts;
  }
  return seen[2] ? ProfileKind::stall_samples : ProfileKind::empty;
}

double percent(uint64_t part, uint64_t whole, uint64_t more = 0) {
  if (whole == 0 && more == 0) {
    return 100;
  }
  return std::min(100.0, 100 * static_cast<double>(part) / (static_cast<double>(whole) + static_cast<double>(more)));
}

// Where profiles of several hosts were joined, a device was there for only a part of the windows.
bool is_merged(const p::Tables& tables) {
  const auto processes = tables.processes();
  return std::any_of(processes.begin(), processes.end(), [](const p::Process& r) { return index(r.host) != 0; });
}

std::string device_name(const p::Tables& tables, p::DeviceId id) {
  const p::Device* const device = tables.device(id);
  return device == nullptr ? std::string("an unknown device") : "device " + std::to_string(device->index);
}

}  // namespace

void count_rows(Aggregate& rows) {
  ProfileInfo& info = rows.info;
  bool seen[3] = {};
  for (const Row& row : rows.rows) {
    const uint64_t count = row.weight.count;
    switch (row.kind) {
      case RowKind::gpu: {
        const p::Work& work = rows.work(row);
        info.gpu_records += count;
        info.with_stack += has_stack(work) ? count : 0;
        info.unsampled += !has_stack(work) && (work.flags & p::kWorkUnsampled) != 0 ? count : 0;
        seen[0] = true;
        if (rows.has_shares) {
          DeviceTime& time = rows.device_times[work.device];
          time.busy_ns += row.busy_ns;
          time.exclusive_ns += row.exclusive_ns;
        }
        break;
      }
      case RowKind::launch:
        info.launches += count;
        seen[1] = true;
        break;
      case RowKind::stall:
        seen[2] = true;
        break;
      case RowKind::host:
        break;
    }
  }
  info.kind = kind_of(seen);
  info.lost_gpu_records = lost_gpu_records(info);
}

double coverage_percent(const Aggregate& rows) {
  const ProfileInfo& info = rows.info;
  if (info.gpu_records > 0 || info.lost_gpu_records > 0) {
    const uint64_t unexplained = info.gpu_records - std::min(info.gpu_records, info.with_stack);
    const uint64_t explained = info.gpu_records - unexplained + std::min(unexplained, info.unsampled);
    return percent(explained, info.gpu_records, info.lost_gpu_records);
  }
  uint64_t launches[2] = {};  // all, with a stack
  uint64_t stalls[2] = {};
  for (const Row& row : rows.rows) {
    if (row.kind == RowKind::launch) {
      const p::Work& work = rows.work(row);
      launches[0] += row.weight.count;
      launches[1] += has_stack(work) || (work.flags & p::kWorkUnsampled) != 0 ? row.weight.count : 0;
    } else if (row.kind == RowKind::stall) {
      const StallKey& key = rows.stall(row);
      stalls[0] += row.weight.count;
      stalls[1] += index(key.ustack) != 0 || index(key.kstack) != 0 ? row.weight.count : 0;
    }
  }
  return launches[0] > 0 ? percent(launches[1], launches[0]) : percent(stalls[1], stalls[0]);
}

void check_conservation(Aggregate& rows) {
  ProfileInfo& info = rows.info;
  if (!info.complete || !rows.has_shares || info.skipped_bad > 0) {
    return;
  }
  std::set<p::DeviceId> with_work;
  for (const Row& row : rows.rows) {
    if (row.kind == RowKind::gpu && (row.weight.count > 0 || row.busy_ns > 0)) {
      with_work.insert(rows.work(row).device);
    }
  }
  for (const p::DeviceId device : with_work) {
    const DeviceTime& time = rows.device_times[device];
    const std::string name = device_name(rows.tables, device);
    if (time.busy_ns != time.exclusive_ns) {
      info.warnings.push_back("the SHARE records of " + name + " hold " + std::to_string(time.busy_ns) +
                              " ns of busy time, but " + std::to_string(time.exclusive_ns) + " ns of exclusive time");
    }
    if (time.busy_ns + time.idle_ns != rows.window_ns && !is_merged(rows.tables)) {
      info.warnings.push_back(name + " was busy for " + std::to_string(time.busy_ns) + " ns and idle for " +
                              std::to_string(time.idle_ns) + " ns, which does not make up the recorded " +
                              std::to_string(rows.window_ns) + " ns");
    }
  }
}

}  // namespace gpuprof::analyze

#include "output/timeline_tracks.h"

#include <algorithm>

#include "analyze/names/labels.h"
#include "output/text.h"

namespace gpuprof::output {

namespace p = gpuprof::profile;

std::string lane_name(const std::string& name, size_t lane) {
  return lane == 0 ? name : name + " (" + std::to_string(lane + 1) + ")";
}

std::string process_name(const p::Tables& tables, p::ProcessId id) {
  const p::Process* const process = tables.process(id);
  if (process == nullptr) {
    return std::string(analyze::kUnknown);
  }
  std::string name = shown_text(tables.text(process->name));
  const std::pair<const char*, p::StringId> facts[] = {{", rank ", process->rank}, {", host ", process->host}};
  for (const auto& [word, text] : facts) {
    if (index(text) != 0) {
      name.append(word).append(shown_text(tables.text(text)));
    }
  }
  return name;
}

std::map<std::pair<uint32_t, uint32_t>, std::string_view> thread_names(const p::Tables& tables) {
  std::map<std::pair<uint32_t, uint32_t>, std::string_view> names;
  for (const p::Work& work : tables.works()) {
    if (index(work.thread) != 0) {
      names.try_emplace({index(work.process), work.tid}, tables.text(work.thread));
    }
  }
  return names;
}

bool Lane::take(uint64_t start_ns, uint64_t end_ns) {
  if (start_ns < floor_ns_) {
    return false;
  }
  const auto after = taken_.lower_bound(start_ns);
  const bool overlaps_next = after != taken_.end() && (after->first < end_ns || after->first == start_ns);
  const bool overlaps_last = after != taken_.begin() && std::prev(after)->second > start_ns;
  if (overlaps_next || overlaps_last) {
    return false;
  }
  taken_.emplace_hint(after, start_ns, end_ns);
  if (taken_.size() > kRemembered) {
    floor_ns_ = std::max(taken_.begin()->second, taken_.begin()->first + 1);
    taken_.erase(taken_.begin());
  }
  return true;
}

void DepthCounter::add(uint64_t start_ns, uint64_t end_ns) {
  change(start_ns, 1);
  change(std::max(start_ns, end_ns), -1);
}

void DepthCounter::change(uint64_t time_ns, int64_t by) {
  const uint64_t since = time_ns > origin_ns_ ? time_ns - origin_ns_ : 0;
  while ((since >> shift_) >= kBins) {
    for (size_t i = 0; i < kBins / 2; ++i) {
      changes_[i] = changes_[2 * i] + changes_[2 * i + 1];
    }
    std::fill(changes_.begin() + kBins / 2, changes_.end(), 0);
    ++shift_;
  }
  changes_[since >> shift_] += by;
}

std::vector<DepthCounter::Sample> DepthCounter::samples() const {
  std::vector<Sample> samples;
  int64_t depth = 0;
  for (uint64_t bin = 0; bin < kBins; ++bin) {
    if (changes_[bin] != 0) {
      depth += changes_[bin];
      samples.push_back({origin_ns_ + ((bin + 1) << shift_) - 1, depth});
    }
  }
  return samples;
}

uint64_t TrackNumbers::process(profile::ProcessId id, uint32_t pid) {
  const auto [known, is_new] = processes_.try_emplace(index(id), pid);
  if (is_new && (pid == 0 || pid >= kFirstDevice || !used_.try_emplace(pid, true).second)) {
    known->second = kFirstSubstitute + substitutes_++;
  }
  return known->second;
}

uint64_t TrackNumbers::device(profile::DeviceId id) {
  return devices_.try_emplace(index(id), kFirstDevice + devices_.size()).first->second;
}

}  // namespace gpuprof::output

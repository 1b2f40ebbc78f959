#include "analyze/subsets/split.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/merge/merge_clock.h"
#include "analyze/paths/extrapolation.h"
#include "analyze/rows/time_window.h"
#include "base/exit_status.h"
#include "base/return_if_error.h"
#include "base/saturating_add.h"
#include "base/text/hex.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

constexpr const char* kRest = "rest";
// Number of digits in META part.of, a random id that distinguishes the subsets of two splits.
constexpr size_t kSplitIdDigits = 16;
// Limits the META and WINDOW lines, which each subset repeats. A job of thousands of ranks may have thousands of both.
constexpr size_t kMostMeta = 1000;
constexpr size_t kMostWindows = 1000;

constexpr std::string_view split_word(SplitBy by) {
  constexpr std::array<std::string_view, 4> kWords = {"process", "rank", "device", "time"};
  return kWords.at(static_cast<size_t>(by));
}

// Replaces characters that are special in file names, on any system and in any shell. Cuts long names.
std::string safe(std::string_view name) {
  constexpr size_t kLongest = 40;
  std::string text;
  for (const char c : name.substr(0, kLongest)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                       c == '_' || c == '+' || c == '-';
    text += plain ? c : '_';
  }
  return text;
}

template <typename Definition, typename Id>
std::vector<Id> ids_but(std::span<const Definition> all, const std::set<Id>& known) {
  std::vector<Id> ids;
  for (const Definition& definition : all) {
    if (!known.contains(definition.id)) {
      ids.push_back(definition.id);
    }
  }
  return ids;
}

}  // namespace

Status Split::take(const p::Record& record) {
  const auto is_row = whole_.take(record);
  RETURN_IF_ERROR(is_row);
  if (!*is_row) {
    return {};
  }
  if (by_ == SplitBy::time && !whole_.has_grid()) {
    return Error{"cannot split the profile by time: the length of its time slices (META interval_ns) is missing",
                 "profiles made by `gpuprof record` contain it"};
  }
  const RowOwner owner = owner_of(record, whole_);
  const p::SliceGrid& grid = whole_.grid();
  if (by_ == SplitBy::time && length_ns_ % (p::Uint128{grid.interval_ns} * grid.width(owner.slice.value_or(0))) != 0) {
    return Error{"--by time=" + exact_seconds(length_ns_) + " is no multiple of the profile's time slices of " +
                     slice_lengths(grid),
                 "choose a multiple, or record with a shorter --interval", kExitUsage};
  }
  const auto key = key_of(owner);
  if (const auto* coverage = std::get_if<p::Coverage>(&record); coverage != nullptr && is_scale(record) && !key) {
    uint64_t& sum = scales_[{coverage->process, std::string(coverage->what)}];
    sum = saturating_add(sum, coverage->count);
    return {};
  }
  if (const auto* weighted = std::get_if<p::Weighted>(&record); weighted != nullptr && !key) {
    uint64_t& sum = weighted_[weighted->process][weighted->slice];
    sum = saturating_add(sum, weighted->count);
    return {};
  }
  auto part = key ? part_of(*key) : rest();
  RETURN_IF_ERROR(part);
  if (const auto* gpu = std::get_if<p::Gpu>(&record); gpu != nullptr) {
    uint64_t& sum = gpu_counts_[owner.process.value_or(p::ProcessId{})][key];
    sum = saturating_add(sum, gpu->count);
  }
  return (*part)->add(record);
}

std::optional<uint64_t> Split::key_of(const RowOwner& row) const {
  switch (by_) {
    case SplitBy::process:
      return row.process ? std::optional<uint64_t>(index(*row.process)) : std::nullopt;
    case SplitBy::rank: {
      const p::Process* const process = row.process ? whole_.tables().process(*row.process) : nullptr;
      return process == nullptr || index(process->rank) == 0 ? std::nullopt
                                                             : std::optional<uint64_t>(index(process->rank));
    }
    case SplitBy::device:
      return row.device ? std::optional<uint64_t>(index(*row.device)) : std::nullopt;
    case SplitBy::time:
      break;
  }
  if (!row.slice) {
    return std::nullopt;
  }
  // The start of the slice is computed in 128 bits, because it may exceed 64 bits.
  const p::Uint128 begin = p::Uint128{*row.slice} * whole_.grid().interval_ns;
  const p::Uint128 part = begin / length_ns_;
  return part > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(part);
}

// Returns the two parts of a subset's description: a number as text, and a name. Either may be empty.
std::pair<std::string, std::string> Split::identity_of(uint64_t key) const {
  const p::Tables& tables = whole_.tables();
  const auto id = static_cast<uint32_t>(key);
  switch (by_) {
    case SplitBy::process: {
      const p::Process* const process = tables.process(p::ProcessId{id});
      return {std::to_string(process->pid), std::string(tables.text(process->name))};
    }
    case SplitBy::rank:
      return {"", std::string(tables.text(p::StringId{id}))};
    case SplitBy::device: {
      const p::Device* const device = tables.device(p::DeviceId{id});
      return {std::to_string(device->index), std::string(tables.text(device->name))};
    }
    case SplitBy::time:
      break;
  }
  return {std::to_string(key), ""};
}

std::string Split::name_of(uint64_t key) const {
  auto [number, name] = identity_of(key);
  if (by_ == SplitBy::time) {
    constexpr size_t kDigits = 6;  // leading zeros make an alphabetic sort of the names a sort by time
    number.insert(0, kDigits - std::min(kDigits, number.size()), '0');
  }
  std::string file(split_word(by_));
  for (const std::string& part : {number, safe(name)}) {
    file += part.empty() ? "" : "-" + part;
  }
  return file;
}

std::string Split::which_of(uint64_t key) const {
  if (by_ != SplitBy::time) {
    const auto [number, name] = identity_of(key);
    return std::string(split_word(by_)) + " " + (number.empty() ? "" : number + " ") + name;
  }
  const p::Uint128 begin = p::Uint128{key} * length_ns_;
  const p::Uint128 end = begin + length_ns_;
  TimeWindow window;
  window.from_ns = begin > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(begin);
  window.to_ns = end > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(end);
  return window_text(window);
}

MetaLines Split::own_meta(const std::string& which) {
  if (of_.empty()) {
    of_ = random_hex(kSplitIdDigits);
  }
  return {{std::string(kPartOf), of_},
          {std::string(kPartWhich), which + ", of a profile split by " + std::string(split_word(by_))}};
}

Result<SubsetWriter*> Split::rest() {
  if (!rest_) {
    auto sink = open_(kRest);
    RETURN_IF_ERROR(sink);
    rest_.emplace(whole_, std::move(sink).value(), SubsetMeta{.parts_nested = true});
    RETURN_IF_ERROR(rest_->begin(own_meta("what belongs to no part")));
  }
  return &*rest_;
}

Result<SubsetWriter*> Split::part_of(uint64_t key) {
  ++rows_;
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    return known->second;
  }
  if (parts_.size() == kMostParts) {
    return Error{
        "the profile has more than " + std::to_string(kMostParts) + " parts by " + std::string(split_word(by_)),
        by_ == SplitBy::time ? "choose a longer time, or select records with `gpuprof filter`"
                             : "select records with `gpuprof filter`"};
  }
  std::string name = name_of(key);
  std::string which = which_of(key);
  for (size_t i = 2; !names_.insert(name).second; ++i) {
    name = name_of(key) + "-" + std::to_string(i);
    which = which_of(key) + " (" + std::to_string(i) + ")";
  }
  auto sink = open_(name);
  RETURN_IF_ERROR(sink);
  SubsetWriter& part = parts_.emplace_back(whole_, std::move(sink).value(),
                                           SubsetMeta{.sums = false, .most = kMostMeta, .parts_nested = true});
  by_key_.emplace(key, &part);
  RETURN_IF_ERROR(part.begin(own_meta(which)));
  return &part;
}

Status Split::add_scales() {
  for (const auto& [key, count] : scales_) {
    const auto& [process, what] = key;
    std::vector<SubsetWriter*> parts;
    std::vector<uint64_t> shares;
    for (const auto& [part, work] : gpu_counts_[process]) {
      parts.push_back(part ? by_key_.at(*part) : &*rest_);
      shares.push_back(work);
    }
    if (parts.empty()) {
      auto made = rest();
      RETURN_IF_ERROR(made);
      parts.push_back(*made);
      shares.push_back(1);
    }
    const std::vector<uint64_t> counts = apportion(count, shares);
    for (size_t i = 0; i < parts.size(); ++i) {
      RETURN_IF_ERROR(counts[i] == 0 ? Status() : parts[i]->add(p::Coverage{process, what, counts[i]}));
    }
  }
  return {};
}

Status Split::add_weighted() {
  for (const auto& [process, counts] : weighted_) {
    for (const auto& [part, work] : gpu_counts_[process]) {
      for (const auto& [slice, count] : counts) {
        RETURN_IF_ERROR((part ? by_key_.at(*part) : &*rest_)->add(p::Weighted{slice, process, count}));
      }
    }
  }
  return {};
}

// Returns whether no subset has rows of a recording, and so none would have its windows.
bool Split::lacks_recordings() const {
  for (size_t i = 1; i < whole_.merged().size() && by_ != SplitBy::time; ++i) {
    if (std::none_of(parts_.begin(), parts_.end(), [i](const SubsetWriter& part) { return part.has(i); })) {
      return true;
    }
  }
  return false;
}

// Adds to "rest" all processes, devices, META lines and launches that are in no subset. Finishes all subsets.
Status Split::add_leftovers() {
  std::set<p::ProcessId> processes;
  std::set<p::DeviceId> devices;
  const auto add_all_of = [&](const SubsetWriter& part) {
    processes.insert(part.ids().processes().begin(), part.ids().processes().end());
    devices.insert(part.ids().devices().begin(), part.ids().devices().end());
  };
  std::for_each(parts_.begin(), parts_.end(), add_all_of);
  if (rest_) {
    add_all_of(*rest_);
  }
  const p::Tables& tables = whole_.tables();
  const auto more_processes = ids_but(tables.processes(), processes);
  const auto more_devices = ids_but(tables.devices(), devices);
  std::set<uint32_t> pids;
  for (const p::Process& process : tables.processes()) {
    pids.insert(process.pid);
  }
  SubsetWriter::Last last{.meta = {}, .all_recordings = true, .more_recordings = {}, .pids = {}, .launches = 0};
  for (const auto& [pid, lines] : whole_.process_meta()) {
    if (!pids.contains(pid)) {
      last.pids.insert(pid);
    }
  }
  uint64_t launches = whole_.end() ? whole_.end()->launches : 0;
  std::vector<uint64_t> of_parts;
  for (const SubsetWriter& part : parts_) {
    of_parts.push_back(std::min(part.launches(), launches));
    launches -= of_parts.back();
  }
  const MetaLines& meta = whole_.meta();
  const bool sums =
      std::any_of(meta.begin(), meta.end(), [](const auto& line) { return is_one_of(kSummedKeys, line.first); });
  if (launches > 0 || sums || lacks_recordings() || meta.size() > kMostMeta || whole_.recordings().size() > kMostMeta ||
      whole_.windows().size() > kMostWindows || !last.pids.empty() || !more_processes.empty() ||
      !more_devices.empty()) {
    auto made = rest();
    RETURN_IF_ERROR(made);
  }
  last.meta = {{std::string(kPartCount), std::to_string(parts_.size() + (rest_ ? 1 : 0))}};
  if (by_ == SplitBy::time && whole_.lacks_gpu_work()) {
    last.meta.emplace_back("part" + std::string(kLacksWork), "1");
  }
  if (rest_) {
    RETURN_IF_ERROR(rest_->add_definitions(more_processes, more_devices));
    last.launches = launches;
    RETURN_IF_ERROR(rest_->finish(last));
  }
  last.pids.clear();
  last.has_windows = whole_.windows().size() <= kMostWindows;
  last.all_recordings = by_ == SplitBy::time;
  for (size_t i = 0; i < parts_.size(); ++i) {
    last.launches = of_parts[i];
    RETURN_IF_ERROR(parts_[i].finish(last));
  }
  return {};
}

Error Split::nothing() const {
  constexpr std::array<const char*, 4> kWhat = {"process", "process with a rank", "device", "time slice"};
  return {std::string("there is nothing to split: no record of the profile belongs to a ") +
              kWhat.at(static_cast<size_t>(by_)),
          "`gpuprof report` shows what the profile contains", kExitNothing};
}

Status Split::finish() {
  if (rows_ == 0) {
    return nothing();
  }
  RETURN_IF_ERROR(add_scales());
  RETURN_IF_ERROR(add_weighted());
  return add_leftovers();
}

}  // namespace gpuprof::analyze

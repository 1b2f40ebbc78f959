#include "analyze/rows/dimensions.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analyze/names/labels.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// Maximum bytes of a path of NVTX ranges, which may be nested a thousand deep and have long names. A profile of 100 MB
// may have a million such paths.
constexpr size_t kLongestRangePath = 512;

constexpr std::array<std::pair<std::string_view, Dimension>, 9> kDimensionWords = {{{"pid", Dimension::pid},
                                                                                    {"tid", Dimension::tid},
                                                                                    {"thread", Dimension::thread},
                                                                                    {"device", Dimension::device},
                                                                                    {"stream", Dimension::stream},
                                                                                    {"rank", Dimension::rank},
                                                                                    {"host", Dimension::host},
                                                                                    {"command", Dimension::command},
                                                                                    {"range", Dimension::range}}};

std::string_view word(Dimension dimension) {
  const auto* found = std::find_if(kDimensionWords.begin(), kDimensionWords.end(),
                                   [&](const auto& w) { return w.second == dimension; });
  return found == kDimensionWords.end() ? std::string_view() : found->first;
}

// Returns the work's value in the dimension, such as the "3" of "rank 3". Returns an empty text if it is unknown.
std::string value_text(const p::Tables& tables, Dimension dimension, const p::Work& work, std::string_view host) {
  const p::Process* process = tables.process(work.process);
  const auto of_process = [&](p::StringId p::Process::*field) {
    return process == nullptr ? std::string() : std::string(tables.text(process->*field));
  };
  switch (dimension) {
    case Dimension::pid:
      return process == nullptr || process->pid == 0 ? std::string() : std::to_string(process->pid);
    case Dimension::tid:
      return work.tid == 0 ? std::string() : std::to_string(work.tid);
    case Dimension::thread:
      return std::string(tables.text(work.thread));
    case Dimension::stream:
      return index(work.device) == 0 ? std::string() : std::to_string(work.stream);
    case Dimension::rank:
      return of_process(&p::Process::rank);
    case Dimension::host: {
      std::string own = of_process(&p::Process::host);
      return own.empty() ? std::string(host) : own;
    }
    case Dimension::command:
      return of_process(&p::Process::command);
    case Dimension::range:
      return range_path(tables, work.range);
    case Dimension::device:
      break;
  }
  return {};
}

}  // namespace

std::optional<Dimension> dimension_of(std::string_view text) {
  const auto* found =
      std::find_if(kDimensionWords.begin(), kDimensionWords.end(), [&](const auto& w) { return w.first == text; });
  return found == kDimensionWords.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> dimension_list() {
  std::vector<std::string> words(kDimensionWords.size());
  std::transform(kDimensionWords.begin(), kDimensionWords.end(), words.begin(),
                 [](const auto& word) { return std::string(word.first); });
  return words;
}

std::string dimension_words(std::string_view before_last) {
  std::string words;
  for (const auto& [word, dimension] : kDimensionWords) {
    words.append(dimension == kDimensionWords.front().second  ? ""
                 : dimension == kDimensionWords.back().second ? " " + std::string(before_last) + " "
                                                              : ", ");
    words.append(word);
  }
  return words;
}

std::string range_path(const p::Tables& tables, p::RangeId id) {
  std::vector<std::string> labels;  // innermost first
  size_t size = 0;
  for (const p::Range* range = tables.range(id); range != nullptr; range = tables.range(range->parent)) {
    size += labels.empty() ? 0 : 1;
    size += labels.emplace_back(range_label(tables, *range)).size();
    if (size > kLongestRangePath) {
      break;
    }
  }
  std::string path;
  path.reserve(size);
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    path.append(label == labels.rbegin() ? "" : "/").append(*label);
  }
  return size > kLongestRangePath ? "..." + path.substr(path.size() - kLongestRangePath) : path;
}

std::string device_label(const p::Tables& tables, p::DeviceId id) {
  const p::Device* device = tables.device(id);
  if (device == nullptr) {
    return "[no device]";
  }
  const std::string_view name = tables.text(device->name);
  std::string label = "device " + std::to_string(device->index);
  if (!name.empty()) {
    label.append(" ").append(name);
  }
  const std::string_view uuid = tables.text(device->uuid);
  // Compares the label with only so many devices, because a profile may have millions.
  constexpr size_t kMostCompared = 1024;
  const auto devices = tables.devices().first(std::min(tables.devices().size(), kMostCompared));
  const bool ambiguous = std::any_of(devices.begin(), devices.end(), [&](const p::Device& other) {
    return other.index == device->index && other.uuid != device->uuid && tables.text(other.name) == name;
  });
  return ambiguous && !uuid.empty() ? label.append(" ").append(uuid) : label;
}

std::string dimension_label(const p::Tables& tables, Dimension dimension, const p::Work& work, p::DeviceId device,
                            std::string_view host) {
  if (dimension == Dimension::device) {
    return device_label(tables, device);
  }
  const std::string value = value_text(tables, dimension, work, host);
  const std::string name(word(dimension));
  return value.empty() ? "[no " + name + "]" : name + " " + value;
}

std::string_view host_of(const ProfileInfo& info) {
  const auto [begin, end] = info.meta.equal_range("host");
  return begin != end && std::next(begin) == end ? std::string_view(begin->second) : std::string_view();
}

}  // namespace gpuprof::analyze

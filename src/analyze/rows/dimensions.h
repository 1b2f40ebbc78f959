// The dimensions by which `flame --by` can group work, besides call stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

enum class Dimension : uint8_t { pid, tid, thread, device, stream, rank, host, command, range };

std::optional<Dimension> dimension_of(std::string_view word);

std::vector<std::string> dimension_list();

// Lists all dimensions: "pid, tid, ... and range", with "and" as `before_last`.
std::string dimension_words(std::string_view before_last);

// Returns "device 0 NVIDIA H200". Adds the uuid if another device has the same name and index. "[no device]" for id 0.
std::string device_label(const profile::Tables& tables, profile::DeviceId id);

// Returns "epoch/step", outermost first. Cuts the beginning of a long path.
std::string range_path(const profile::Tables& tables, profile::RangeId id);

// Returns a label: "rank 3", "[no rank]". `device` ran the work or was idle. `host` is for processes without a host.
std::string dimension_label(const profile::Tables& tables, Dimension dimension, const profile::Work& work,
                            profile::DeviceId device, std::string_view host);

// Returns META host if there is exactly one, otherwise an empty text.
std::string_view host_of(const ProfileInfo& info);

}  // namespace gpuprof::analyze

// What work can be told apart by, besides its stack: the frames that `flame --by` puts at the root.
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

// "pid", "tid" ...; nothing for any other word.
std::optional<Dimension> dimension_of(std::string_view word);

std::vector<std::string> dimension_list();

// All of them: "pid, tid, ... and range" with "and" before the last.
std::string dimension_words(std::string_view before_last);

// "device 0 NVIDIA H200"; with its uuid where the profile has another one of that name. "[no device]" for 0.
std::string device_label(const profile::Tables& tables, profile::DeviceId id);

// "epoch/step", outermost first; of a long path its end.
std::string range_path(const profile::Tables& tables, profile::RangeId id);

// "rank 3", "stream 7" ..., or "[no rank]" where that is not known. `device` is that of the work, or of the idle time.
// `host` is that of the whole profile, for processes that name none.
std::string dimension_label(const profile::Tables& tables, Dimension dimension, const profile::Work& work,
                            profile::DeviceId device, std::string_view host);

// META host, where there is exactly one.
std::string_view host_of(const ProfileInfo& info);

}  // namespace gpuprof::analyze

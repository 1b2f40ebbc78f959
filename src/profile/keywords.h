// Converts enumerators to words in profile lines, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/records.h"

namespace gpuprof::profile {

std::string_view word(FrameKind kind);
std::string_view word(Op op);
std::string_view word(Phase phase);
std::optional<FrameKind> frame_kind_of(std::string_view text);
std::optional<Op> op_of(std::string_view text);
std::optional<Phase> phase_of(std::string_view text);

}  // namespace gpuprof::profile

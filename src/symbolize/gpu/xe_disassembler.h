// Disassembles code of Intel GPUs with Intel's assembler library (libiga64, part of the graphics compiler IGC).
// Optional: does nothing if libiga64 is not installed. Only a separate process, `gpuprof disassemble-xe`, loads it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/gpu/code_reader_process.h"
#include "symbolize/gpu/disassembler.h"
#include "symbolize/gpu/zebin.h"

namespace gpuprof::symbolize {

// The hidden command of gpuprof that calls disassemble_xe(). Its argument is the name of a platform.
inline constexpr std::string_view kDisassembleXe = "disassemble-xe";

// Returns the path of the library, or an empty string if it is not installed.
std::string find_xe_assembler();

// Runs in the separate process. Loads the library, calls `confine`, and prints "OFFSET<tab>TEXT" for each instruction
// in the file `code`. Returns false if `confine` does, or if the library is missing or does not support the platform.
bool disassemble_xe(GpuPlatform platform, const std::function<bool()>& confine, int code, int output);

std::vector<GpuInstruction> parse_xe_disassembly(std::string_view text);

// Returns the instructions of a kernel. Returns only the first ones, or none, if the library is missing or fails.
std::vector<GpuInstruction> xe_instructions(std::span<const std::byte> kernel, GpuPlatform platform,
                                            const ReaderLimits& limits);

// Returns the platform with this platform_name(), or with this number.
GpuPlatform platform_of(std::string_view name);
GpuPlatform platform_of(uint64_t number);

}  // namespace gpuprof::symbolize

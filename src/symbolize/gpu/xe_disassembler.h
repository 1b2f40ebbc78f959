// Instructions of Intel's GPUs as text, where Intel's assembler library (libiga64, of the graphics compiler IGC) is on
// the machine. Nothing needs them. The library is loaded into a process of its own: gpuprof again, by a command of its
// own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/gpu/code_reader_process.h"
#include "symbolize/gpu/disassembler.h"
#include "symbolize/gpu/zebin.h"

namespace gpuprof::symbolize {

// gpuprof's command that becomes disassemble_xe(), with the name of a platform behind it.
inline constexpr std::string_view kDisassembleXe = "disassemble-xe";

// The file of the library that would be loaded; empty: there is none.
std::string find_xe_assembler();

// In a process of its own: loads the library and prints "OFFSET<tab>TEXT" of each instruction in the file `code`.
// False: there is no library, or it does not know the platform.
bool disassemble_xe(GpuPlatform platform, int code, int output);

// Out of what that prints.
std::vector<GpuInstruction> parse_xe_disassembly(std::string_view text);

// The instructions of a kernel; none, or the first ones, where the library is not there, or fails.
std::vector<GpuInstruction> xe_instructions(std::span<const std::byte> kernel, GpuPlatform platform,
                                            const CodeOwner& owner, const ReaderLimits& limits);

// Of a name, as platform_name() has it.
GpuPlatform platform_of(std::string_view name);

}  // namespace gpuprof::symbolize

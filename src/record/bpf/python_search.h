// The Python interpreter in a process that has no library of ours: found by the symbols of its file, and asked for its
// version and its structures through the process's memory. Both are read as hostile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "symbolize/process_maps.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {

struct FoundPython {
  gpuprof_python_layout layout{};
  gpuprof_python_threads threads{};
};

// The mapping of its code: of a file named as an interpreter is ("python3.11", "libpython3.12.so.1.0"). Null: there is
// none.
const symbolize::Mapping* find_interpreter(const symbolize::ProcessMaps& maps);

// None: it is of no version that is followed, has not begun yet, or is not as its version should be.
std::optional<FoundPython> ask_interpreter(const symbolize::ProcessMaps& maps, const symbolize::Mapping& interpreter);

// "python3.9", "libpython3.10.so.1.0": as PY_VERSION_HEX of 3.9.0 and 3.10.0. 0: it says no version.
uint32_t version_of_name(std::string_view file);

// Where the pointer to the first thread state is in the interpreter at `interpreter`, by the thread states themselves,
// which point back to it at `back`; 0: not there. `read`: 8 bytes at an address of the process; none: not readable.
using ReadWord = std::function<std::optional<uint64_t>(uint64_t address)>;
uint32_t find_first_thread(uint64_t interpreter, uint16_t back, const ReadWord& read);

}  // namespace gpuprof::record

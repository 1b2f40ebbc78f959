// Finds the Python interpreter of a process without an injection library, by the symbols of the interpreter's file.
// Reads the version and the layout of structures from the process's memory. Validates the file and the memory, because
// neither is trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "reader/process.h"
#include "symbolize/process_maps.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {

struct FoundPython {
  gpuprof_python_layout layout{};
  gpuprof_python_threads threads{};
};

// Returns the code mapping of a file with an interpreter's name ("python3.11", "libpython3.12.so.1.0"), or null.
const symbolize::Mapping* find_interpreter(const symbolize::ProcessMaps& maps);

// Returns nullopt if Python is not initialized yet, if its version is unsupported, or if its structures do not match
// the version.
std::optional<FoundPython> read_interpreter(reader::Process& reader, const symbolize::ProcessMaps& maps,
                                            const symbolize::Mapping& interpreter);

// Returns the version in a file name ("python3.9", "libpython3.10.so.1.0") as major << 24 | minor << 16; 0: not found.
uint32_t version_of_name(std::string_view file);

// Returns the offset of the pointer to the first thread state within the interpreter's state; 0: not found. At offset
// `back`, a thread state holds a pointer to the interpreter's state. `read` returns 8 bytes of the process, or nullopt.
using ReadWord = std::function<std::optional<uint64_t>(uint64_t address)>;
uint32_t find_first_thread(uint64_t interpreter, uint16_t back, const ReadWord& read);

}  // namespace gpuprof::record

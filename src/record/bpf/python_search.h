// Finds the Python interpreter of a process without injection library, by the symbols of its file. Reads its version
// and structures from the process's memory. File and memory are untrusted, and validated.
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

// Returns the code mapping of a file named like an interpreter ("python3.11", "libpython3.12.so.1.0"), or null.
const symbolize::Mapping* find_interpreter(const symbolize::ProcessMaps& maps);

// Returns nullopt if Python is not initialized yet, or its version is unsupported or does not match its structures.
std::optional<FoundPython> read_interpreter(const symbolize::ProcessMaps& maps, const symbolize::Mapping& interpreter);

// Returns the version in a file name ("python3.9", "libpython3.10.so.1.0") as major << 24 | minor << 16; 0 if missing.
uint32_t version_of_name(std::string_view file);

// Returns the offset of the pointer to the first thread state within the interpreter state; 0 if not found. Thread
// states hold a pointer to the interpreter at offset `back`. `read` returns 8 bytes of the process, or nullopt.
using ReadWord = std::function<std::optional<uint64_t>(uint64_t address)>;
uint32_t find_first_thread(uint64_t interpreter, uint16_t back, const ReadWord& read);

}  // namespace gpuprof::record

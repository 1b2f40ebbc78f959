#include "record/process/code/source_modules.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "wire/stack.h"

namespace gpuprof::record {

using symbolize::MappedFile;
using symbolize::Mapping;
using symbolize::ProcessMaps;

void SourceModules::add(const backend::Module& module) {
  const auto [entry, made] = entries_.try_emplace(module.module);
  if (made) {
    entry->second = {.start = module.start,
                     .end = module.end,
                     .offset = module.offset,
                     .marks = {module.marks.begin(), module.marks.end()},
                     .path = std::string(module.path),
                     .file = nullptr,
                     .mapping = nullptr};
  }
}

// Returns whether the file contains `marks`, which are bytes from the process's memory. Returns false if there are no
// marks.
bool SourceModules::is_of(Entry& entry, const std::shared_ptr<MappedFile>& file) {
  if (file == nullptr || !file->fd || entry.marks.empty()) {
    return false;
  }
  if (file == entry.file) {
    return true;
  }
  if (!file->is_unchanged()) {
    return false;
  }
  const bool equal = std::all_of(entry.marks.begin(), entry.marks.end(), [&](const backend::Module::Mark& mark) {
    std::array<std::byte, 16> bytes{};
    return ::pread(file->fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(mark.offset)) ==
               static_cast<ssize_t>(bytes.size()) &&
           bytes == mark.bytes;
  });
  if (equal) {
    entry.file = file;
  }
  return equal;
}

bool SourceModules::agrees(Entry& entry, const ProcessMaps& maps, std::span<const uint64_t> words) {
  return std::all_of(words.begin(), words.end(), [&](uint64_t word) {
    const uint64_t address = word & GPUPROF_WORD_ADDRESS;
    if ((word & GPUPROF_WORD_PYTHON) != 0 || address < entry.start || address >= entry.end) {
      return true;
    }
    const Mapping* mapping = maps.find(address);
    return mapping != nullptr && mapping->start - mapping->offset == entry.start - entry.offset &&
           is_of(entry, mapping->file);
  });
}

std::shared_ptr<const Mapping> SourceModules::mapping_of(Entry& entry, const ProcessMaps& maps) {
  bool denied = false;
  if (entry.mapping == nullptr && entry.file == nullptr) {
    const std::shared_ptr<MappedFile> file = maps.open_file(entry.path);
    denied = file == nullptr && errno == EACCES;
    is_of(entry, file);
  }
  if (entry.mapping == nullptr || (entry.file != nullptr && entry.mapping->file != entry.file)) {
    auto made = std::make_shared<Mapping>();
    made->start = entry.start;
    made->end = entry.end;
    made->offset = entry.offset;
    made->name = entry.path;
    made->file = entry.file;
    if (made->file == nullptr) {
      made->file = std::make_shared<MappedFile>();
      made->file->path = entry.path;
      made->file->denied = denied;
    }
    entry.mapping = std::move(made);
  }
  return entry.mapping;
}

bool SourceModules::agree(const ProcessMaps& maps, std::span<const uint64_t> words, std::span<const uint32_t> modules) {
  return std::all_of(modules.begin(), modules.end(), [&](uint32_t module) {
    const auto found = entries_.find(module);
    return found == entries_.end() || agrees(found->second, maps, words);
  });
}

MappingsOver SourceModules::over(const ProcessMaps& maps, std::span<const uint64_t> words,
                                 std::span<const uint32_t> modules) {
  MappingsOver mappings;
  for (const uint32_t module : modules) {
    const auto found = entries_.find(module);
    if (found != entries_.end() && !agrees(found->second, maps, words)) {
      mappings.push_back(mapping_of(found->second, maps));
    }
  }
  return mappings;
}

}  // namespace gpuprof::record

// Tracks the loaded files that a source's stacks refer to. A process can replace libraries faster than the recorder
// reads its mappings. The recorder must symbolize each stack with the file that was loaded when the stack was taken.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "symbolize/process_maps.h"

namespace gpuprof::record {

using MappingsOver = std::vector<std::shared_ptr<const symbolize::Mapping>>;

class SourceModules {
 public:
  void add(const backend::Module& module);  // if the id is known, the first module stays

  // Returns mappings of those `modules` that `maps` lacks: a native address in `words` lies in the module, but `maps`
  // has another file or no file at that address. Opens the modules' files by path. `fd` is invalid if the path names
  // another file now.
  MappingsOver over(const symbolize::ProcessMaps& maps, std::span<const uint64_t> words,
                    std::span<const uint32_t> modules);

  // Returns whether over() would be empty, but takes less time.
  bool agree(const symbolize::ProcessMaps& maps, std::span<const uint64_t> words, std::span<const uint32_t> modules);

 private:
  struct Entry {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    std::vector<backend::Module::Mark> marks;
    std::string path;
    std::shared_ptr<symbolize::MappedFile> file;  // null until the file is identified
    std::shared_ptr<const symbolize::Mapping> mapping;
  };
  bool agrees(Entry& entry, const symbolize::ProcessMaps& maps, std::span<const uint64_t> words);
  static bool is_of(Entry& entry, const std::shared_ptr<symbolize::MappedFile>& file);
  static std::shared_ptr<const symbolize::Mapping> mapping_of(Entry& entry, const symbolize::ProcessMaps& maps);

  std::unordered_map<uint32_t, Entry> entries_;  // at most GPUPROF_MAX_MODULES
};

}  // namespace gpuprof::record

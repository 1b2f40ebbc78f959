// The loaded files that a source says its stacks go through. Libraries may take each other's place faster than their
// process's mappings can be read: what a stack was taken in counts, not what lies there now.
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
  void add(const backend::Module& module);  // the first one of a number counts

  // The mappings of `modules` that hold some native address of `words` where `maps` has another file, or none. Their
  // files are looked for by path, and are without a descriptor where that leads to another file by now.
  MappingsOver over(const symbolize::ProcessMaps& maps, std::span<const uint64_t> words,
                    std::span<const uint32_t> modules);

  // Whether there are any such: costs less.
  bool agree(const symbolize::ProcessMaps& maps, std::span<const uint64_t> words, std::span<const uint32_t> modules);

 private:
  struct Entry {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    std::vector<backend::Module::Mark> marks;
    std::string path;
    std::shared_ptr<symbolize::MappedFile> file;  // once it is known which one it is
    std::shared_ptr<const symbolize::Mapping> mapping;
  };
  bool agrees(Entry& entry, const symbolize::ProcessMaps& maps, std::span<const uint64_t> words);
  static bool is_of(Entry& entry, const std::shared_ptr<symbolize::MappedFile>& file);
  static std::shared_ptr<const symbolize::Mapping> mapping_of(Entry& entry, const symbolize::ProcessMaps& maps);

  std::unordered_map<uint32_t, Entry> entries_;  // at most GPUPROF_MAX_MODULES
};

}  // namespace gpuprof::record

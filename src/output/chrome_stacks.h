// The stacks of a Chrome trace, by reference: a tree of frames of which each event names the one that its stack ends
// in. Internal to chrome_trace.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/work_paths.h"

namespace gpuprof::output {

class ChromeStacks {
 public:
  explicit ChromeStacks(analyze::WorkPaths& paths) : paths_(paths) {}

  // The number of the innermost frame; 0 for none.
  uint32_t of(const analyze::LaunchSite& site);
  uint32_t child(uint32_t parent, std::string_view text) {
    return add(parent, paths_.view().text(text, analyze::FrameClass::gpu));
  }

  // All of them as a JSON object, handed on piece by piece: `put` may empty the string.
  template <typename Put>
  void write(std::string& out, Put put) const {
    out += '{';
    for (uint32_t id = 1; id <= nodes_.size(); ++id) {
      out += id == 1 ? "\n" : ",\n";
      write_node(id, out);
      put();
    }
    out += '}';
  }

 private:
  struct Node {
    uint32_t parent = 0;
    uint32_t label = 0;  // a frame of the view
  };
#ifdef GPUPROF_FUZZING
  static constexpr size_t kMostNodes = 4096;
#else
  static constexpr size_t kMostNodes = 4'000'000;  // further frames are left out: a file may combine any two stacks
#endif

  uint32_t add(uint32_t parent, uint32_t label);
  uint32_t descend(uint32_t parent, analyze::WorkPaths::Part part);
  void write_node(uint32_t id, std::string& out) const;

  analyze::WorkPaths& paths_;
  std::vector<Node> nodes_;                      // the number 1 is the first one
  std::unordered_map<uint64_t, uint32_t> ids_;   // by parent and label
  std::unordered_map<uint64_t, uint32_t> ends_;  // by parent and part of a path
};

}  // namespace gpuprof::output

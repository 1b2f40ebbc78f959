// The stacks of a Chrome trace, by reference: a tree of frames of which each event names the one that its stack ends
// in. Internal to chrome_trace.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/stack_view.h"
#include "base/result.h"
#include "profile/tables.h"

namespace gpuprof::output {

class ChromeStacks {
 public:
  explicit ChromeStacks(analyze::StackView& view) : view_(view) {}

  // The number of the innermost frame, or of `parent` where there is nothing to add; 0 for none.
  uint32_t of_work(const profile::Work& work);
  uint32_t of_stack(profile::StackId ustack) { return stack(0, false, ustack); }
  uint32_t child(uint32_t parent, std::string_view text);

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
    uint32_t label = 0;  // a frame of view_, or a text, with kText
  };
#ifdef GPUPROF_FUZZING
  static constexpr size_t kMostNodes = 4096;
#else
  static constexpr size_t kMostNodes = 4'000'000;  // further frames are left out: a file may combine any two stacks
#endif
  static constexpr uint32_t kText = uint32_t{1} << 31U;

  uint32_t add(uint32_t parent, uint32_t label);
  uint32_t stack(uint32_t parent, bool kernel, profile::StackId id);
  void write_node(uint32_t id, std::string& out) const;

  analyze::StackView& view_;
  std::vector<Node> nodes_;                           // the number 1 is the first one
  std::unordered_map<uint64_t, uint32_t> ids_;        // by parent and label
  std::unordered_map<uint64_t, uint32_t> stacks_[2];  // by parent and STACK; of kernel stacks or not
  std::unordered_map<std::string, uint32_t> texts_;
  std::vector<const std::string*> text_order_;  // of texts_, whose keys stay where they are
};

}  // namespace gpuprof::output

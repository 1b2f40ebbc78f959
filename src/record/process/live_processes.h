// The process images that live: what they have mapped, as it changes, and what the stack engine is to be told of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "record/batch.h"
#include "record/memory_budget.h"
#include "record/process/code/code_table.h"
#include "record/process/process_news.h"
#include "record/process/process_table.h"

namespace gpuprof::record {

// A process image from its first source (or first stack) to the end of its last one.
struct LiveImage {
  std::shared_ptr<const ProcessImage> process;
  std::shared_ptr<const symbolize::ProcessMaps> maps;  // as of its first connection
  CodeIds codes;                                       // by the stack engine's numbers
  uint64_t eval_begin = 0;                             // of the Python interpreter
  unsigned sources = 0;

  [[nodiscard]] profile::ProcessId id() const { return process->id; }
  [[nodiscard]] uint32_t pid() const { return process->pid; }
};

class LiveProcesses {
 public:
  using Entry = ProcessTable::Entry;

  explicit LiveProcesses(const MemoryBudget* memory) : table_(memory) {}

  void on_process(uint32_t pid, const std::shared_ptr<ProcessGuard>& guard) { table_.on_process(pid, guard); }
  // A source of `backend` has connected from it.
  LiveImage& on_source(uint32_t pid, std::string_view backend);
  // The image runs this Python interpreter.
  void on_python(LiveImage& image, const gpuprof_python_layout& layout);
  // It says that its mappings have changed.
  void on_mappings(const LiveImage& image);
  // The stack engine has seen it load or unload libraries: they are read again at the end of the turn.
  void on_loader(uint32_t pid);

  [[nodiscard]] bool knows(uint32_t pid) const { return table_.knows(pid); }
  // The process that has this pid now, made if need be (record -p).
  Entry& by_pid(uint32_t pid);
  LiveImage& image_of(const Entry& process);

  // As of ProcessTable.
  bool know_mappings(Entry& process, std::span<const uint64_t> addresses);
  bool read_again(Entry& process);

  // After each turn of the drain.
  void settle();
  // One of its sources has ended. True: it was the last one, and the image is gone.
  bool end_source(LiveImage& image);
  void forget(uint32_t pid);  // no source of it is left

  std::vector<std::shared_ptr<const ProcessImage>> take_new() { return std::exchange(new_, {}); }
  // In this order.
  std::vector<ProcessNews> take_news() { return std::exchange(news_, {}); }

 private:
  [[nodiscard]] bool is_current(const LiveImage& image);
  void tell_mapped(const Entry& process);
  void tell_ended(uint32_t pid);

  ProcessTable table_;
  std::unordered_map<profile::ProcessId, LiveImage> images_;
  std::unordered_set<uint32_t> reloaders_;  // processes whose mappings must be read again
  std::vector<std::shared_ptr<const ProcessImage>> new_;
  std::vector<ProcessNews> news_;
};

}  // namespace gpuprof::record

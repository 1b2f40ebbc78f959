// Tracks live process images and their mappings, and collects events for the stack engine.
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
#include "record/process/process_event.h"
#include "record/process/process_table.h"

namespace gpuprof::record {

// A process image. It lives from its first source (or first stack) to the end of its last source.
struct LiveImage {
  std::shared_ptr<const ProcessImage> process;
  std::shared_ptr<const symbolize::ProcessMaps> maps;  // the process's mappings when its first source connected
  CodeIds codes;                                       // code objects by the stack engine's ids
  uint64_t eval_begin = 0;                             // start of Python's evaluation function; 0: unknown
  unsigned sources = 0;

  [[nodiscard]] profile::ProcessId id() const { return process->id; }
  [[nodiscard]] uint32_t pid() const { return process->pid; }
};

class LiveProcesses {
 public:
  using Entry = ProcessTable::Entry;

  explicit LiveProcesses(const MemoryBudget* memory) : table_(memory) {}

  void on_process(uint32_t pid, const std::shared_ptr<ProcessGuard>& guard) { table_.on_process(pid, guard); }
  LiveImage& on_source(uint32_t pid, std::string_view backend);
  void on_python(LiveImage& image, const gpuprof_python_layout& layout);
  // Call it when the process has reported a change of its mappings. Reads the mappings again.
  void on_mappings(const LiveImage& image);
  // Call it when the stack engine has seen the process load or unload libraries. reread_mappings() then reads its
  // mappings.
  void on_loader(uint32_t pid);

  [[nodiscard]] bool knows(uint32_t pid) const { return table_.knows(pid); }
  // Returns the entry of the live process with this pid. Creates the entry if it is missing (record -p).
  Entry& by_pid(uint32_t pid);
  LiveImage& image_of(const Entry& process);

  // See the functions of ProcessTable.
  bool know_mappings(Entry& process, std::span<const uint64_t> addresses);
  bool read_again(Entry& process);

  void reread_mappings();
  // Ends one source of the image. Returns true if it was the last one; the image is then removed.
  bool end_source(LiveImage& image);
  void forget(uint32_t pid);  // call it when the last source of the pid has ended

  std::vector<std::shared_ptr<const ProcessImage>> take_new() { return std::exchange(new_, {}); }
  std::vector<ProcessEvent> take_process_events() { return std::exchange(process_events_, {}); }

 private:
  [[nodiscard]] bool is_current(const LiveImage& image);
  void emit_mapped(const Entry& process);
  void emit_ended(uint32_t pid);

  ProcessTable table_;
  std::unordered_map<profile::ProcessId, LiveImage> images_;
  std::unordered_set<uint32_t> reloaders_;
  std::vector<std::shared_ptr<const ProcessImage>> new_;
  std::vector<ProcessEvent> process_events_;
};

}  // namespace gpuprof::record

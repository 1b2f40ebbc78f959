// Gives BPF programs that walk stacks by tables (bpf/stack_walk.h) the data that they need about each process: unwind
// tables and mappings. Also attaches a probe to the process's dynamic loader.
#pragma once

#include <bpf/libbpf.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "libbpf/objects.h"
#include "reader/process.h"
#include "record/bpf/bpf_tables.h"
#include "record/bpf/process_listener.h"

namespace gpuprof::record {

class BpfProcesses final : public ProcessListener {
 public:
  // `object`: a loaded object with the maps of bpf/mappings.h and the program of bpf/loader.h. It must outlive this
  // BpfProcesses. `finds_python`: whether to search each process for Python, because no injection library reports
  // Python's layout.
  BpfProcesses(bpf_object* object, bool finds_python);

  void on_process(const symbolize::ProcessMaps& maps) override;
  void on_python(uint32_t pid, const gpuprof_python_layout& layout) override { tables_.on_python(pid, layout); }
  void on_process_end(uint32_t pid) override;
  void expect_process(uint32_t pid, bool anew) override { tables_.expect_process(pid, anew); }
  void end_soon() override { ending_ = true; }

  // Returns the pids whose mappings must be read again, and removes them from the list. Thread-safe.
  std::vector<uint32_t> take_outdated();

 private:
  struct Loader {
    uint64_t device = 0;
    uint64_t inode = 0;
    BpfLink link;
  };
  void watch_loader(const symbolize::ProcessMaps& maps);
  void find_python(const symbolize::ProcessMaps& maps);

  [[nodiscard]] reader::Process::Options reader_options() const;
  [[nodiscard]] bool goes_on() const;

  std::atomic<bool> ending_ = false;
  std::atomic<bool> in_main_thread_ = false;  // on_process() runs there
  BpfTables tables_;
  reader::ProcessPair readers_;  // a false answer about the system's loader would place a probe in other processes
  bpf_program* loader_;
  bool finds_python_;
  std::unordered_map<uint32_t, Loader> loaders_;
  std::mutex mutex_;
  std::vector<uint32_t> outdated_;
};

// Attaches a uprobe to one process, or to all processes if `pid` is -1.
Result<BpfLink> attach_uprobe(bpf_program* program, const std::string& path, uint64_t offset, pid_t pid,
                              uint64_t cookie);

}  // namespace gpuprof::record

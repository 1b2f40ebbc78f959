// Gives BPF walks their data: unwind tables, mappings, and Python's layout. Only expect_process() is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolize/process_maps.h"
#include "unwind/cache/table_cache.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {

// The BPF object owns these file descriptors of BPF maps.
struct BpfTableMaps {
  int processes = -1;
  int mappings = -1;
  int pools = -1;
  int unloads = -1;
  int rule_cache = -1;
  uint32_t cached_rules = 0;
};

class BpfTables {
 public:
  // `maker` reads the files. If `goes_on` returns false, further files get no tables.
  BpfTables(const BpfTableMaps& maps, const std::string& cache_directory, std::unique_ptr<unwind::TableMaker> maker,
            std::function<bool()> goes_on);
  // Builds missing tables on several threads. This takes seconds for the largest files.
  void on_process(const symbolize::ProcessMaps& maps);
  void on_python(uint32_t pid, const gpuprof_python_layout& layout, const gpuprof_python_threads& threads = {});
  // Registers a process so that the BPF programs walk its stacks even before on_process(). `anew`: discards data about
  // an earlier process with this pid. Thread-safe.
  void expect_process(uint32_t pid, bool anew) const;
  void on_process_end(uint32_t pid);

 private:
  using FilePointer = std::shared_ptr<symbolize::MappedFile>;
  using TablePointer = std::shared_ptr<const unwind::Table>;

  struct Process {
    uint32_t number = 0;
    uint32_t image = 0;
    uint32_t generation = 0;
    uint64_t read_ns = 0;  // when the mappings were read (monotonic)
    gpuprof_python_layout python{};
    gpuprof_python_threads python_threads{};
    std::vector<symbolize::Mapping> mappings;
    std::vector<gpuprof_bpf_mapping> entries;
    TablePointer vdso;
  };
  struct Uploaded {
    TablePointer table;
    uint32_t pool = 0;
    uint32_t words_at = 0;
  };
  // An inner map of `pools`, with tables that were needed at the same time. Adding an inner map takes milliseconds (an
  // RCU grace period). Python programs map hundreds of files, so several files must share an inner map.
  struct Pool {
    std::vector<const unwind::Table*> tables;  // empty: the pool can be reused
    uint32_t users = 0;
    uint64_t bytes = 0;
  };

  struct Built {
    FilePointer file;
    TablePointer table;  // null: the file has no usable table
    uint32_t users = 0;
  };

  Process& process_of(uint32_t pid);
  void build(const std::vector<symbolize::Mapping>& mappings);
  void set_mappings(uint32_t pid, Process& process);
  [[nodiscard]] TablePointer table_of(const Process& process, const symbolize::Mapping& mapping) const;
  [[nodiscard]] std::vector<gpuprof_bpf_mapping> entries_of(const Process& process) const;
  void upload_missing(const Process& process);
  [[nodiscard]] bool upload(uint32_t pool, const std::vector<TablePointer>& tables, size_t words) const;
  void use_files(const std::vector<symbolize::Mapping>& mappings);
  void leave_files(const std::vector<symbolize::Mapping>& mappings);
  void count_users(const std::vector<gpuprof_bpf_mapping>& entries, int change);
  void remove_unused();
  [[nodiscard]] bool write_mappings(uint32_t pid, const Process& process,
                                    const std::vector<gpuprof_bpf_mapping>& entries) const;
  void write_process(uint32_t pid, const Process& process) const;
  uint32_t next_number();
  TablePointer vdso_table(const std::vector<uint8_t>& image);

  BpfTableMaps maps_;
  unwind::TableCache cache_;
  std::function<bool()> goes_on_;
  std::mutex mutex_;  // protects built_ during build()
  std::unordered_map<const symbolize::MappedFile*, Built> built_;
  std::unordered_map<uint32_t, Process> processes_;
  std::unordered_map<const unwind::Table*, Uploaded> uploaded_;
  std::vector<Pool> pools_;
  std::vector<std::pair<std::vector<uint8_t>, TablePointer>> vdsos_;
  uint32_t last_number_ = 0;
  uint32_t last_image_ = 0;
  bool warned_full_ = false;
  uint64_t kernel_bytes_ = 0;
};

}  // namespace gpuprof::record

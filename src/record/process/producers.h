// Tracks sources, processes and threads. Replaces each source's own ids of names, devices and code by ids of the
// session.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "base/recent_map.h"
#include "record/batch.h"
#include "record/memory_budget.h"
#include "record/process/code/code_table.h"
#include "record/process/code/gpu_code.h"
#include "record/process/code/source_modules.h"
#include "record/process/device_table.h"
#include "record/process/live_processes.h"
#include "record/process/name_table.h"
#include "record/process/ranges.h"
#include "record/process/thread_names.h"

namespace gpuprof::record {

struct Source {
  struct Device {
    uint32_t index = 0;
    uint32_t name_id = 0;
    uint32_t uuid_id = 0;
  };
  backend::SourceId id = 0;
  uint32_t pid = 0;
  backend::SourceTraits traits;
  LiveImage* image = nullptr;
  std::string backend;
  RecentMap<std::unordered_map<uint32_t, NameIndex>> names;
  RecentMap<std::unordered_map<uint32_t, profile::DeviceId>> devices;
  std::vector<Device> devices_to_be;
  SourceRanges ranges;
  CodeIds codes;
  SourceGpuCode gpu_code;
  SourceModules modules;
  gpuprof_python_layout python{};  // the last layout that the source sent
  unsigned python_changes = 0;
  std::string python_version;
  std::string python_refused;  // why the target lacks Python frames; empty: it sent no reason
  unsigned metas = 0;

  [[nodiscard]] profile::ProcessId process() const { return image->id(); }
  [[nodiscard]] bool knows_name(uint32_t name_id) const { return name_id == 0 || names.contains(name_id); }
  [[nodiscard]] NameIndex name(uint32_t name_id) const;          // 0: unknown
  [[nodiscard]] profile::DeviceId device(uint32_t index) const;  // 0: unknown
  // Whether the range, its parents and all their names have arrived.
  [[nodiscard]] bool knows_range(uint32_t range) const;
};

class Producers {
 public:
  // `attach_pid`: the process of record -p, which is recorded even without a source. 0: record runs a command.
  Producers(uint32_t attach_pid, MemoryBudget* memory);

  void on_source(backend::SourceId id, uint32_t pid, std::string_view backend);
  void on_name(Source& source, uint32_t name_id, std::string_view text);
  void on_device(Source& source, const Source::Device& device);
  void on_range(Source& source, const backend::Range& range);
  void on_code(Source& source, const backend::PythonCode& code);
  // Returns false if the source has changed its layout too often.
  [[nodiscard]] bool on_python(Source& source, const gpuprof_python_layout& layout);
  void on_meta(Source& source, std::string_view text);
  // Call it when the process already runs although its unwind tables are not ready.
  void on_tables_late(const Source& source);

  // The next two functions take events of the stack engine.
  void on_process_code(uint32_t pid, const backend::PythonCode& code);
  void on_thread(uint32_t pid, uint32_t tid, std::string_view name);

  [[nodiscard]] Source* find(backend::SourceId id);  // null if the source has ended or is unknown
  // Any process can map the injection library and call its probe, so callers must check that a process belongs to this
  // recording.
  [[nodiscard]] bool is_recorded(uint32_t pid) const { return is_counted(pid) || processes_.knows(pid); }
  // Returns whether launches of the process are counted by probes, if any are: record -p and its process's children.
  [[nodiscard]] bool is_counted(uint32_t pid) const { return counted_.contains(pid); }
  void count(uint32_t pid) { counted_.insert(pid); }
  [[nodiscard]] NameIndex thread_name(uint32_t pid, uint32_t tid) const { return threads_.find(pid, tid); }
  profile::RangeId range(Source& source, uint32_t id);

  NameTable& names() { return names_; }
  CodeTable& codes() { return codes_; }
  GpuCode& gpu_code() { return gpu_code_; }
  LiveProcesses& processes() { return processes_; }
  [[nodiscard]] const DeviceTable& devices() const { return devices_; }

  // Call it when all rings have been read. Names that are still missing then were lost.
  void retry_devices();
  void end_iteration();

  struct Ended {
    bool image = false;    // the source was the last one of its process image
    bool process = false;  // the source was the last one of its pid
  };
  Ended end(Source& source);

  void add_meta(std::string key, std::string value) { meta_.emplace_back(std::move(key), std::move(value)); }
  template <typename Use>
  void for_each(Use use) {
    for (auto& [id, source] : sources_) {
      use(source);
    }
  }
  void take_new(Batch& batch);

 private:
  bool make_device(Source& source, const Source::Device& device, bool last);

  std::unordered_set<uint32_t> counted_;
  MemoryBudget* memory_;
  NameTable names_{NameTable::kMaxBytes, memory_};
  RangeTable ranges_{memory_};
  DeviceTable devices_{memory_};
  CodeTable codes_{memory_};
  GpuCode gpu_code_{names_, memory_};
  ThreadNames threads_{names_, memory_};
  LiveProcesses processes_{memory_};
  RecentMap<std::unordered_map<backend::SourceId, Source>> sources_;
  std::set<std::string> notes_;  // META keys that have been printed, too
  std::set<std::string> drivers_;
  std::vector<std::pair<std::string, std::string>> meta_;
  std::vector<profile::ProcessId> ended_;
};

}  // namespace gpuprof::record

// The profile that parts are made of: what its definitions stand for, and what is said of it as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/records.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

using MetaLines = std::vector<std::pair<std::string, std::string>>;

// Memory grows with definitions, META and WINDOW lines, not with rows.
class Whole {
 public:
  // Keeps a definition or what is about the whole. True for a row, which is the caller's. Records are those of merge(),
  // whose ids are checked and count from 1.
  Result<bool> take(const profile::Record& record);

  [[nodiscard]] const profile::Tables& tables() const { return tables_; }

  [[nodiscard]] const MetaLines& meta() const { return meta_; }  // but for what is said of a process
  // process.<pid>. lines, by pid.
  [[nodiscard]] const std::map<uint32_t, MetaLines>& process_meta() const { return process_meta_; }
  [[nodiscard]] const std::vector<profile::Window>& windows() const { return windows_; }
  [[nodiscard]] const std::optional<profile::End>& end() const { return end_; }
  // Records that END counts and that were not there, or the other way round. Parts have an END of their own, which
  // hides that.
  [[nodiscard]] std::vector<std::string> mismatches() const;

  [[nodiscard]] uint64_t start_ns() const { return start_ns_; }
  [[nodiscard]] uint64_t interval_ns() const { return interval_ns_; }  // 0: not known
  // In which the time lies, as that of a GPU line's end. interval_ns() is not 0.
  [[nodiscard]] uint64_t slice_of(uint64_t ns) const { return ns <= start_ns_ ? 0 : (ns - start_ns_) / interval_ns_; }

 private:
  void take_meta(const profile::Meta& meta);
  void count(const profile::Record& row);

  profile::Tables tables_;
  MetaLines meta_;
  std::map<uint32_t, MetaLines> process_meta_;
  std::vector<profile::Window> windows_;
  std::optional<profile::End> end_;
  uint64_t gpu_records_ = 0;
  uint64_t gpu_ns_ = 0;
  uint64_t samples_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t interval_ns_ = 0;
};

// What a row tells of where it belongs; nothing for what lines of its kind do not tell. An id of 0 is told: there is
// none.
struct Belongs {
  std::optional<profile::WorkId> work;
  std::optional<profile::ProcessId> process;
  std::optional<profile::DeviceId> device;
  std::optional<uint64_t> slice;           // of GPU work and of what has times, the one in which it ended
  std::optional<profile::StackId> ustack;  // of a row without a WORK
};

Belongs belongs(const profile::Record& row, const Whole& whole);

}  // namespace gpuprof::analyze

// Reads /tmp/perf-PID.map, which names the code that a just-in-time compiler wrote to anonymous memory. Each line
// names a function: "START SIZE name", with hex numbers. Compilers append to the file while they run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/files/safe_open.h"
#include "base/unique_fd.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::symbolize {

class PerfMap {
 public:
  // `path` is a path in the process's root directory. `folder` is the open directory of the file, or closed.
  // Ignores a file that neither `owner` (the process's user) nor root owns, because any user can create such a file in
  // /tmp.
  PerfMap(std::string path, uid_t owner, UniqueFd folder = {})
      : path_(std::move(path)), owner_(owner), folder_(std::move(folder)) {}

  // Opens the file if it exists. If it was replaced, opens the new one.
  void open(const FileAccess& access);
  [[nodiscard]] bool is_open() const;
  // Reads what was appended to the file since the last call.
  void refresh(ReadingBudget& budget);

  // Returns the name of the function that holds `address`, or an empty view. Valid until the next refresh().
  [[nodiscard]] std::string_view find(uint64_t address) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Function {
    uint64_t end;
    uint64_t name;
    uint32_t name_size;
  };

  void read_appended(uint64_t size, ReadingBudget& budget);
  void add_line(std::string_view line, ReadingBudget& budget);
  void forget(ReadingBudget& budget);

  std::string path_;
  uid_t owner_;
  UniqueFd folder_;
  UniqueFd fd_;
  bool replaced_ = false;
  uint64_t consumed_ = 0;                   // bytes of the file that were parsed, up to the end of a line
  uint64_t read_to_ = 0;                    // file size at the last read
  std::map<uint64_t, Function> functions_;  // key: start address; functions do not overlap
  std::string names_;
};

}  // namespace gpuprof::symbolize

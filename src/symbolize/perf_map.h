// /tmp/perf-PID.map: names for code that a just-in-time compiler wrote to anonymous memory. One line a function,
// "START SIZE name", numbers in hex. Compilers append to it while they run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace gpuprof::symbolize {

class PerfMap {
 public:
  // `path` inside the directory `root_fd` (see safe_open.h). Where gpuprof is root, the file must belong to `owner`
  // or to root: others could otherwise name the code of this process.
  PerfMap(std::string path, uid_t owner) : path_(std::move(path)), owner_(owner) {}

  // Opens the file if there is one by now, and reads what was appended since the last call.
  void refresh(int root_fd);

  // Name of the function that holds `address`; empty when there is none. Valid until the next refresh().
  [[nodiscard]] std::string_view find(uint64_t address) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Function {
    uint64_t end;
    uint64_t name;  // offset in names_
    uint32_t name_size;
  };

  [[nodiscard]] bool open_file(int root_fd);
  void read_appended(uint64_t size);
  void add_line(std::string_view line);
  void forget();

  std::string path_;
  uid_t owner_;
  UniqueFd fd_;
  uint64_t consumed_ = 0;                   // bytes of the file that were parsed, up to the end of a line
  std::map<uint64_t, Function> functions_;  // by start; no two overlap
  std::string names_;
};

}  // namespace gpuprof::symbolize

#include "record/process/ancestry.h"

#include <charconv>
#include <string>

#include "base/files/file.h"

namespace gpuprof::record {

pid_t parse_parent(std::string_view stat) {
  // The text is "pid (comm) state ppid ...". comm may contain any characters, so its end is the last ')'.
  const size_t end = stat.rfind(')');
  constexpr size_t kToParent = 4;  // ") S "
  if (end == std::string_view::npos || stat.size() - end <= kToParent) {
    return 0;
  }
  const std::string_view rest = stat.substr(end + kToParent);
  pid_t parent = 0;
  const auto [after, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parent);
  return error == std::errc{} && parent > 0 ? parent : 0;
}

pid_t parent_of(pid_t pid) {
  return parse_parent(read_text("/proc/" + std::to_string(pid) + "/stat", 1024));
}

bool descends_from(pid_t pid, pid_t ancestor) {
  constexpr int kMaxGenerations = 64;  // bounds the time: a process can create a long chain
  for (int i = 0; i < kMaxGenerations && pid > 0; ++i) {
    if (pid == ancestor) {
      return true;
    }
    pid = parent_of(pid);
  }
  return false;
}

}  // namespace gpuprof::record

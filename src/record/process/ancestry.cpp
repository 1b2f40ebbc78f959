#include "record/process/ancestry.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>

#include "base/unique_fd.h"

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
  const UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return got > 0 ? parse_parent({text.data(), static_cast<size_t>(got)}) : 0;
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

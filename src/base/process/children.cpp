#include "base/process/children.h"

#include <dirent.h>

#include <charconv>
#include <memory>

#include "base/clock.h"
#include "base/files/file.h"

namespace gpuprof {
namespace {

constexpr size_t kMaxChildren = 65536;  // bytes of a list

}  // namespace

// In /proc, a thread lists only the children that it started.
void add_children(const std::string& proc, pid_t pid, uint64_t until, const ChildrenLimits& limits,
                  std::vector<pid_t>& to) {
  const std::string path = proc + "/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  bool in_time = true;  // a thread is read even if the time is over, so that each call finds something
  for (const dirent* task = nullptr;
       folder && limits.tasks > 0 && in_time && (task = ::readdir(folder.get())) != nullptr;) {
    if (task->d_name[0] == '.') {
      continue;
    }
    in_time = monotonic_ns() < until;
    --limits.tasks;
    const std::string children =
        read_text(::dirfd(folder.get()), (std::string(task->d_name) + "/children").c_str(), kMaxChildren);
    const char* const end = children.data() + children.size();
    for (const char* at = children.data(); at < end && to.size() < limits.processes; ++at) {
      pid_t child = 0;
      const auto [after, error] = std::from_chars(at, end, child);
      if (error == std::errc{}) {
        to.push_back(child);
        at = after;
      }
    }
  }
}

}  // namespace gpuprof

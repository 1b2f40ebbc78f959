#include "record/process/thread_names.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/hash.h"

namespace gpuprof::record {
namespace {

uint32_t pid_of(uint64_t thread) {
  return static_cast<uint32_t>(thread >> 32);
}

bool thread_has_ended(uint64_t thread) {
  const std::string path =
      "/proc/" + std::to_string(pid_of(thread)) + "/task/" + std::to_string(static_cast<uint32_t>(thread));
  return ::access(path.c_str(), F_OK) != 0;
}

}  // namespace

void ThreadNames::set(uint32_t pid, uint32_t tid, std::string_view name) {
  const uint64_t thread = join_ids(pid, tid);
  if (threads_.contains(thread) || memory_->admit()) {
    threads_[thread] = names_.intern(name);
  }
}

NameIndex ThreadNames::find(uint32_t pid, uint32_t tid) const {
  const auto thread = threads_.find(join_ids(pid, tid));
  return thread == threads_.end() ? 0 : thread->second;
}

void ThreadNames::forget(uint32_t pid) {
  std::erase_if(threads_, [pid](const auto& entry) { return pid_of(entry.first) == pid; });
}

void ThreadNames::bound() {
  if (threads_.size() <= limit_) {
    return;
  }
  std::erase_if(threads_, [](const auto& entry) { return thread_has_ended(entry.first); });
  limit_ = std::max(kKept, threads_.size() * 2);
}

}  // namespace gpuprof::record

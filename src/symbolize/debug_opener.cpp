#include "symbolize/debug_opener.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "base/clock.h"

namespace gpuprof::symbolize {
namespace {

bool has_debuginfod_servers() {
  const char* servers = std::getenv("DEBUGINFOD_URLS");
  return servers != nullptr && *servers != '\0';
}

thread_local const ReadingBudget* requesting = nullptr;

// libdebuginfod calls it several times a second. Ends the request if there is no more time.
int keep_time(void* /*client*/, long /*done*/, long /*all*/) {
  return requesting->in_time() ? 0 : 1;
}

// Opens libdebuginfod with dlopen, because it loads a network library that most runs do not need.
UniqueFd ask_debuginfod(const std::string& build_id, ReadingBudget& budget) {
  using Begin = void* (*)();
  using Find = int (*)(void*, const unsigned char*, int, char**);
  using End = void (*)(void*);
  using SetProgress = void (*)(void*, int (*)(void*, long, long));
  void* library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return UniqueFd{};
  }
  const auto begin = reinterpret_cast<Begin>(::dlsym(library, "debuginfod_begin"));
  const auto find = reinterpret_cast<Find>(::dlsym(library, "debuginfod_find_debuginfo"));
  const auto end = reinterpret_cast<End>(::dlsym(library, "debuginfod_end"));
  const auto set_progress = reinterpret_cast<SetProgress>(::dlsym(library, "debuginfod_set_progressfn"));
  UniqueFd fd;
  if (begin != nullptr && find != nullptr && end != nullptr && set_progress != nullptr) {
    if (void* client = begin(); client != nullptr) {
      requesting = &budget;
      set_progress(client, keep_time);
      // A length of 0 means that the build id is text.
      fd.reset(find(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, nullptr));
      end(client);
    }
  }
  return fd;
}

}  // namespace

DebugFile DebugOpener::open(const std::string& path, bool in_target_root) {
  if (!target_ || (!in_target_root && target_->root_fd == kOwnRoot)) {
    return {};  // if the roots are the same, the target's has been searched
  }
  DebugFile file{.fd = open_regular(in_target_root ? *target_ : FileAccess{kOwnRoot, target_->rights}, path),
                 .ours = false,
                 .path = path,
                 .in_target_root = in_target_root};
  file.ours = file.fd && counts_as_ours(file.fd.get());
  return file;
}

DebugFile DebugOpener::download(const std::string& build_id) {
  if (!debuginfod_ || !has_debuginfod_servers() || !budget_.may_download()) {
    return {};
  }
  const uint64_t begun = monotonic_ns();
  DebugFile file{.fd = ask_debuginfod(build_id, budget_), .ours = true, .path = {}, .in_target_root = false};
  budget_.downloaded(monotonic_ns() - begun);
  return file;
}

}  // namespace gpuprof::symbolize

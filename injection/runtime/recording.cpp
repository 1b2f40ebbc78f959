#include "runtime/recording.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/atomics.h"
#include "base/guard.h"
#include "ipc/emit.h"
#include "runtime/cpu_samples.h"
#include "runtime/lifecycle.h"
#include "runtime/service_thread.h"

// Of glibc. Registers a function that runs when the calling thread ends or calls exit(), before all exit handlers.
extern "C" __attribute__((weak)) int __cxa_thread_atexit_impl(void (*function)(void*), void* argument, void* library);
extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

namespace gpuprof::injection {
namespace {

struct Recording {
  uint32_t taken;  // atomic; 1: a recording exists
  bool exit_handled;
  const Vendor* vendor;
  // The process that has subscribed. If getpid() differs, this process is a forked child, even if no fork handler has
  // run.
  pid_t pid;
  // Address of the recorder, if attached.
  char socket[108];
  char token[33];
  uint32_t user;
};
constinit Recording current = {};

bool take(const Vendor& vendor) {
  if (!swap_if(&current.taken, 0, 1)) {
    return false;
  }
  current.vendor = &vendor;
  return true;
}

void leave() {
  store_release(&current.taken, 0U);
}

void end(bool last) {
  // Waiting is a cancellation point. If a thread is cancelled inside exit(), the program aborts.
  int cancel = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  const Vendor& vendor = *current.vendor;
  const bool ours = !in_fork() && getpid() == current.pid;
  if (ours || vendor.works_in_forked_child) {
    if (last) {
      stop_cpu_samples();
    }
    if (vendor.exiting != nullptr) {
      vendor.exiting(last);
    }
    if (vendor.flush != nullptr) {
      finish_service_thread();
      finish();
    } else {
      finish_so_far();
    }
  }
  pthread_setcancelstate(cancel, nullptr);
}

void at_exit() {
  end(current.vendor->flush != nullptr);
}

// Runs after all exit handlers and destructors of static objects. Some destructors of libraries may still follow.
__attribute__((destructor)) void at_unload() {
  if (current.exit_handled && current.vendor->flush == nullptr) {
    end(true);
  }
}

void in_child() {
  store_relaxed(&forked, 1U);
  if (current.vendor->forked != nullptr) {
    current.vendor->forked();
  }
}

bool subscribe(const Vendor& vendor, bool attached) {
  current.pid = getpid();
  on_fork_child(in_child);
  if (!vendor.subscribe(attached)) {
    return false;
  }
  // Registered after the vendor's library is loaded, so that it runs before that library's own handler.
  if (!current.exit_handled) {
    current.exit_handled = true;
    atexit(at_exit);
  }
  return true;
}

void* run_attached(void* /*unused*/) {
  const Vendor& vendor = *current.vendor;
  bool subscribed = false;
  {
    const Guard guard;
    subscribed = start_attached(vendor.name, current.socket, current.token, current.user) && subscribe(vendor, true);
  }
  // The name is set after subscribing, because threads of the vendor's library would inherit it.
  prctl(PR_SET_NAME, kServiceThreadName);
  if (subscribed) {
    start_cpu_samples();
    serve_until_retracted(vendor);
  }
  leave_segment();
  leave();
  return nullptr;
}

}  // namespace

bool begin_recording(const Vendor& vendor) {
  if (!take(vendor)) {
    return false;
  }
  const Guard guard;
  if (vendor.load != nullptr) {
    vendor.load();
  }
  if (!start(vendor.name) || !subscribe(vendor, false)) {
    leave();
    return false;
  }
  if (vendor.flush != nullptr && !start_service_thread(vendor)) {
    vendor.flush->set_recording(false);
    disable("no thread could be started in the target");
    return false;
  }
  start_cpu_samples();
  return true;
}

void move_exit_handler() {
  atexit(at_exit);
}

void exit_first_on_main_thread() {
  static constinit thread_local bool done = false;
  if (done || syscall(SYS_gettid) != syscall(SYS_getpid) || __cxa_thread_atexit_impl == nullptr) {
    return;
  }
  done = true;
  __cxa_thread_atexit_impl([](void* /*argument*/) { move_exit_handler(); }, nullptr, &__dso_handle);
}

void note_exit_wait(uint64_t waited_ns) {
  constexpr uint64_t kShortNs = 50'000'000;
  if (waited_ns > kShortNs) {
    char text[160];
    snprintf(text, sizeof(text),
             "gpuprof held the end of the process for %.2f s, because GPU work was unfinished: what ended in this time "
             "would have been cut off without gpuprof",
             static_cast<double>(waited_ns) / 1e9);
    meta("note.exit_wait", text);
  }
}

int attach(const Vendor& vendor, const char* socket, const char* token, unsigned user) {
  if (strlen(socket) >= sizeof(current.socket) || strlen(token) >= sizeof(current.token)) {
    return EINVAL;
  }
  if (in_fork()) {
    return ECHILD;
  }
  if (!take(vendor)) {
    return EBUSY;
  }
  strcpy(current.socket, socket);
  strcpy(current.token, token);
  current.user = user;
  if (!start_thread(run_attached)) {
    leave();
    return EAGAIN;
  }
  return 0;
}

}  // namespace gpuprof::injection

#include "runtime/module_scan.h"

#include <ctime>

#include "base/atomics.h"
#include "base/thread_state.h"
#include "ipc/process_state.h"
#include "ipc/ring.h"
#include "python/python.h"
#include "stack/modules.h"
#include "stack/thread_stack.h"

namespace gpuprof::injection {
namespace {

uint32_t scanning = 0;      // 1: a thread is scanning
uint64_t loads_before = 0;  // number of library loads at the last scan

// Asks the recorder to read the mappings again if libraries were loaded.
void report_loads() {
  const uint64_t loads = count_loads();
  gpuprof_mappings record = {};
  record.header.type = GPUPROF_RECORD_MAPPINGS;
  record.loads = loads;
  if (open_segment() == nullptr || load_relaxed(&loads_before) == loads || emit_record(record)) {
    store_relaxed(&loads_before, loads);
  }
}

}  // namespace

void scan_modules() {
  scan_modules_and(nullptr);
}

void scan_modules_and(void (*also)()) {
  if (!swap_if(&scanning, 0, 1)) {
    return;
  }
  thread_state().in_module_scan = 1;
  find_main_stack();
  refresh_modules();
  find_python();
  report_loads();
  if (also != nullptr) {
    also();
  }
  thread_state().in_module_scan = 0;
  unlock(&scanning);
}

// Waits until no other thread scans, at most 0.5 s. This is enough for a scan whose thread was descheduled. It must not
// wait forever: a library's constructor may call fork() while it holds the loader's lock, for which the scan waits.
void hold_off_module_scans() {
  constexpr int kNaps = 500;
  const timespec nap = {0, 1000000};
  ThreadState& thread = thread_state();
  if (thread.in_module_scan != 0) {
    return;  // this runs in a signal handler that has interrupted a scan on this thread
  }
  thread.holds_module_scans = try_lock_bounded(&scanning) ? 1 : 0;
  for (int i = 0; i < kNaps && thread.holds_module_scans == 0; ++i) {
    nanosleep(&nap, nullptr);
    thread.holds_module_scans = swap_if(&scanning, 0, 1) ? 1 : 0;
  }
}

void allow_module_scans() {
  ThreadState& thread = thread_state();
  if (thread.holds_module_scans != 0) {
    thread.holds_module_scans = 0;
    unlock(&scanning);
  }
}

void reset_module_scans() {
  thread_state().holds_module_scans = 0;
  unlock(&scanning);
}

}  // namespace gpuprof::injection

#include "runtime/connection_resets.h"

#include "ipc/names.h"
#include "ipc/ring.h"
#include "nvtx/ranges.h"
#include "python/python.h"
#include "runtime/cpu_samples.h"
#include "runtime/launch_notes.h"
#include "runtime/module_scan.h"
#include "runtime/work.h"
#include "stack/native_walk.h"
#include "stack/stacks.h"

namespace gpuprof::injection {
namespace {

// Ordered from the lowest layer to its users. scan_modules() comes last, because it finds the interpreter that the
// handshake reports. A forked child connects at a launch, where a scan is not allowed, so it uses its parent's results.
// lifecycle.cpp handles the child's side of fork(). nvtx/ranges.cpp resets its own lock, because it also works in
// processes that never connect.
constexpr ConnectionReset kResets[] = {
    {reset_rings, reset_rings},    {reset_names, reset_names},   {reset_launches, reset_launches},
    {reset_work, reset_work},      {reset_ranges, reset_ranges}, {reset_python, reset_python},
    {forget_stacks, reset_stacks}, {nullptr, reset_native_walk}, {nullptr, reset_cpu_samples},
    {scan_modules, nullptr},
};

}  // namespace

void reset_for_connection(bool child) {
  for (const ConnectionReset& part : kResets) {
    if (void (*const reset)() = child ? part.child_connection : part.new_connection; reset != nullptr) {
      reset();
    }
  }
}

}  // namespace gpuprof::injection

#include "runtime/parts.h"

#include "ipc/names.h"
#include "ipc/ring.h"
#include "nvtx/ranges.h"
#include "python/python.h"
#include "runtime/launch_notes.h"
#include "runtime/module_scan.h"
#include "stack/native_walk.h"
#include "stack/stacks.h"

namespace gpuprof::injection {
namespace {

// From what is below to what uses it, and the scan last: it finds the interpreter that the handshake tells of. A child
// connects at a launch, where there is no scan, and knows what its parent knew.
//
// Nothing is in this table that must not wait for a connection. The child's side of fork() itself is in lifecycle.cpp;
// ranges are kept in processes that never connect, and look after their lock themselves (nvtx/ranges.cpp).
constexpr Part kParts[] = {
    {reset_rings, reset_rings},   {reset_names, reset_names},   {reset_launches, reset_launches},
    {reset_ranges, reset_ranges}, {reset_python, reset_python}, {forget_stacks, reset_stacks},
    {nullptr, reset_native_walk}, {scan_modules, nullptr},
};

}  // namespace

void reset_parts(bool child) {
  for (const Part& part : kParts) {
    if (void (*const reset)() = child ? part.child_connection : part.new_connection; reset != nullptr) {
      reset();
    }
  }
}

}  // namespace gpuprof::injection

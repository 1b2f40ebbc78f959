// Whose code a CPU frame is: a reader looks for their own first, and for libraries' only behind that.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/tables.h"

namespace gpuprof::analyze {

// In the order of what a reader wants to see.
enum class Origin : uint8_t {
  own,      // of the program that was recorded, also of what it was built from
  library,  // installed: below site-packages, dist-packages, lib/pythonX.Y, /usr/lib, /lib or a vendor's folder; a
            // framework's library wherever it lies (libtorch*, libc10*, libcudnn* ...); std::; the interpreter
  vendor,   // the interface that work is put on a GPU by: libcuda*, libOpenCL*, libze_*; cudaLaunchKernel, clEnqueue...
            // outside of the program's own modules; and kernel space below it
  none,     // it tells nothing: see tells_nothing()
};

// `kernel`: it is a frame of a KSTACK.
Origin origin_of(const profile::Tables& tables, profile::Element element, bool kernel);

// A frame that tells a reader nothing: no function is known ("[libcuda.so.1+0x12ab]", "0x7f12", "[unknown]"), or it is
// how every thread starts.
bool tells_nothing(std::string_view frame);

}  // namespace gpuprof::analyze

// Classifies CPU frames by who wrote their code. Reports show the user's own code first, and libraries after it.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/tables.h"

namespace gpuprof::analyze {

// Who wrote the code of a frame. Values are ordered from the most to the least interesting for a reader.
enum class Origin : uint8_t {
  own,  // the recorded program, including code that was linked into it
  // Installed code: below site-packages, dist-packages, lib/pythonX.Y, /usr/lib, /lib or a vendor's folder. Also a
  // framework's library in any folder (libtorch*, libc10*, libcudnn* ...), std:: and the Python interpreter.
  library,
  // A vendor's GPU interface: the modules libcuda*, libOpenCL* and libze_*, and functions such as cudaLaunchKernel that
  // are not in the program's own modules. Also frames of the Linux kernel.
  vendor,
  none,  // frames without a useful name: see is_uninformative()
};

// Returns the origin of a frame. `kernel`: the frame is from a kernel stack.
Origin origin_of(const profile::Tables& tables, profile::Element element, bool kernel);

// Returns "libcublasLt.so.13" for "[libcublasLt.so.13+0x12ab]", a frame of installed code without a symbol. Empty: any
// other frame.
std::string_view unnamed_library(const profile::Tables& tables, profile::Element element);

// True for a frame without a useful name: no function ("[libcuda.so.1+0x12ab]", "0x7f12", "[unknown]"), or start-up
// code.
bool is_uninformative(std::string_view frame);

}  // namespace gpuprof::analyze

// A library that takes SLOW_LIBRARY_MS milliseconds to open. Under the name libcuda.so.1 it stands for a driver that is
// there and never used.
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

__attribute__((constructor)) void take_time() {
  if (const char* time = std::getenv("SLOW_LIBRARY_MS"); time != nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(time)));
  }
}

}  // namespace

// A library that takes SLOW_LIBRARY_MS milliseconds to open. Named libcuda.so.1, it stands for an unused driver.
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

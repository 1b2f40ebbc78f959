// A library that takes SLOW_LIBRARY_MS milliseconds to open, and writes a byte to descriptor SLOW_LIBRARY_FD when it
// begins. Named libcuda.so.1, it stands for an unused driver.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

__attribute__((constructor)) void take_time() {
  if (const char* fd = std::getenv("SLOW_LIBRARY_FD"); fd != nullptr) {
    (void)!write(std::atoi(fd), "", 1);
  }
  if (const char* time = std::getenv("SLOW_LIBRARY_MS"); time != nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(time)));
  }
}

}  // namespace

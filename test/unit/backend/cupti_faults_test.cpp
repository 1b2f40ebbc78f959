// Tests which known faults a CUPTI version has.
#include <algorithm>

#include "backend/backend.h"
#include "catch.h"

namespace {

std::vector<std::string> faults_of_cupti(uint32_t version) {
  for (const auto& backend : gpuprof::backend::make_all()) {
    if (backend->descriptor().name == std::string("cupti")) {
      return backend->faults_of(version);
    }
  }
  return {};
}

bool has_fault_text(uint32_t version, const std::string& text) {
  const auto faults = faults_of_cupti(version);
  return std::find(faults.begin(), faults.end(), text) != faults.end();
}

TEST_CASE("a CUPTI has the faults of its version, each with the release that mends it") {
  CHECK(has_fault_text(24, "some kernels have no times (before CUDA 13.1)"));
  CHECK(has_fault_text(130001, "some kernels have no times (before CUDA 13.1)"));
  CHECK_FALSE(has_fault_text(130100, "some kernels have no times (before CUDA 13.1)"));
  CHECK_FALSE(has_fault_text(130101, "the program can get slower (before CUDA 13.3)"));
  CHECK(has_fault_text(130200, "the program can get slower (before CUDA 13.3)"));
  CHECK(faults_of_cupti(130401).empty());
}

}  // namespace

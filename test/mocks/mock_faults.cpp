#include "mock_faults.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace gpuprof::mock {
namespace {

bool set_fault(Faults& faults, const std::string& name, uint64_t number) {
  if (name == "refuse_timestamp_callback") {
    faults.refuse_timestamp_callback = true;
  } else if (name == "subscriber_conflict") {
    faults.subscriber_conflict = true;
  } else if (name == "out_of_memory") {
    faults.out_of_memory = true;
  } else if (name == "threads") {
    faults.threads = true;
  } else if (name == "hang_flush") {
    faults.hang_flush = true;
  } else if (name == "zero_timestamps") {
    faults.zero_timestamps = number;
  } else if (name == "reversed_timestamps") {
    faults.reversed_timestamps = number;
  } else if (name == "drop_records") {
    faults.drop_records = number;
  } else {
    return false;
  }
  return true;
}

Faults read_faults() {
  Faults faults;
  const char* text = getenv("MOCK_CUPTI_FAULTS");
  std::istringstream list(text == nullptr ? "" : text);
  std::string item;
  while (std::getline(list, item, ',')) {
    const size_t equals = item.find('=');
    const uint64_t number = equals == std::string::npos ? 1 : strtoull(item.c_str() + equals + 1, nullptr, 10);
    if (number == 0 || !set_fault(faults, item.substr(0, equals), number)) {
      fprintf(stderr, "mock libcupti: '%s' in MOCK_CUPTI_FAULTS is no fault\n", item.c_str());
      abort();
    }
  }
  return faults;
}

}  // namespace

const Faults& faults() {
  static const Faults the_faults = read_faults();
  return the_faults;
}

}  // namespace gpuprof::mock

#include "mock_faults.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

namespace gpuprof::mock {
namespace {

struct Switch {
  const char* name;
  bool Faults::*fault;
};
constexpr Switch kSwitches[] = {{"refuse_timestamp_callback", &Faults::refuse_timestamp_callback},
                                {"subscriber_conflict", &Faults::subscriber_conflict},
                                {"out_of_memory", &Faults::out_of_memory},
                                {"insufficient_privileges", &Faults::insufficient_privileges},
                                {"refuse_latency", &Faults::refuse_latency},
                                {"refuse_memory", &Faults::refuse_memory},
                                {"refuse_unified_memory", &Faults::refuse_unified_memory},
                                {"no_node_updates", &Faults::no_node_updates},
                                {"refuse_period", &Faults::refuse_period},
                                {"threads", &Faults::threads},
                                {"out_of_order", &Faults::out_of_order},
                                {"hang_flush", &Faults::hang_flush},
                                {"nested_correlation", &Faults::nested_correlation}};

struct Number {
  const char* name;
  uint64_t Faults::*fault;
};
constexpr Number kNumbers[] = {{"zero_timestamps", &Faults::zero_timestamps},
                               {"reversed_timestamps", &Faults::reversed_timestamps},
                               {"reversed_latency", &Faults::reversed_latency},
                               {"broken_buffers", &Faults::broken_buffers},
                               {"drop_records", &Faults::drop_records},
                               {"first_correlation", &Faults::first_correlation},
                               {"old_version", &Faults::old_version},
                               {"repeat_correlation", &Faults::repeat_correlation},
                               {"refuse_sampling", &Faults::refuse_sampling},
                               {"refuse_counting", &Faults::refuse_counting},
                               {"sampling_remaining", &Faults::sampling_remaining},
                               {"sampling_dropped", &Faults::sampling_dropped},
                               {"sampling_out_of_memory", &Faults::sampling_out_of_memory},
                               {"sampling_buffer_full", &Faults::sampling_buffer_full}};

bool set_fault(Faults& faults, const std::string& name, uint64_t number) {
  for (const Switch& known : kSwitches) {
    if (name == known.name) {
      faults.*known.fault = true;
      return true;
    }
  }
  for (const Number& known : kNumbers) {
    if (name == known.name) {
      faults.*known.fault = number;
      return true;
    }
  }
  return false;
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
      fprintf(stderr, "mock libcupti: MOCK_CUPTI_FAULTS: unknown fault '%s'\n", item.c_str());
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

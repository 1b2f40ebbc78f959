// Several threads use all calls at random for the given number of seconds. MOCK_ZE_SEED seeds the random sequence.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "app.h"

namespace gpuprof::mock {
namespace {

struct Kind {
  const char* name;
  uint64_t ns;
  std::atomic<uint64_t> launched{0};
};
Kind kinds[] = {{"light", kLightNs}, {"heavy", kHeavyNs}, {"other", 5000}};
constexpr size_t kKinds = std::size(kinds);

bool time_is_over(uint32_t seconds) {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::steady_clock::now() - begin >= std::chrono::seconds(seconds);
}

unsigned seed() {
  const char* text = getenv("MOCK_ZE_SEED");
  return text == nullptr ? 1 : static_cast<unsigned>(strtoul(text, nullptr, 10));
}

[[gnu::noinline]] void stressed(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal) {
  launch(list, kernel, signal);
}

// Owns one context, and does the random work of one thread in it.
class Course {
 public:
  // If `rough` is set, the thread reuses events, and destroys lists and queues without checking what runs.
  Course(unsigned seed, bool rough) : random_(seed), rough_(rough) {
    for (size_t i = 0; i < kKinds; ++i) {
      kernels_[i] = gpu_.kernel(kinds[i].name);
    }
    for (auto& immediate : immediates_) {
      immediate = gpu_.immediate();
    }
    ze_event_pool_handle_t plain = gpu_.pool(0, kEvents);
    ze_event_pool_handle_t timed = gpu_.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, kEvents);
    pools_[0] = plain;
    pools_[1] = timed;
    done_ = gpu_.event(gpu_.pool(0, 1), 0);
  }

  ~Course() {
    for (ze_command_list_handle_t immediate : immediates_) {
      wait_for(immediate);
    }
  }

  void step() {
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return several(below(40));
      case 3:
        return with_event(false);
      case 4:
        return with_event(true);
      case 5:
        return executions();
      case 6:
        return replace_immediate();
      default:
        return usleep(below(300)) == 0 ? void() : abort();
    }
  }

 private:
  static constexpr uint32_t kEvents = 4;

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  size_t append(ze_command_list_handle_t list, ze_event_handle_t signal = nullptr) {
    const size_t kind = below(kKinds);
    stressed(list, kernels_[kind], signal);
    return kind;
  }

  ze_command_list_handle_t immediate() { return immediates_[below(std::size(immediates_))]; }

  void wait_for(ze_command_list_handle_t list) {
    CHECK_ZE(zeCommandListAppendBarrier(list, done_, 0, nullptr));
    CHECK_ZE(zeEventHostSynchronize(done_, UINT64_MAX));
    CHECK_ZE(zeEventHostReset(done_));
  }

  void several(uint32_t count) {
    ze_command_list_handle_t list = immediate();
    for (uint32_t i = 0; i < count; ++i) {
      ++kinds[append(list)].launched;
    }
  }

  void with_event(bool timed) {
    ze_event_handle_t event = gpu_.event(pools_[timed ? 1 : 0], below(kEvents));
    ze_command_list_handle_t list = immediate();
    for (uint32_t turns = 1 + below(3); turns != 0; --turns) {
      ++kinds[append(list, event)].launched;
      if (rough_ && below(2) == 0) {
        continue;
      }
      while (zeEventQueryStatus(event) == ZE_RESULT_NOT_READY) {
      }
      CHECK_ZE(zeEventHostReset(event));
    }
    wait_for(list);
    gpu_.destroy_event(event);
  }

  void executions() {
    ze_command_list_handle_t list = gpu_.list();
    ze_event_handle_t timed = gpu_.event(pools_[1], 0);
    ze_command_queue_handle_t queue = gpu_.queue();
    for (uint32_t fillings = 1 + below(3); fillings != 0; --fillings) {
      uint64_t counts[kKinds] = {};
      for (uint32_t left = below(20); left != 0; --left) {
        ++counts[append(list)];
      }
      if (below(2) == 0) {
        CHECK_ZE(zeCommandListAppendEventReset(list, timed));
        ++counts[append(list, timed)];
      }
      CHECK_ZE(zeCommandListClose(list));
      for (uint32_t turns = below(20); turns != 0; --turns) {
        CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
        for (size_t i = 0; i < kKinds; ++i) {
          kinds[i].launched += counts[i];
        }
        if (below(4) == 0) {
          CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
        }
      }
      if (rough_ && below(3) == 0) {
        break;  // the list is destroyed while it runs
      }
      CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
      CHECK_ZE(zeCommandListReset(list));
    }
    gpu_.destroy_list(list);
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    gpu_.destroy_queue(queue);
    gpu_.destroy_event(timed);
  }

  void replace_immediate() {
    ze_command_list_handle_t& list = immediates_[below(std::size(immediates_))];
    if (!rough_) {
      wait_for(list);
    }
    gpu_.destroy_list(list);
    list = gpu_.immediate();
  }

  std::minstd_rand random_;
  bool rough_;
  Gpu gpu_;
  ze_kernel_handle_t kernels_[kKinds] = {};
  ze_command_list_handle_t immediates_[2] = {};
  ze_event_pool_handle_t pools_[2] = {};
  ze_event_handle_t done_ = nullptr;
};

// One thread launches with an event. Another thread resets the event, possibly before the launch call has returned.
void relay(uint32_t seconds) {
  Gpu gpu;
  ze_command_list_handle_t list = gpu.immediate();
  ze_kernel_handle_t light = gpu.kernel("light");
  ze_event_handle_t timed = gpu.event(gpu.pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1), 0);
  std::atomic<uint64_t> launched{0};
  std::atomic<uint64_t> seen{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      if (zeEventQueryStatus(timed) == ZE_RESULT_SUCCESS) {
        CHECK_ZE(zeEventHostReset(timed));
        ++seen;
      }
    }
  });
  for (; !time_is_over(seconds); ++launched) {
    stressed(list, light, timed);
    while (seen == launched) {
    }
  }
  over = true;
  other.join();
  kinds[0].launched += launched;
}

void stress(uint32_t seconds, bool rough) {
  CHECK_ZE(zeInit(0));
  time_is_over(seconds);
  constexpr uint32_t kThreads = 3;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, seconds, rough] {
      for (unsigned turn = 0; !time_is_over(seconds); ++turn) {
        Course course(seed() + 1000 * i + turn, rough);
        for (uint32_t steps = 0; steps < 200 && !time_is_over(seconds); ++steps) {
          course.step();
        }
      }
    });
  }
  relay(seconds);
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Kind& kind : kinds) {
    expect("stressed", "kernel", kind.name, kind.launched, kind.launched * kind.ns);
  }
}

void careful(uint32_t seconds) {
  stress(seconds, false);
}

void rough(uint32_t seconds) {
  stress(seconds, true);
}

}  // namespace

const std::vector<Case> kStressCases = {{"stress", careful}, {"rough_stress", rough}};

}  // namespace gpuprof::mock

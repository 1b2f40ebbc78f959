#include "runtime/recording.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/atomics.h"
#include "catch.h"
#include "child.h"
#include "fake_recorder.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/service_thread.h"
#include "runtime/work.h"

using gpuprof::test::Environment;
using gpuprof::test::FakeRecorder;
using gpuprof::test::fork_child;
using gpuprof::test::Source;
using gpuprof::test::wait_for;
namespace injection = gpuprof::injection;

namespace {

// A vendor's interface that logs each call as a letter.
struct Calls {
  char letters[32];
  uint32_t count;
};
Calls calls = {};

void note(char letter) {
  const uint32_t at = injection::add_relaxed(&calls.count, 1U);
  if (at < sizeof(calls.letters) - 1) {
    injection::store_release(&calls.letters[at], letter);
  }
}

bool seen(char letter) {
  return std::any_of(std::begin(calls.letters), std::end(calls.letters),
                     [&](const char& one) { return injection::load_acquire(&one) == letter; });
}

bool wait_until_seen(char letter) {
  for (int i = 0; i < 10000 && !seen(letter); ++i) {
    usleep(1000);
  }
  return seen(letter);
}

uint32_t held = 0;  // atomic; subscribe() does not return while this is set

bool subscribe(bool attached) {
  note(attached ? 'A' : 'S');
  while (injection::load_acquire(&held) != 0) {
    usleep(1000);
  }
  return injection::active();
}

bool refuse(bool /*attached*/) {
  injection::disable("it does not want to");
  return false;
}

const injection::Vendor::Flush kFlush = {
    .library = "fake",
    .pace_variable = "GPUPROF_TEST_FLUSH_MS",
    .flush = [](bool last) { note(last ? 'l' : 'f'); },
    .first_work = [] { note('w'); },
    .set_recording =
        [](bool on) {
          note(on ? '+' : '-');
          return on;
        },
    .totals = [] { note('t'); },
    .detach = [] { note('d'); },
};

injection::Vendor vendor(const injection::Vendor::Flush* flush) {
  return {
      .name = "fake",
      .load = [] { note('L'); },
      .subscribe = subscribe,
      .forked = nullptr,
      .exiting = [](bool) { note('e'); },
      .works_in_forked_child = false,
      .flush = flush,
  };
}

std::string letters() {
  return calls.letters;
}

template <typename Body>
Source record(const Body& body, uint32_t control = GPUPROF_CONTROL_ENABLED) {
  FakeRecorder::Options options;
  options.control = control;
  FakeRecorder recorder(options);
  REQUIRE(recorder.listening());
  const Environment environment = recorder.environment();
  const pid_t pid = fork_child(environment, [&] { return body(environment); });
  recorder.start();
  CHECK(wait_for(pid) == 0);
  recorder.stop();
  REQUIRE(!recorder.sources().empty());
  return recorder.sources().front();
}

}  // namespace

TEST_CASE("a vendor's interface without buffered records is only subscribed to") {
  const Source source = record([](const Environment&) {
    static const injection::Vendor kVendor = vendor(nullptr);
    const bool on = injection::begin_recording(kVendor) && !injection::begin_recording(kVendor);
    injection::launch(1);
    injection::gpu_op({.correlation = 1, .start_ns = 1, .end_ns = 2}, true);
    injection::finish();
    return on && letters() == "LS" ? 0 : 1;
  });
  CHECK(source.backend == "fake");
  CHECK(source.launches == 1);
  CHECK(source.ops.size() == 1);
  CHECK(source.state == GPUPROF_STATE_FINISHED);
}

TEST_CASE("a vendor's interface with buffered records is flushed, last when the process ends") {
  record([](const Environment&) {
    static const injection::Vendor kVendor = vendor(&kFlush);
    bool good = injection::begin_recording(kVendor);
    injection::note_work();
    good = good && wait_until_seen('w') && wait_until_seen('f');
    injection::finish_service_thread();
    const std::string all = letters();
    return good && all.substr(0, 5) == "LS+wf" && all.substr(all.size() - 3) == "flt" ? 0 : 1;
  });
}

TEST_CASE("a vendor's interface that was never used is not flushed when the process ends") {
  record([](const Environment&) {
    static const injection::Vendor kVendor = vendor(&kFlush);
    const bool on = injection::begin_recording(kVendor);
    injection::finish_service_thread();
    return on && letters() == "LS+" ? 0 : 1;
  });
}

TEST_CASE("a vendor's interface that fails to subscribe disables recording") {
  const Source source = record([](const Environment&) {
    static injection::Vendor refusing = vendor(&kFlush);
    refusing.subscribe = refuse;
    return !injection::begin_recording(refusing) && !injection::active() && letters() == "L" ? 0 : 1;
  });
  CHECK(source.state == GPUPROF_STATE_DISABLED);
  CHECK(source.reason == "it does not want to");
}

TEST_CASE("an attached process is detached on request and can be attached to again") {
  record(
      [](const Environment& environment) {
        static const injection::Vendor kVendor = vendor(&kFlush);
        const auto attach = [&] {
          return injection::attach(kVendor, environment[0].second.c_str(), environment[1].second.c_str(), geteuid());
        };
        injection::store_release(&held, 1U);  // the first recording is still active when the second is requested
        const bool one_at_a_time = attach() == 0 && attach() == EBUSY;
        injection::store_release(&held, 0U);
        if (!one_at_a_time || !wait_until_seen('d')) {
          return 1;
        }
        if (letters().substr(0, 4) != "A+fd") {
          return 2;
        }
        int again = EBUSY;
        for (int i = 0; i < 10000 && again == EBUSY; ++i) {
          usleep(1000);
          again = attach();
        }
        return again == 0 ? 0 : 3;
      },
      GPUPROF_CONTROL_ENABLED | GPUPROF_CONTROL_RETRACT);
}

TEST_CASE("an address that is too long is rejected") {
  static const injection::Vendor kVendor = vendor(&kFlush);
  CHECK(injection::attach(kVendor, std::string(200, 'x').c_str(), "token", 0) == EINVAL);
  CHECK(injection::attach(kVendor, "socket", std::string(200, 'x').c_str(), 0) == EINVAL);
}

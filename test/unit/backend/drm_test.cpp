#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "backend/drm/kernel_events.h"
#include "backend/drm/submitters.h"
#include "catch.h"

using namespace gpuprof;
using namespace gpuprof::backend::drm;

namespace {

Result<SchedulerEvents> choose_of(const std::set<std::string, std::less<>>& there) {
  return choose_scheduler_events([&](Hook hook, std::string_view name, std::string_view first, uint16_t /*argument*/) {
    const bool is_end = name.ends_with("done") || name.ends_with("process_job");
    return hook == Hook::tracepoint && there.contains(name) && first == (is_end ? "drm_sched_fence" : "drm_sched_job");
  });
}

class Machine {
 public:
  Machine() : root_(std::filesystem::temp_directory_path() / ("gpuprof_drm_test." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~Machine() { std::filesystem::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void file(const std::string& name) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "not BTF at all";
  }
  void card(const std::string& name, const std::string& device) const {
    std::filesystem::create_directories(root_ / "sys/class/drm" / name);
    std::filesystem::create_symlink("../../../" + device, root_ / "sys/class/drm" / name / "device");
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("tracepoints of either generation are used, preferably the new ones") {
  const auto before = choose_of({"drm_sched_job", "drm_run_job", "drm_sched_process_job", "drm_sched_job_wait_dep"});
  REQUIRE(before);
  CHECK(std::string(before->queued) == "drm_sched_job");
  CHECK(std::string(before->run) == "drm_run_job");
  CHECK(std::string(before->done) == "drm_sched_process_job");
  const auto since = choose_of({"drm_sched_job_queue", "drm_sched_job_run", "drm_sched_job_done", "drm_sched_job",
                                "drm_run_job", "drm_sched_process_job"});
  REQUIRE(since);
  CHECK(std::string(since->queued) == "drm_sched_job_queue");
}

TEST_CASE("incomplete generations of tracepoints are not mixed, and the error lists the missing ones") {
  const auto mixed = choose_of({"drm_sched_job_queue", "drm_sched_job_run", "drm_sched_process_job"});
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().message.find("drm_sched_job, drm_run_job") != std::string::npos);
  const auto part = choose_of({"drm_sched_job_queue", "drm_sched_job_run"});
  REQUIRE_FALSE(part);
  CHECK(part.error().message == "the GPU scheduler of this kernel lacks tracepoints: drm_sched_job_done");
  const auto none = choose_of({});
  REQUIRE_FALSE(none);
  CHECK_FALSE(none.error().hint.empty());
}

TEST_CASE("i915 needs its tracepoint and the function __i915_request_submit") {
  CHECK(check_i915_events([](Hook, auto, auto first, auto) { return first == "i915_request"; }).ok());
  const auto no_function = check_i915_events([](Hook hook, auto, auto, auto) { return hook == Hook::tracepoint; });
  REQUIRE_FALSE(no_function);
  CHECK(no_function.error().message == "i915 lacks the function __i915_request_submit");
  CHECK_FALSE(check_i915_events([](Hook hook, auto, auto, auto) { return hook == Hook::function; }).ok());
}

TEST_CASE("contexts and exec queues need driver functions with the expected argument types") {
  const auto has_i915 = [](Hook hook, auto name, auto pointed, auto argument) {
    return hook == Hook::function && name == "i915_gem_do_execbuffer" &&
           pointed == (argument == 1 ? "drm_file" : "drm_i915_gem_execbuffer2");
  };
  CHECK(check_i915_contexts(has_i915).ok());
  CHECK_FALSE(check_i915_contexts([](Hook, auto, auto pointed, auto) { return pointed == "drm_file"; }).ok());
  CHECK(check_xe_exec_queues([](Hook, auto, auto pointed, auto argument) {
          return pointed == "drm_file" && argument == 2;
        }).ok());
  const auto no_create = check_xe_exec_queues([](Hook, auto name, auto, auto) { return name == "xe_exec_ioctl"; });
  REQUIRE_FALSE(no_create);
  CHECK(no_create.error().message == "xe lacks the function xe_exec_queue_create_ioctl: exec queues are unknown");
}

TEST_CASE("a stream has the number of its exec queue, unless that is taken in the process") {
  StreamNumbers streams;
  constexpr uint64_t kOther = StreamNumbers::kFirstOfOthers;
  CHECK(streams.number({.id = 3, .file = 70, .device = 0}, 3) == std::pair<uint64_t, bool>(3, true));
  CHECK(streams.number({.id = 3, .file = 70, .device = 0}, 3) == std::pair<uint64_t, bool>(3, false));
  CHECK(streams.number({.id = 3, .file = 71, .device = 0}, 3).first == kOther);  // another open file
  CHECK(streams.number({.id = 3, .file = 72, .device = 1}, 3).first == 3);       // another device
  CHECK(streams.number({.id = 9, .file = 0, .device = 0}, kOther).first == kOther + 1);
  CHECK(streams.number({.id = 8, .file = 0, .device = 0}, kOther).first == kOther + 2);
  CHECK(streams.number({.id = 3, .file = 71, .device = 0}, 3).first == kOther);
}

TEST_CASE("the number of remembered streams is limited, and stream numbers are not reused") {
  StreamNumbers streams;
  for (uint64_t i = 0; i < StreamNumbers::kMax; ++i) {
    streams.number({.id = i, .file = 0, .device = 0}, StreamNumbers::kFirstOfOthers);
  }
  CHECK(streams.number({.id = 0, .file = 0, .device = 0}, StreamNumbers::kFirstOfOthers).first ==
        StreamNumbers::kFirstOfOthers + StreamNumbers::kMax);
}

TEST_CASE("the detected and the unusable kernel events are described in one line") {
  KernelEvents events;
  events.i915 = true;
  CHECK(events.text() == "requests of i915");
  events.scheduler = SchedulerEvents{"a", "b", "c"};
  events.xe_exec_queues = true;
  events.i915_contexts = true;
  events.lacks = "something";
  CHECK(events.text() == "tracepoints a, b, c; requests of i915; exec queues of xe; contexts of i915; something");
}

TEST_CASE("an unreadable or missing BTF file is an error with a hint") {
  const Machine machine;
  auto found = find_kernel_events(machine.root());
  REQUIRE_FALSE(found);
  CHECK(found.error().message == "this kernel has no type information (BTF) that can be read");
  CHECK(found.error().hint.find("CONFIG_DEBUG_INFO_BTF=y") != std::string::npos);

  machine.file("sys/kernel/btf/vmlinux");
  found = find_kernel_events(machine.root());
  REQUIRE_FALSE(found);
  CHECK(found.error().message == "this kernel has no type information (BTF) that can be read");
}

TEST_CASE("a driver without BTF is distinguished from a driver that is not loaded") {
  const std::string kernel = "/sys/kernel/btf/vmlinux";
  if (!std::filesystem::exists(kernel)) {
    WARN("skipped: this kernel has no BTF");
    return;
  }
  const Machine machine;
  std::filesystem::create_directories(machine.root() + "/sys/kernel/btf");
  std::filesystem::create_symlink(kernel, machine.root() + kernel);
  auto found = find_kernel_events(machine.root());
  REQUIRE_FALSE(found);
  CHECK(found.error().message == "no GPU driver of this machine can report its jobs");

  machine.file("sys/module/gpu_sched/refcnt");
  found = find_kernel_events(machine.root());
  REQUIRE_FALSE(found);
  CHECK(found.error().message == "the module gpu_sched has no type information (BTF) that can be read");

  machine.file("sys/kernel/btf/i915");  // not a BTF file
  found = find_kernel_events(machine.root());
  REQUIRE_FALSE(found);
  CHECK(found.error().message ==
        "the module gpu_sched has no type information (BTF) that can be read; the module i915 "
        "has no type information (BTF) that can be read");
  CHECK(found.error().hint.find("CONFIG_DEBUG_INFO_BTF_MODULES=y") != std::string::npos);
}

TEST_CASE("a device has the number of its card, not of a connector") {
  const Machine machine;
  machine.card("card0-HDMI-A-1", "0000:03:00.0");
  machine.card("card1", "0000:03:00.0");
  machine.card("card12", "0000:04:00.0");
  machine.card("renderD128", "0000:05:00.0");
  // While a device is being removed, its card may lack the link to the device.
  std::filesystem::create_directories(machine.root() + "/sys/class/drm/card2");
  CHECK(card_number("0000:03:00.0", machine.root()) == 1U);
  CHECK(card_number("0000:04:00.0", machine.root()) == 12U);
  CHECK_FALSE(card_number("0000:05:00.0", machine.root()));
  CHECK_FALSE(card_number("", machine.root()));
  CHECK_FALSE(card_number("0000:03:00.0", machine.root() + "/nowhere"));
}

TEST_CASE("a job is named after its driver and ring") {
  CHECK(job_name("amdgpu", "gfx_0.0.0") == "amdgpu-gfx_0.0.0");
  CHECK(job_name("xe", "rcs12") == "xe-rcs");  // 12 is the number of the queue
  CHECK(job_name("xe", "") == "xe-job");
  CHECK(job_name("xe", "7") == "xe-job");
  CHECK(job_name("", "gfx") == "gfx");
}

TEST_CASE("an event string ends at its NUL or at the end of its array") {
  const char cut[4] = {'a', 'b', '\0', 'd'};
  const char full[4] = {'a', 'b', 'c', 'd'};
  CHECK(text_of(cut) == "ab");
  CHECK(text_of(full) == "abcd");
}

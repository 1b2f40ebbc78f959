
#include "record/live/live_sums.h"

#include <memory>
#include <string>

#include "catch.h"

using gpuprof::record::LiveState;
using gpuprof::record::LiveSums;
using gpuprof::record::LiveView;
using gpuprof::record::MemoryBudget;
namespace profile = gpuprof::profile;

namespace {

class View : public LiveView {
 public:
  [[nodiscard]] uint64_t interval_ns() const override { return 0; }
  void show(const LiveState& /*state*/) override {}
  void hide() override {}
  [[nodiscard]] std::string place(const profile::Tables& /*tables*/, const profile::Work& /*work*/) const override {
    return "place";
  }
};

void define(LiveSums& sums, uint32_t id, const std::string& name, profile::DeviceId device = {}) {
  sums.add(profile::String{.id = profile::StringId{id}, .value = name});
  profile::Work work;
  work.id = profile::WorkId{id};
  work.op = profile::Op::kernel;
  work.name = profile::StringId{id};
  work.device = device;
  sums.add(work);
}

void ran(LiveSums& sums, uint32_t id, uint64_t ns) {
  profile::Gpu gpu;
  gpu.work = profile::WorkId{id};
  gpu.count = 1;
  gpu.sum_ns = ns;
  sums.add(gpu);
}

}  // namespace

TEST_CASE("at the memory limit the live view keeps summing known kernels and ignores new ones") {
  const View view;
  uint64_t used = 0;
  const auto memory = std::make_shared<MemoryBudget>([&used] { return used; });
  LiveSums sums(view, memory);
  define(sums, 1, "known");
  ran(sums, 1, 10);
  used = MemoryBudget::kLimit;
  memory->look();
  define(sums, 2, "new");
  ran(sums, 2, 1000);
  ran(sums, 1, 10);
  sums.close(1, 0);
  const LiveState state = sums.state();
  REQUIRE(state.kernels.size() == 1);
  CHECK(state.kernels[0].name == "known");
  CHECK(state.kernels[0].ns == 20);
  CHECK(state.gpu_ns == 20);
}

TEST_CASE("memory that a live view keeps makes the session measure its memory") {
  const View view;
  uint64_t used = 0;
  const auto memory = std::make_shared<MemoryBudget>([&used] { return used; });
  LiveSums sums(view, memory);
  used = MemoryBudget::kLimit;  // the budget has not measured this yet
  CHECK_FALSE(memory->is_limited());
  const std::string name(MemoryBudget::kLookBytes, 'n');
  define(sums, 1, name);
  CHECK(memory->is_limited());
}

TEST_CASE("a device's busy share is unknown until times were swept, and keeps its last value") {
  const View view;
  LiveSums sums(view, std::make_shared<MemoryBudget>([] { return uint64_t{0}; }));
  const profile::DeviceId device{1};
  sums.add(profile::String{.id = profile::StringId{9}, .value = "GPU"});
  sums.add(profile::Device{.id = device, .backend = profile::StringId{9}, .name = profile::StringId{9}});
  define(sums, 1, "kernel", device);
  const auto busy_at = [&sums](uint64_t now_ns, uint64_t swept_ns) {
    sums.close(now_ns, swept_ns);
    return sums.state().devices.at(0).busy;
  };
  const auto was_busy = [&sums](uint64_t ns) { sums.add(profile::Share{.work = profile::WorkId{1}, .busy_ns = ns}); };
  CHECK(busy_at(1000, 0) == std::nullopt);
  CHECK(busy_at(2000, 100) == std::nullopt);
  was_busy(50);
  CHECK(busy_at(3000, 200) == 0.5);
  CHECK(busy_at(4000, 200) == 0.5);
}

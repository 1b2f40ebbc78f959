#include "record/bpf/process_feed.h"

#include <poll.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "catch.h"

using gpuprof::record::ProcessEvent;
using gpuprof::record::ProcessFeed;
using gpuprof::symbolize::ProcessMaps;

namespace {

// Blocks in its first process event until the test lets it continue.
class SlowEngine final : public gpuprof::record::ProcessListener {
 public:
  void on_process(const gpuprof::symbolize::ProcessMaps& maps) override {
    if (told.empty()) {
      begun.set_value();
      go_on.get_future().wait();
    }
    told += "mapped " + std::to_string(maps.pid()) + "\n";
    last = &maps;
  }
  void on_python(uint32_t pid, const gpuprof_python_layout& layout) override {
    told += "python " + std::to_string(pid) + " " + std::to_string(layout.version) + "\n";
  }
  void on_process_end(uint32_t pid) override { told += "ended " + std::to_string(pid) + "\n"; }

  std::promise<void> begun;
  std::promise<void> go_on;
  std::string told;
  const gpuprof::symbolize::ProcessMaps* last = nullptr;
};

std::shared_ptr<const ProcessMaps> maps_of(uint32_t pid) {
  return std::make_shared<const ProcessMaps>(pid, gpuprof::symbolize::make_file_cache());
}

ProcessEvent mapped(std::shared_ptr<const ProcessMaps> maps) {
  const uint32_t pid = maps->pid();
  return {.what = ProcessEvent::What::mapped, .pid = pid, .maps = std::move(maps), .layout = {}};
}

ProcessEvent python(uint32_t pid, uint32_t version) {
  gpuprof_python_layout layout{};
  layout.version = version;
  return {.what = ProcessEvent::What::python, .pid = pid, .maps = nullptr, .layout = layout};
}

ProcessEvent ended(uint32_t pid) {
  return {.what = ProcessEvent::What::ended, .pid = pid, .maps = nullptr, .layout = {}};
}

void wait_until_taken(const ProcessFeed& feed) {
  while (feed.taken() < feed.put_so_far()) {
    pollfd readable{feed.fd(), POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 10'000) == 1);
    feed.clear_fd();
  }
}

}  // namespace

TEST_CASE("an engine gets process events in order, and put() does not wait for it") {
  SlowEngine engine;
  {
    ProcessFeed feed(engine);
    feed.put({mapped(maps_of(1))});
    engine.begun.get_future().wait();
    feed.put({mapped(maps_of(8)), python(8, 3)});
    feed.put({mapped(maps_of(7))});
    CHECK(feed.put_so_far() == 4);
    CHECK(feed.taken() == 0);  // put() has returned, although the engine blocks
    engine.go_on.set_value();
    wait_until_taken(feed);
  }
  CHECK(engine.told == "mapped 1\npython 8 3\nmapped 8\nmapped 7\n");
}

TEST_CASE("pending process events are replaced by newer ones, and by the end of the process") {
  SlowEngine engine;
  std::weak_ptr<const ProcessMaps> replaced;
  const auto newest = maps_of(8);
  {
    ProcessFeed feed(engine);
    feed.put({mapped(maps_of(1))});
    engine.begun.get_future().wait();
    auto older = maps_of(8);
    replaced = older;
    feed.put({python(7, 1), mapped(std::move(older))});
    for (uint32_t version = 1; version <= 1000; ++version) {
      feed.put({python(8, version), mapped(newest)});
    }
    CHECK(replaced.expired());  // the replaced event is freed
    feed.put({mapped(maps_of(9)), python(9, 1), ended(9)});
    feed.put({mapped(maps_of(7)), ended(7), python(7, 2)});
    engine.go_on.set_value();
    wait_until_taken(feed);
    CHECK(feed.taken() == 2009);
    feed.put({mapped(newest)});
    wait_until_taken(feed);
  }
  CHECK(engine.told == "mapped 1\nended 7\npython 7 2\npython 8 1000\nmapped 8\nended 9\nmapped 8\n");
  CHECK(engine.last == newest.get());
}

#include "profile/record_fields.h"

#include <string>
#include <utility>
#include <vector>

#include "catch.h"

using namespace gpuprof::profile;

namespace {

using Ids = std::vector<std::pair<IdSpace, uint32_t>>;

template <typename R>
Ids ids_of(const R& record) {
  Ids ids;
  for_each_id(record, [&](IdSpace space, auto id) {
    ids.emplace_back(space, index(id));
    return true;
  });
  return ids;
}

}  // namespace

TEST_CASE("the ids of a record are visited in the order of its line, with their id spaces") {
  const Work work{.id = WorkId{9},
                  .process = ProcessId{1},
                  .thread = StringId{2},
                  .ustack = StackId{3},
                  .kstack = StackId{4},
                  .capture = StackId{5},
                  .range = RangeId{6},
                  .device = DeviceId{7},
                  .name = StringId{8}};
  CHECK(ids_of(work) == Ids{{kProcessIds, 1},
                            {kStringIds, 2},
                            {kUstackIds, 3},
                            {kKstackIds, 4},
                            {kUstackIds, 5},
                            {kRangeIds, 6},
                            {kDeviceIds, 7},
                            {kStringIds, 8}});
  CHECK(ids_of(EuStall{.work = WorkId{1}, .place = GpuPlaceId{2}, .reason = StringId{3}, .sampling = SamplingId{4}}) ==
        Ids{{kWorkIds, 1}, {kGpuPlaceIds, 2}, {kStringIds, 3}, {kSamplingIds, 4}});
  CHECK(ids_of(Meta{"key", "value"}).empty());
  CHECK(ids_of(String{StringId{1}, "a"}).empty());
}

TEST_CASE("a visitor can replace ids, and can stop the visit") {
  Idle idle{.device = DeviceId{1}, .work = WorkId{2}};
  CHECK_FALSE(for_each_id(idle, [](IdSpace /*space*/, auto& id) {
    id = {};
    return false;
  }));
  CHECK(idle.device == DeviceId{});
  CHECK(idle.work == WorkId{2});
}

TEST_CASE("records are classified as definitions, measurements or neither") {
  STATIC_REQUIRE((kIsDefinition<String> && kIsDefinition<Stack> && kIsDefinition<Sampling>));
  STATIC_REQUIRE((kIsRow<Gpu> && kIsRow<Idle> && kIsRow<Loss> && kIsRow<GpuCount>));
  STATIC_REQUIRE_FALSE((kIsDefinition<Gpu> || kIsRow<Work>));
  STATIC_REQUIRE_FALSE((kIsRow<Meta> || kIsRow<Window> || kIsRow<GpuInstruction> || kIsRow<End> || kIsRow<Unknown>));
}

TEST_CASE("a record knows its keyword") {
  CHECK(kind_of(Record(Stack{.kernel = true, .elements = {}})) == "KSTACK");
  CHECK(kind_of(Record(Stack{.kernel = false, .elements = {}})) == "USTACK");
  CHECK(kind_of(Record(GpuCount{})) == "GPU_COUNT");
}

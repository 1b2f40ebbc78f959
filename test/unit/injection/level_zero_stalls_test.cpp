#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "catch.h"
#include "level_zero/stalls/stall_stream.h"
#include "level_zero/stalls/stall_sums.h"
#include "level_zero/stalls/stall_values.h"

using namespace gpuprof::injection::level_zero;  // NOLINT(google-build-using-namespace)

namespace {

using Metrics = std::vector<zet_metric_properties_t>;
using Values = std::vector<zet_typed_value_t>;

zet_metric_properties_t metric(const char* name, zet_metric_type_t type = ZET_METRIC_TYPE_EVENT,
                               zet_value_type_t result = ZET_VALUE_TYPE_UINT64) {
  zet_metric_properties_t properties = {};
  strcpy(properties.name, name);
  properties.metricType = type;
  properties.resultType = result;
  return properties;
}

zet_typed_value_t whole(uint64_t number) {
  zet_typed_value_t value = {};
  value.type = ZET_VALUE_TYPE_UINT64;
  value.value.ui64 = number;
  return value;
}

zet_typed_value_t typed(zet_value_type_t type, uint64_t bits) {
  zet_typed_value_t value = whole(bits);
  value.type = type;
  return value;
}

const Metrics kPvc = {metric("IP"), metric("Active"), metric("SbidStall")};

StallLayout layout_of(const Metrics& metrics) {
  StallLayout layout;
  REQUIRE(make_layout(metrics.data(), static_cast<uint32_t>(metrics.size()), &layout));
  return layout;
}

bool is_refused(const Metrics& metrics) {
  StallLayout layout;
  return !make_layout(metrics.data(), static_cast<uint32_t>(metrics.size()), &layout);
}

bool reads(const StallLayout& layout, const Values& row) {
  StallSample sample;
  return read_row(layout, row.data(), &sample);
}

}  // namespace

TEST_CASE("metrics of EU stalls have the stall reasons of profiles") {
  CHECK(std::string(stall_name("Active")) == "active");
  CHECK(std::string(stall_name("DistStall")) == "dist_acc");
  CHECK(std::string(stall_name("InstrFetchStall")) == "inst_fetch");
  CHECK(std::string(stall_name("PSDepStall")) == "tdr");
  CHECK(stall_name("NewStall") == nullptr);
  CHECK(stall_name("") == nullptr);
}

TEST_CASE("a layout needs an address and a count, in any columns") {
  const StallLayout pvc = layout_of(kPvc);
  CHECK((pvc.metrics == 3 && pvc.address == 0 && pvc.reasons == 2));
  const StallLayout mixed = layout_of({metric("GpuTime", ZET_METRIC_TYPE_TIMESTAMP), metric("NewStall"),
                                       metric("Share", ZET_METRIC_TYPE_RATIO, ZET_VALUE_TYPE_FLOAT32), metric("IP"),
                                       metric("Active", ZET_METRIC_TYPE_EVENT, ZET_VALUE_TYPE_UINT32)});
  CHECK((mixed.address == 3 && mixed.reasons == 2));
  CHECK((mixed.reason[0] == kNoReason && mixed.reason[1] == 0 && mixed.reason[2] == kNoReason &&
         mixed.reason[3] == kNoReason && mixed.reason[4] == 1));
  CHECK(is_refused({}));
  CHECK(is_refused({metric("Active")}));
  CHECK(is_refused({metric("IP")}));
  CHECK(is_refused({metric("IP"), metric("")}));
  CHECK(is_refused({metric("IP"), metric("Active", ZET_METRIC_TYPE_EVENT, ZET_VALUE_TYPE_BOOL8)}));
  CHECK(is_refused(Metrics(kMaxMetrics + 1, metric("Active"))));
  Metrics many(kMaxMetrics, metric("Active"));
  many.back() = metric("IP");
  CHECK(layout_of(many).reasons == kMaxReasons);
}

TEST_CASE("a row is an address and counts, or it is rejected") {
  const StallLayout layout = layout_of(kPvc);
  StallSample sample;
  const Values row = {whole(0x2002), whole(7), typed(ZET_VALUE_TYPE_UINT32, 0xFFFFFFFF00000003)};
  REQUIRE(read_row(layout, row.data(), &sample));
  CHECK((sample.address == 0x10010 && sample.counts[0] == 7 && sample.counts[1] == 3));
  CHECK(reads(layout, {whole(UINT64_MAX >> 3U), whole(UINT32_MAX), whole(0)}));
  CHECK_FALSE(reads(layout, {whole(UINT64_MAX), whole(1), whole(1)}));
  CHECK_FALSE(reads(layout, {whole(1), whole(uint64_t{1} << 32U), whole(1)}));
  for (const auto type :
       {ZET_VALUE_TYPE_FLOAT32, ZET_VALUE_TYPE_FLOAT64, ZET_VALUE_TYPE_BOOL8, static_cast<zet_value_type_t>(0x7777)}) {
    CHECK_FALSE(reads(layout, {typed(type, 1), whole(1), whole(1)}));
    CHECK_FALSE(reads(layout, {whole(1), whole(1), typed(type, 1)}));
  }
}

TEST_CASE("sums are kept by part and address, and a rejected sample adds nothing") {
  static StallSums sums;
  StallSample sample{.address = 0x10, .counts = {1, 2}};
  CHECK(sums.add(0, sample));
  CHECK(sums.add(0, sample));
  CHECK(sums.add(1, sample));
  sample.counts[1] = UINT32_MAX - 1;
  CHECK_FALSE(sums.add(0, sample));
  std::map<std::pair<uint32_t, uint64_t>, std::pair<uint32_t, uint32_t>> found;
  const auto take = [&](uint32_t part, const StallSums::Sum& sum) {
    found[{part, sum.address}] = {sum.counts[0], sum.counts[1]};
  };
  sums.take_all(take);
  CHECK(found.size() == 2);
  CHECK((found[{0, 0x10}] == std::pair(2U, 4U) && found[{1, 0x10}] == std::pair(1U, 2U)));
  // The table rejects additions once it is full, and is empty after take_all().
  uint32_t added = 0;
  for (uint64_t address = 0; address < StallSums::kPlaces && sums.add(0, {.address = address * 8, .counts = {1}});
       ++address) {
    ++added;
  }
  CHECK(added == StallSums::kMost);
  CHECK(sums.add(0, {.address = 0, .counts = {1}}));
  found.clear();
  sums.take_all(take);
  CHECK(found.size() == StallSums::kMost);
  CHECK(sums.add(3, {.address = UINT64_MAX - 7, .counts = {1}}));
  sums.take_all(take);
}

// ---- a faulty driver

namespace {

struct Driver {
  ze_result_t read_result = ZE_RESULT_SUCCESS;
  size_t bytes = 128;
  ze_result_t result = ZE_RESULT_SUCCESS;  // what calculate_one() and calculate_sets() return
  uint32_t sets = 1;
  uint32_t total = 6;  // number of values according to the first call, which stores none
  std::vector<uint32_t> counts = {6};
  uint32_t total_then = 6;  // number of values according to the second call, which stores them
  bool has_sets = true;
  int single_calls = 0;
};
Driver driver;

ze_result_t read_data(zet_metric_streamer_handle_t, uint32_t, size_t* bytes, uint8_t*) {
  *bytes = driver.bytes;
  return driver.read_result;
}

ze_result_t calculate_one(zet_metric_group_handle_t, zet_metric_group_calculation_type_t, size_t, const uint8_t*,
                          uint32_t* count, zet_typed_value_t* values) {
  ++driver.single_calls;
  *count = values == nullptr ? driver.total : driver.total_then;
  return driver.result;
}

ze_result_t calculate_sets(zet_metric_group_handle_t, zet_metric_group_calculation_type_t, size_t, const uint8_t*,
                           uint32_t* sets, uint32_t* total, uint32_t* counts, zet_typed_value_t* values) {
  if (!driver.has_sets) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  *sets = driver.sets;
  *total = values == nullptr ? driver.total : driver.total_then;
  for (size_t i = 0; counts != nullptr && i < driver.counts.size(); ++i) {
    counts[i] = driver.counts[i];
  }
  return driver.result;
}

StallStream::Read read_of(const Driver& as) {
  static StallBuffers buffers;
  driver = as;
  MetricsApi zet = {};
  zet.zetMetricStreamerReadData = read_data;
  zet.zetMetricGroupCalculateMetricValues = calculate_one;
  zet.calculate_multiple = calculate_sets;
  StallStream stream;
  const StallGroup group{.handle = nullptr, .layout = layout_of(kPvc), .reason_ids = {1, 2}};
  return stream.read(zet, group, &buffers);
}

using Outcome = StallStream::Outcome;

}  // namespace

TEST_CASE("the values of a read are split into sets") {
  const auto read = read_of({});
  CHECK((read.outcome == Outcome::rows && !read.dropped && !read.malformed));
  CHECK((read.sets == 1 && read.count[0] == 6));
  const auto two = read_of({.sets = 2, .total = 9, .counts = {3, 6}, .total_then = 9});
  CHECK((two.sets == 2 && two.count[0] == 3 && two.count[1] == 6));
  const auto single = read_of({.has_sets = false});
  CHECK((single.sets == 1 && single.count[0] == 6 && driver.single_calls == 2));
}

TEST_CASE("empty reads, drops and lost devices are distinguished") {
  CHECK(read_of({.read_result = ZE_RESULT_NOT_READY}).outcome == Outcome::nothing);
  CHECK(read_of({.bytes = 0}).outcome == Outcome::nothing);
  CHECK(read_of({.read_result = ZE_RESULT_ERROR_DEVICE_LOST}).outcome == Outcome::lost);
  CHECK(read_of({.read_result = ZE_RESULT_ERROR_UNKNOWN}).outcome == Outcome::lost);
  const auto dropped = read_of({.read_result = ZE_RESULT_WARNING_DROPPED_DATA});
  CHECK((dropped.outcome == Outcome::rows && dropped.dropped && dropped.sets == 1));
  const auto overflow = read_of({.result = ZE_RESULT_WARNING_DROPPED_DATA});
  CHECK((overflow.outcome == Outcome::rows && overflow.dropped && overflow.sets == 1));
  const auto only = read_of({.read_result = ZE_RESULT_WARNING_DROPPED_DATA, .bytes = 0});
  CHECK((only.outcome == Outcome::nothing && only.dropped));
}

TEST_CASE("impossible sizes are rejected") {
  constexpr uint32_t kTooMany = StallBuffers::kValues + 1;
  const Driver wrong[] = {
      {.bytes = StallBuffers::kRawBytes + 1},
      {.bytes = SIZE_MAX},
      {.result = ZE_RESULT_ERROR_INVALID_SIZE},
      {.sets = kMaxSubDevices + 1},
      {.sets = UINT32_MAX},
      {.total = kTooMany, .counts = {kTooMany}, .total_then = kTooMany},
      {.counts = {UINT32_MAX}},
      {.sets = 2, .counts = {UINT32_MAX, 7}},
      {.counts = {7}},
      {.counts = {kTooMany}, .total_then = kTooMany},
      {.total = kTooMany, .has_sets = false},
      {.total_then = 7, .has_sets = false},
      {.total_then = UINT32_MAX, .has_sets = false},
  };
  for (const Driver& one : wrong) {
    const auto read = read_of(one);
    CHECK((read.malformed && read.sets == 0));
  }
}

TEST_CASE("each error has a remedy") {
  const std::map<ze_result_t, std::string> words = {{ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "observation_paranoid"},
                                                    {ZE_RESULT_ERROR_NOT_AVAILABLE, "stop the tool"},
                                                    {ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "stop the tool"},
                                                    {ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "Ponte Vecchio"},
                                                    {ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "install"},
                                                    {ZE_RESULT_ERROR_UNINITIALIZED, "ZET_ENABLE_METRICS=1"},
                                                    {ZE_RESULT_ERROR_UNKNOWN, "root"},
                                                    {ZE_RESULT_ERROR_DEVICE_LOST, "reset"}};
  for (const auto& [result, word] : words) {
    const std::string text = stall_refusal(result);
    CHECK(text.find(word) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

#include "backend/drm/stalls/stall_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <vector>

#include "backend/drm/stalls/xe_uapi.h"
#include "catch.h"

using namespace gpuprof;
using namespace gpuprof::backend::drm;

namespace {

constexpr uint64_t kMillisecond = 1'000'000;

std::vector<std::byte> record(uint32_t address, uint8_t tdr) {
  std::vector<std::byte> bytes(64);
  const uint64_t bits = (address >> 3) | (uint64_t{tdr} << 29);
  std::memcpy(bytes.data(), &bits, sizeof(bits));
  return bytes;
}

struct Step {
  StallStream::Outcome outcome = StallStream::Outcome::nothing;
  std::vector<std::byte> bytes;
};

struct Stream : StallStream {
  explicit Stream(std::deque<Step>& next) : steps(next) {}
  Read read(std::span<std::byte> into) override {
    if (steps.empty()) {
      return {};
    }
    const Step step = steps.front();
    steps.pop_front();
    std::copy(step.bytes.begin(), step.bytes.end(), into.begin());
    return {step.outcome, step.bytes.size(), EINVAL};
  }
  std::deque<Step>& steps;
};

// Fakes two GTs. `refusals` is the number of times that opening a stream of each GT fails.
struct Gpus {
  std::vector<std::deque<Step>> steps{2};
  std::vector<unsigned> refusals{0, 0};
  std::vector<unsigned> opened{0, 0};
  std::vector<uint64_t> rates;
};

struct Devices : StallDevices {
  explicit Devices(Gpus& of) : gpus(of) {}
  Result<std::vector<StallGt>> find() override {
    std::vector<StallGt> all;
    for (uint32_t gt = 0; gt < 2; ++gt) {
      all.push_back({.bus = "0000:03:00.0",
                     .node = "/dev/dri/renderD128",
                     .gt = gt,
                     .layout = StallLayout::xe2,
                     .record_bytes = 64,
                     .rates = {251, 502, 1757}});
    }
    return all;
  }
  Result<std::unique_ptr<StallStream>> open(const StallGt& gt, uint64_t rate) override {
    if (gpus.refusals[gt.gt] > 0) {
      --gpus.refusals[gt.gt];
      return Error{"busy", "end it"};
    }
    ++gpus.opened[gt.gt];
    gpus.rates.push_back(rate);
    return std::unique_ptr<StallStream>(std::make_unique<Stream>(gpus.steps[gt.gt]));
  }
  Gpus& gpus;
};

struct SeenRecords : StallRecordSink {
  void on_record(const StallGt& gt, const StallRecord& record, uint64_t since_ns) override {
    records.emplace_back(gt.gt, record.address, record.samples());
    since.push_back(since_ns);
  }
  void on_dropped(const StallGt& gt) override { dropped.push_back(gt.gt); }
  std::vector<std::tuple<uint32_t, uint64_t, uint32_t>> records;
  std::vector<uint32_t> dropped;
  std::vector<uint64_t> since;
};

StallReader open(Gpus& gpus, uint64_t period = 0) {
  auto reader = StallReader::open(std::make_unique<Devices>(gpus), period);
  REQUIRE(reader);
  return std::move(*reader);
}

template <typename T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(value));
}

std::vector<std::byte> gt_list(const std::vector<std::pair<uint16_t, uint16_t>>& gts) {
  std::vector<std::byte> bytes;
  append(bytes, xe::GtList{.count = static_cast<uint32_t>(gts.size())});
  uint16_t id = 0;
  for (const auto& [type, version] : gts) {
    append(bytes, xe::Gt{.type = type, .id = id++, .version = version});
  }
  return bytes;
}

std::vector<std::byte> eu_stall(uint64_t record_bytes, const std::vector<uint64_t>& rates, uint64_t capabilities = 1) {
  std::vector<std::byte> bytes;
  append(bytes, xe::EuStall{.capabilities = capabilities, .record_bytes = record_bytes, .rates = rates.size()});
  for (const uint64_t rate : rates) {
    append(bytes, rate);
  }
  return bytes;
}

}  // namespace

TEST_CASE("every GT has a stream, at the same rate") {
  Gpus gpus;
  gpus.steps[0] = {{StallStream::Outcome::data, record(0x40, 2)}};
  gpus.steps[1] = {{StallStream::Outcome::data, record(0x48, 3)}};
  StallReader reader = open(gpus);
  SeenRecords seen;
  CHECK(reader.drain(seen, 0).any);
  CHECK(seen.records == std::vector<std::tuple<uint32_t, uint64_t, uint32_t>>{{0, 0x40, 2}, {1, 0x48, 3}});
  CHECK_FALSE(reader.drain(seen, 0).any);
  CHECK(reader.period() == 1757);
  CHECK(gpus.rates == std::vector<uint64_t>{1757, 1757});
}

TEST_CASE("the rate is the nearest to the requested one; the default has the fewest samples") {
  const std::vector<uint64_t> rates = {251, 502, 753, 1757};
  CHECK(choose_rate(rates, 0) == 1757);
  CHECK(choose_rate(rates, 32) == 251);
  CHECK(choose_rate(rates, 512) == 502);
  CHECK(choose_rate(rates, 1024) == 753);
  CHECK(choose_rate(rates, uint64_t{1} << 31) == 1757);
}

TEST_CASE("drops are counted, and later records are read") {
  Gpus gpus;
  gpus.steps[1] = {{StallStream::Outcome::dropped, {}}, {StallStream::Outcome::data, record(0x40, 1)}};
  StallReader reader = open(gpus);
  SeenRecords seen;
  reader.drain(seen, 0);
  CHECK(seen.dropped == std::vector<uint32_t>{1});
  CHECK(seen.records.size() == 1);
  CHECK(reader.facts().drops == 1);
}

TEST_CASE("a stream is reopened after a GPU reset, with retries") {
  Gpus gpus;
  gpus.steps[0] = {{StallStream::Outcome::lost, {}}, {StallStream::Outcome::data, record(0x40, 1)}};
  StallReader reader = open(gpus);
  SeenRecords seen;
  gpus.refusals[0] = 2;
  reader.drain(seen, 1000 * kMillisecond);
  CHECK(seen.records.empty());
  reader.drain(seen, 1050 * kMillisecond);  // too early for the next attempt
  CHECK(gpus.refusals[0] == 1);
  reader.drain(seen, 1100 * kMillisecond);
  CHECK(seen.records.empty());
  reader.drain(seen, 1200 * kMillisecond);
  CHECK(seen.records.size() == 1);
  CHECK(gpus.opened[0] == 2);
  CHECK(reader.facts().resets == 1);
}

TEST_CASE("a stream that fails is closed, and the other one goes on") {
  Gpus gpus;
  gpus.steps[0] = {{StallStream::Outcome::failed, {}}, {StallStream::Outcome::data, record(0x40, 1)}};
  gpus.steps[1] = {{StallStream::Outcome::data, record(0x48, 1)}};
  StallReader reader = open(gpus);
  SeenRecords seen;
  reader.drain(seen, 1000 * kMillisecond);
  reader.drain(seen, 9000 * kMillisecond);
  CHECK(seen.records.size() == 1);
  CHECK(gpus.opened[0] == 1);
}

TEST_CASE("an incomplete record is counted but not read") {
  Gpus gpus;
  auto bytes = record(0x40, 1);
  bytes.resize(64 + 13);
  gpus.steps[0] = {{StallStream::Outcome::data, bytes}};
  StallReader reader = open(gpus);
  SeenRecords seen;
  reader.drain(seen, 0);
  CHECK(seen.records.size() == 1);
  CHECK(reader.facts().malformed == 13);
}

TEST_CASE("a busy GT is skipped, and the error is returned if all are busy") {
  Gpus gpus;
  gpus.refusals[0] = 1;
  const StallReader reader = open(gpus);
  CHECK(reader.streams() == 1);
  REQUIRE(reader.refused().size() == 1);
  CHECK(reader.refused()[0].hint == "end it");
  gpus.refusals = {1, 1};
  const auto none = StallReader::open(std::make_unique<Devices>(gpus), 0);
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "busy");
}

TEST_CASE("GTs with EUs are found in the answers of the driver") {
  const auto gts = stall_gts(gt_list({{0, 20}, {1, 20}, {0, 35}}), eu_stall(64, {251, 502}));
  REQUIRE(gts);
  REQUIRE(gts->size() == 2);
  CHECK((*gts)[0].gt == 0);
  CHECK((*gts)[0].layout == StallLayout::xe2);
  CHECK((*gts)[1].gt == 2);
  CHECK((*gts)[1].layout == StallLayout::xe3p);
  CHECK((*gts)[1].rates == std::vector<uint64_t>{251, 502});
}

TEST_CASE("invalid answers of the driver are rejected") {
  const auto gts = gt_list({{0, 20}});
  const auto stalls = eu_stall(64, {251});
  CHECK(stall_gts(gts, stalls));
  for (size_t bytes = 0; bytes < gts.size(); ++bytes) {
    CHECK_FALSE(stall_gts(std::span(gts).first(bytes), stalls));
  }
  for (size_t bytes = 0; bytes < stalls.size(); ++bytes) {
    CHECK_FALSE(stall_gts(gts, std::span(stalls).first(bytes)));
  }
  CHECK_FALSE(stall_gts(gts, eu_stall(64, {})));
  CHECK_FALSE(stall_gts(gts, eu_stall(64, {251}, 0)));
  CHECK_FALSE(stall_gts(gts, eu_stall(13, {251})));  // 13 bytes are too few for a record of Xe2
  CHECK_FALSE(stall_gts(gts, eu_stall(uint64_t{1} << 40, {251})));
  auto many = gts;
  many[0] = std::byte{0xff};
  many[3] = std::byte{0xff};
  CHECK_FALSE(stall_gts(many, stalls));
}

TEST_CASE("only cards of the driver xe are used, and missing support is an error") {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("gpuprof-cards." + std::to_string(::getpid()));
  fs::create_directories(root / "sys/class/drm");
  const std::string path = root.string();
  CHECK(make_xe_stall_devices(path)->find()->empty());
  CHECK(stall_text(*make_xe_stall_devices(path)).empty());
  CHECK(StallReader::open(make_xe_stall_devices(path), 0).error().message == "no GPU uses the driver xe");

  // Queries of a card fail: first the card has no device node, then a plain file takes the place of the node, then
  // another device.
  for (const auto& [node, driver] : {std::pair("renderD128", "xe"), std::pair("renderD129", "amdgpu")}) {
    const fs::path device = root / "sys/devices" / (std::string("0000:03:00.") + driver);
    fs::create_directories(device);
    fs::create_directories(root / "sys/drivers" / driver);
    fs::create_directory_symlink(root / "sys/drivers" / driver, device / "driver");
    fs::create_directories(root / "sys/class/drm" / node);
    fs::create_directory_symlink(device, root / "sys/class/drm" / node / "device");
  }
  fs::create_directories(root / "dev/dri");
  const auto cannot = make_xe_stall_devices(path)->find();
  REQUIRE_FALSE(cannot);
  CHECK(cannot.error().message.starts_with("cannot open "));
  std::ofstream(root / "dev/dri/renderD128") << "no device";
  const auto plain = make_xe_stall_devices(path)->find();
  REQUIRE_FALSE(plain);
  CHECK(plain.error().message.ends_with("dev/dri/renderD128: No such device"));
  fs::remove(root / "dev/dri/renderD128");
  fs::create_symlink("/dev/null", root / "dev/dri/renderD128");
  const auto lacks = make_xe_stall_devices(path)->find();
  REQUIRE_FALSE(lacks);
  CHECK(lacks.error().message.starts_with("the GPU 0000:03:00.xe has no EU stall sampling: "));
  CHECK(lacks.error().hint.find("6.15") != std::string::npos);
  CHECK(stall_text(*make_xe_stall_devices(path)).starts_with("no EU stalls: "));
  fs::remove_all(root);
}

TEST_CASE("records that one poll leaves unread date back to when the stream was empty") {
  Gpus gpus;
  StallReader reader = open(gpus);
  SeenRecords seen;
  CHECK(reader.drain(seen, 1000 * kMillisecond).whole);
  for (unsigned i = 0; i <= StallReader::kMaxReads; ++i) {
    gpus.steps[0].push_back({StallStream::Outcome::data, record(0x40, 1)});
  }
  const auto part = reader.drain(seen, 2000 * kMillisecond);
  CHECK(part.any);
  CHECK_FALSE(part.whole);
  CHECK(reader.drain(seen, 3000 * kMillisecond).whole);
  CHECK(seen.since == std::vector<uint64_t>(StallReader::kMaxReads + 1, 1000 * kMillisecond));
  gpus.steps[0].push_back({StallStream::Outcome::data, record(0x40, 1)});
  reader.drain(seen, 4000 * kMillisecond);
  CHECK(seen.since.back() == 3000 * kMillisecond);
}

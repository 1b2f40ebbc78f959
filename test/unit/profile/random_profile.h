// Generates a random profile with every kind of record, and the sums that a reader must find.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "profile/log_buckets.h"
#include "profile/tables.h"
#include "profile/writer.h"

namespace gpuprof::test {

struct RandomProfile {
  std::string text;
  uint64_t records = 0;  // lines after the first line
  uint64_t gpu_ns = 0;
  uint64_t gpu_count = 0;
  uint64_t host_ns = 0;
  uint64_t busy_ns = 0;
  uint64_t idle_ns = 0;
  uint64_t launches = 0;
  uint64_t lost = 0;
  uint64_t samples = 0;
  uint64_t block_ns = 0;
  uint64_t latencies = 0;  // values in histograms
  uint64_t events = 0;

  explicit RandomProfile(unsigned seed) : random_(seed) {
    profile::format_header(text);
    define_names();
    define_places();
    define_works();
    gpu();  // a profile of samples alone has other sums
    for (uint32_t i = below(200); i > 0; --i) {
      measure();
    }
    add(profile::End{any(), launches, gpu_count, gpu_ns, any(), samples, lost});
  }

 private:
  template <typename Record>
  void add(const Record& record) {
    profile::format_line(record, text);
    ++records;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool maybe() { return below(2) == 0; }
  // Returns numbers of every length, including the limits.
  uint64_t any() {
    const uint64_t value = (uint64_t{random_()} << 32U) | random_();
    return below(8) == 0 ? UINT64_MAX : value >> below(64);
  }
  uint32_t any32() { return below(8) == 0 ? UINT32_MAX : static_cast<uint32_t>(random_()) >> below(32); }
  uint64_t small() { return any() >> 24U >> 16U; }  // their sums fit in 64 bits
  std::string any_text() {
    std::string out;
    for (uint32_t n = below(12); n > 0; --n) {
      out += static_cast<char>(below(256));
    }
    return out;
  }

  // Returns an unused id, which is the next one or a random one.
  template <typename Id>
  Id fresh(std::vector<Id>& ids) {
    for (;;) {
      const Id id{below(4) == 0 ? 1 + any32() % (UINT32_MAX - 1) : static_cast<uint32_t>(ids.size()) + 1};
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
        ids.push_back(id);
        return id;
      }
    }
  }
  template <typename Id>
  Id one_of(const std::vector<Id>& ids) {
    return ids[below(static_cast<uint32_t>(ids.size()))];
  }
  template <typename Id>
  Id or_none(const std::vector<Id>& ids) {
    return ids.empty() || below(4) == 0 ? Id{} : one_of(ids);
  }
  profile::StringId name() { return or_none(strings_); }

  void define_names() {
    add(profile::Meta{"command", any_text()});
    for (uint32_t i = 1 + below(20); i > 0; --i) {
      add(profile::String{fresh(strings_), any_text()});
    }
    for (uint32_t i = 1 + below(20); i > 0; --i) {
      add(profile::Frame{.id = fresh(frames_),
                         .kind = static_cast<profile::FrameKind>(below(8)),
                         .name = name(),
                         .file = name(),
                         .line = any32(),
                         .module = name(),
                         .build_id = name(),
                         .address = any()});
    }
  }

  void define_places() {
    for (const bool kernel : {false, true}) {
      for (uint32_t i = 1 + below(10); i > 0; --i) {
        std::vector<profile::StackElement> elements(below(8));
        std::vector<std::string> texts(elements.size());
        for (size_t n = 0; n < elements.size(); ++n) {
          texts[n] = "x" + any_text();
          switch (below(3)) {
            case 0:
              elements[n].frame = one_of(frames_);
              break;
            case 1:
              elements[n] = {.address = any(), .is_address = true};
              break;
            default:
              elements[n].text = std::string_view(texts[n]).substr(texts[n].size() > 1 ? below(2) : 0);
          }
        }
        add(profile::Stack{kernel, fresh(kernel ? kstacks_ : ustacks_), elements});
      }
    }
    for (uint32_t i = 1 + below(3); i > 0; --i) {
      add(profile::Process{fresh(processes_), any32(), any32(), any(), name(), name(), name(), name()});
      add(profile::Device{fresh(devices_), name(), any32(), name(), name()});
    }
    for (uint32_t i = below(10); i > 0; --i) {
      const profile::RangeId parent = or_none(ranges_);
      add(profile::Range{fresh(ranges_), parent, name(), name()});
    }
    for (uint32_t i = 1 + below(5); i > 0; --i) {
      add(profile::GpuModule{fresh(modules_), name(), name()});
      std::vector<profile::FrameId> lines(below(4));
      std::generate(lines.begin(), lines.end(), [this] { return one_of(frames_); });
      add(profile::GpuPlace{fresh(gpu_places_), or_none(modules_), name(), any(), name(), lines});
      // This instruction has no text, because merging would give the text to all equal locations.
      if (below(2) == 0) {
        add(profile::GpuInstruction{gpu_places_.back(), profile::StringId{}, or_none(gpu_places_), name()});
      }
      add(profile::GpuCount{processes_.back(), devices_.back(), gpu_places_.back(), strings_.back(),
                            gpu_places_.size()});
      add(profile::Sampling{fresh(samplings_), any(), name()});
    }
  }

  void define_works() {
    std::vector<profile::WorkId> all;
    for (uint32_t i = 0; i < 18 + below(40); ++i) {
      const auto op = static_cast<profile::Op>(i % 18);  // each operation occurs at least once
      const profile::WorkId id = fresh(all);
      works_[static_cast<size_t>(profile::work_kind(op))].push_back(id);
      add(profile::Work{.id = id,
                        .process = or_none(processes_),
                        .tid = any32(),
                        .thread = name(),
                        .ustack = or_none(ustacks_),
                        .kstack = or_none(kstacks_),
                        .capture = or_none(ustacks_),
                        .range = or_none(ranges_),
                        .device = or_none(devices_),
                        .stream = any(),
                        .op = op,
                        .name = name(),
                        .flags = below(8)});
    }
  }

  profile::WorkId work(profile::WorkKind kind) { return one_of(works_[static_cast<size_t>(kind)]); }

  void measure() {
    using profile::WorkKind;
    const uint64_t start = any() / 2;
    const uint64_t end = start + any() / 2;
    switch (below(15)) {
      case 0:
        return gpu();
      case 1:
        return latency();
      case 2: {
        const profile::Host r{any(), work(WorkKind::host), 1 + below(3), small() + 2000, below(1000), 2000, small()};
        host_ns += r.sum_ns;
        return add(r);
      }
      case 3:
        launches += 3;
        return add(profile::Launch{any(), work(WorkKind::launch), 3});
      case 4: {
        const profile::Share r{any(), work(WorkKind::gpu), small(), small()};
        busy_ns += r.busy_ns;
        return add(r);
      }
      case 5: {
        const auto kind = static_cast<WorkKind>(below(3));
        const profile::Idle r{any(), one_of(devices_), maybe() ? work(kind) : profile::WorkId{}, small()};
        idle_ns += r.ns;
        return add(r);
      }
      case 6:
        return add(profile::Window{start, start + small(), 1 + start % 3});
      case 7:
        ++events;
        return add(profile::Event{work(static_cast<WorkKind>(below(3))), any(), start, end, any(), any(), any()});
      case 8:
        ++events;
        return add(profile::Call{or_none(processes_), any32(), or_none(ustacks_), name(), any(), start, end});
      case 9:
        ++events;
        return add(profile::Span{or_none(processes_), any32(), or_none(ranges_), start, end});
      case 10:
        return add(profile::Weighted{any(), one_of(processes_), small()});
      case 11: {
        const profile::Loss r{or_none(processes_), maybe() ? "ring_full" : "of_the_future", small()};
        lost += r.count;
        return add(r);
      }
      case 13:
        return duration();
      case 12: {
        const profile::EuStall r{
            any(), work(WorkKind::gpu), or_none(gpu_places_), name(), or_none(samplings_), small(), below(2)};
        samples += r.count;
        return add(r);
      }
      default:
        return add(profile::Coverage{or_none(processes_), maybe() ? "matched" : "new;word", small()});
    }
  }

  void gpu() {
    profile::Gpu r;
    r.slice = any();
    r.work = work(profile::WorkKind::gpu);
    r.count = 1 + below(5);
    r.min_ns = small();
    r.max_ns = r.min_ns + small();
    r.sum_ns = r.count * r.min_ns + (r.max_ns - r.min_ns);
    r.sum_squares_ns2 = profile::Uint128{any()} * any();
    r.queue_ns = any();
    r.bytes = small();
    gpu_ns += r.sum_ns;
    gpu_count += r.count;
    add(r);
  }

  void duration() {
    profile::Duration r;
    std::vector<profile::Duration::Bucket> buckets;
    for (size_t i = below(5); i > 0; --i) {
      profile::count_of_bucket(buckets, static_cast<uint32_t>(below(profile::DurationBuckets::kCount))) += 1 + below(9);
    }
    r.slice = small();
    r.work = work(profile::WorkKind::gpu);
    r.buckets = buckets;
    add(r);
  }

  void latency() {
    std::vector<uint64_t> values(1 + below(6));
    profile::Latency r;
    std::vector<profile::Latency::Bucket> buckets;
    for (uint64_t& value : values) {
      value = small();
      buckets.push_back({profile::LatencyBuckets::of(value), 1});
      r.sum_ns += value;
    }
    r.work = work(profile::WorkKind::gpu);
    r.phase = static_cast<profile::Phase>(below(4));
    r.count = values.size();
    r.min_ns = *std::min_element(values.begin(), values.end());
    r.max_ns = *std::max_element(values.begin(), values.end());
    r.buckets = buckets;
    latencies += r.count;
    add(r);
    blocks(r.work, r.max_ns);
  }

  // Adds the blocks of a launch: two blocks of equal length, at the same time.
  void blocks(profile::WorkId work, uint64_t ns) {
    const profile::Blocks::Bucket bucket{profile::DurationBuckets::of(ns), 2};
    block_ns += 2 * ns;
    add(profile::Blocks{.slice = ns % 3,
                        .work = work,
                        .launches = 1,
                        .grid = 3,
                        .blocks = 2,
                        .span_ns = ns,
                        .sum_ns = 2 * ns,
                        .busy_ns = 2 * ns,
                        .sm_ns = 2 * ns,
                        .busiest_ns = ns,
                        .mean_ns = ns,
                        .concurrent = 2,
                        .slowest_ns = ns,
                        .correlation = ns,
                        .buckets = {&bucket, 1}});
  }

  std::mt19937 random_;
  std::vector<profile::StringId> strings_;
  std::vector<profile::FrameId> frames_;
  std::vector<profile::StackId> ustacks_;
  std::vector<profile::StackId> kstacks_;
  std::vector<profile::ProcessId> processes_;
  std::vector<profile::DeviceId> devices_;
  std::vector<profile::RangeId> ranges_;
  std::vector<profile::GpuModuleId> modules_;
  std::vector<profile::GpuPlaceId> gpu_places_;
  std::vector<profile::SamplingId> samplings_;
  std::array<std::vector<profile::WorkId>, 3> works_;  // indexed by WorkKind
};

inline std::string damaged(std::string text, unsigned seed) {
  std::mt19937 random(seed);
  constexpr char kBytes[] = ";;;0019-x\\\n\r\0\xff";
  for (auto n = random() % 8; n > 0 && !text.empty(); --n) {
    const size_t at = random() % text.size();
    const char byte = kBytes[random() % (std::size(kBytes) - 1)];
    switch (random() % 3) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.erase(at, 1 + random() % 3);
        break;
      default:
        text.insert(at, 1, byte);
    }
  }
  return text;
}

}  // namespace gpuprof::test

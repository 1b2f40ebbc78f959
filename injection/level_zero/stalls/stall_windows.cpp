#include "level_zero/stalls/stall_windows.h"

#include "base/atomics.h"
#include "ipc/emit.h"
#include "ipc/ring.h"
#include "level_zero/devices.h"

namespace gpuprof::injection::level_zero {
namespace {

uint32_t last_window = 0;  // atomic

// All records use one ring, so that the recorder reads them in order.
constexpr uint32_t kRing = 0;

bool write(gpuprof_record* head, size_t bytes, const gpuprof_sample_reason* reasons, uint32_t count) {
  gpuprof_segment* segment = open_segment();
  return segment != nullptr && write_record_to(segment, kRing, head, bytes, reinterpret_cast<const char*>(reasons),
                                               count * sizeof(gpuprof_sample_reason), true);
}

}  // namespace

void StallWindows::begin(uint32_t device, uint32_t whole, const uint32_t* parts, uint32_t count) {
  *this = {};
  device_ = device;
  whole_ = whole;
  part_count_ = count < kMaxSubDevices ? count : kMaxSubDevices;
  for (uint32_t i = 0; i < part_count_; ++i) {
    parts_[i] = parts[i];
  }
}

// Returns the index in `windows_` for one of the driver's sets of samples. If there is a set per sub-device, this is
// the sub-device's window (set + 1). Otherwise it is 0, the window of the device itself.
uint32_t StallWindows::part_of_set(uint32_t set, uint32_t sets) const {
  return sets > 1 && sets == part_count_ ? set + 1 : 0;
}

uint32_t StallWindows::device_of(uint32_t part) const {
  return part == 0 ? device_ : parts_[part - 1];
}

void StallWindows::add(const StallGroup& group, const StallStream::Read& read, const zet_typed_value_t* values,
                       StallSums* sums) {
  for (uint32_t set = 0; set < read.sets; ++set) {
    const uint32_t part = part_of_set(set, read.sets);
    uint32_t left = read.count[set];
    for (; left >= group.layout.metrics; left -= group.layout.metrics, values += group.layout.metrics) {
      StallSample sample;
      if (!read_row(group.layout, values, &sample)) {
        ++malformed_;
        ++windows_[part].dropped;
        continue;
      }
      if (!sums->add(part, sample)) {
        emit(group, sums);
        sums->add(part, sample);
      }
    }
    if (left != 0) {  // the last row is incomplete
      ++malformed_;
      ++windows_[part].dropped;
      values += left;
    }
  }
}

void StallWindows::emit(const StallGroup& group, StallSums* sums) {
  sums->take_all([&](uint32_t part, const StallSums::Sum& sum) { emit(group, part, sum); });
}

void StallWindows::emit(const StallGroup& group, uint32_t part, const StallSums::Sum& sum) {
  gpuprof_sample_reason reasons[kMaxReasons];
  alignas(gpuprof_samples) uint8_t head[sizeof(gpuprof_samples)] = {};
  auto& record = *reinterpret_cast<gpuprof_samples*>(head);
  Window& window = windows_[part];
  for (uint32_t i = 0; i < group.layout.reasons; ++i) {
    if (sum.counts[i] != 0 && group.reason_ids[i] != 0) {
      reasons[record.count++] = {group.reason_ids[i], sum.counts[i]};
      window.handed += sum.counts[i];
    } else {
      window.dropped += sum.counts[i];  // the reason has no name id, so its samples cannot be reported
    }
  }
  if (record.count == 0) {
    return;
  }
  window.number = window.number != 0 ? window.number : add_relaxed(&last_window, 1U) + 1;
  record.header.type = GPUPROF_RECORD_SAMPLES;
  record.offset = sum.address;
  record.window = window.number;
  record.flags = GPUPROF_SAMPLES_ADDRESS | (sum.address <= UINT32_MAX ? GPUPROF_SAMPLES_LOW_ADDRESS : 0U);
  write(&record.header, sizeof(record), reasons, record.count);
}

void StallWindows::close(const StallGroup& group, uint64_t start_ns, uint64_t end_ns, uint32_t period_ns,
                         StallSums* sums) {
  emit(group, sums);
  for (uint32_t part = 0; part <= part_count_; ++part) {
    Window& window = windows_[part];
    if (window.handed + window.dropped == 0) {
      continue;
    }
    announce_device(device_of(part));
    gpuprof_sample_window record = {};
    record.header.type = GPUPROF_RECORD_SAMPLE_WINDOW;
    record.start_ns = window.since_ns != 0 ? window.since_ns : start_ns;
    record.end_ns = end_ns > start_ns ? end_ns : start_ns + 1;
    record.handed = window.handed;
    record.dropped = window.dropped;
    record.period = period_ns;
    record.window = window.number != 0 ? window.number : add_relaxed(&last_window, 1U) + 1;
    record.device = device_of(part);
    record.whole = whole_;
    record.flags = GPUPROF_SAMPLE_WINDOW_NS;
    if (write(&record.header, sizeof(record), nullptr, 0)) {
      window = {};
    } else {  // The ring is full, because the recorder is delayed. So the next window includes this one.
      window.number = record.window;
      window.since_ns = record.start_ns;
    }
  }
}

void StallWindows::forget(StallSums* sums) {
  sums->take_all([](uint32_t /*part*/, const StallSums::Sum& /*sum*/) {});
  for (Window& window : windows_) {
    window = {};
  }
}

}  // namespace gpuprof::injection::level_zero

#include "backend/drm/stalls/stall_reader.h"

#include <cstring>
#include <utility>

#include "base/log.h"

namespace gpuprof::backend::drm {

Result<StallReader> StallReader::open(std::unique_ptr<StallDevices> devices, uint64_t wanted_period) {
  auto gts = devices->find();
  if (!gts) {
    return gts.error();
  }
  StallReader reader(std::move(devices));
  for (const StallGt& gt : *gts) {
    const uint64_t rate = choose_rate(gt.rates, wanted_period);
    auto stream = reader.devices_->open(gt, rate);
    if (!stream) {
      reader.refused_.push_back(stream.error());
      continue;
    }
    reader.period_ = rate;
    reader.streams_.push_back({.gt = gt, .stream = std::move(*stream)});
  }
  if (reader.streams_.empty()) {
    return reader.refused_.empty() ? Error{"no GPU uses the driver xe",
                                           "EU stall sampling by the kernel needs a GPU with the driver xe, and Linux "
                                           "6.15 or later; programs that use Level Zero can be sampled without it: "
                                           "--backend level_zero --stalls"}
                                   : reader.refused_.front();
  }
  return reader;
}

StallReader::Drained StallReader::drain(StallRecordSink& sink, uint64_t now_ns) {
  Drained all{false, true};
  for (Open& open : streams_) {
    const auto [any, whole] = drain(open, sink, now_ns);
    all = {all.any || any, all.whole && whole};
  }
  return all;
}

StallReader::Drained StallReader::drain(Open& open, StallRecordSink& sink, uint64_t now_ns) {
  if (open.stream == nullptr) {
    reopen(open, now_ns);
  }
  if (open.empty_ns == 0) {
    open.empty_ns = now_ns;
  }
  bool any = false;
  for (unsigned i = 0; i < kMaxReads && open.stream != nullptr; ++i) {
    const auto [outcome, bytes, error] = open.stream->read(*buffer_);
    switch (outcome) {
      case StallStream::Outcome::nothing:
        open.empty_ns = now_ns;
        return {any, true};
      case StallStream::Outcome::data:
        take(open, bytes, sink);
        break;
      case StallStream::Outcome::dropped:
        ++facts_.drops;
        sink.on_dropped(open.gt);
        break;
      case StallStream::Outcome::lost:
        ++facts_.resets;
        open.stream.reset();
        reopen(open, now_ns);
        break;
      case StallStream::Outcome::failed:
        log::warn("no more stalls of " + open.gt.text() + ": " + std::strerror(error),
                  "the profile contains the stalls before this error");
        open.tries = kMaxTries;
        open.stream.reset();
        break;
    }
    any = true;
  }
  return {any, open.stream == nullptr};
}

void StallReader::take(const Open& open, size_t bytes, StallRecordSink& sink) {
  const std::span<const std::byte> all(buffer_->data(), std::min(bytes, buffer_->size()));
  const size_t size = open.gt.record_bytes;
  size_t at = 0;
  for (; all.size() - at >= size; at += size) {
    if (const auto record = decode_stall(open.gt.layout, all.subspan(at, size))) {
      sink.on_record(open.gt, *record, open.empty_ns);
    }
  }
  facts_.malformed += all.size() - at;
}

// Tries again later if opening fails, because a GPU may need a moment after a reset.
void StallReader::reopen(Open& open, uint64_t now_ns) {
  if (open.tries >= kMaxTries || now_ns < open.next_try_ns) {
    return;
  }
  ++open.tries;
  open.next_try_ns = now_ns + kRetryNs;
  auto stream = devices_->open(open.gt, period_);
  if (stream) {
    open.stream = std::move(*stream);
    open.tries = 0;
    open.next_try_ns = 0;
  } else if (open.tries == kMaxTries) {
    log::warn("no more stalls since a reset of the GPU: " + stream.error().message, stream.error().hint);
  }
}

}  // namespace gpuprof::backend::drm

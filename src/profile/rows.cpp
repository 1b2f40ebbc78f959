#include "profile/rows.h"

#include "profile/number_row.h"

namespace gpuprof::profile {

const char* take_row(const char* begin, const char* limit, Gpu& out) {
  NumberRow row(begin, limit);
  uint64_t squares = 0;
  const bool taken = row.take(out.slice) && row.take_narrow(out.work) && row.take(out.count) && row.take(out.sum_ns) &&
                     row.take(out.min_ns) && row.take(out.max_ns) && row.take(squares) && row.take(out.queue_ns) &&
                     row.last(out.bytes);
  out.sum_squares_ns2 = squares;
  return taken && Uint128{out.count} * out.min_ns <= out.sum_ns && out.sum_ns <= Uint128{out.count} * out.max_ns
             ? row.at()
             : nullptr;
}

const char* take_row(const char* begin, const char* limit, EuStall& out) {
  NumberRow row(begin, limit);
  uint64_t flags = 0;
  const bool taken = row.take(out.slice) && row.take_narrow(out.work) && row.take_narrow(out.place) &&
                     row.take_narrow(out.reason) && row.take_narrow(out.sampling) && row.take(out.count) &&
                     row.last(flags);
  out.flags = static_cast<uint32_t>(flags);
  return taken && flags <= kSampleEstimated ? row.at() : nullptr;
}

const char* take_row(const char* begin, const char* limit, Share& out) {
  NumberRow row(begin, limit);
  const bool taken =
      row.take(out.slice) && row.take_narrow(out.work) && row.take(out.busy_ns) && row.last(out.exclusive_ns);
  return taken ? row.at() : nullptr;
}

}  // namespace gpuprof::profile

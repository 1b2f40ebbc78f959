#include "analyze/rows/launch_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "profile/coverage.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// A double has fewer digits than the value.
uint64_t scaled(uint64_t value, double factor) {
  return static_cast<uint64_t>(std::llroundl(static_cast<long double>(value) * factor));
}

void scale(Weight& weight, double factor) {
  for (uint64_t Weight::*const number : Weight::kNumbers) {
    weight.*number = scaled(weight.*number, factor);
  }
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 1;
}

}  // namespace

void LaunchScale::add(const p::Coverage& line) {
  for (const auto& [what, number] : {std::pair(p::CoverageCount::represented, &Counts::represented),
                                     {p::CoverageCount::weighted, &Counts::weighted}}) {
    if (line.what == p::word(what)) {
      processes_[line.process].*number += static_cast<double>(line.count);
    }
  }
}

double LaunchScale::of(p::ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 1 : ratio(found->second.represented, found->second.weighted);
}

void LaunchScale::apply(Aggregate& rows) const {
  constexpr double kMost = 9e18;  // fits 64 bits
  double most = 1;
  for (const auto& entry : processes_) {
    most = std::max(most, of(entry.first));
  }
  const Weight& total = rows.total;
  const Weight& host = rows.host_total;
  if (static_cast<double>(std::max({total.ns, total.count, total.bytes, host.ns, host.count, host.bytes})) >
      kMost / most) {
    return;
  }
  const Weight before = std::exchange(rows.total, {});
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    Row& row = rows.rows[i];
    const double factor = of(rows.work(row).process);
    scale(row.weight, factor);
    rows.total += row.weight;
    if (i < rows.squares.size()) {
      rows.squares[i] *= factor;
    }
    if (i < rows.queue_ns.size()) {
      rows.queue_ns[i] = scaled(rows.queue_ns[i], factor);
    }
  }
  for (Row& row : rows.host) {
    scale(row.weight, of(rows.work(row).process));
  }
  // These sums do not know their processes.
  const double mean = ratio(static_cast<double>(rows.total.count), static_cast<double>(before.count));
  scale(rows.host_total, mean);
  for (uint64_t* sum : {&rows.info.gpu_records, &rows.info.with_stack, &rows.queue_total_ns}) {
    *sum = scaled(*sum, mean);
  }
}

}  // namespace gpuprof::analyze

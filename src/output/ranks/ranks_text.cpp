#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analyze/rows/time_window.h"
#include "analyze/subsets/subset_meta.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "output/ranks/ranks.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using analyze::Difference;
using analyze::JobRank;
using analyze::LaggingRank;

constexpr size_t kRankNumber = 9;
constexpr size_t kMostRankName = 24;
constexpr size_t kMostHost = 16;

std::string share_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

std::string signed_share_text(double share) {
  return (share < 0 ? "" : "+") + share_text(share);
}

std::string rank_share_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : share_text(static_cast<double>(part) / static_cast<double>(whole));
}

std::string fit(const std::string& text, size_t most) {
  std::string shown = shown_name(text);
  return shown.size() <= most ? shown : shown_name(text.substr(0, most - 3)) + "...";
}

bool lags(const RanksView& view, size_t rank) {
  const auto& laggards = view.verdict.laggards;
  return std::any_of(laggards.begin(), laggards.end(), [&](const LaggingRank& one) { return one.lag.rank == rank; });
}

// Selects the ranks that lag, and then the ranks that spend the most time on their own work. Returns them sorted by
// name.
std::vector<size_t> shown_ranks(const RanksView& view) {
  const auto& ranks = view.job.ranks();
  std::vector<size_t> order(ranks.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  if (view.top == 0 || view.top >= order.size()) {
    return order;
  }
  const auto own = [&](size_t i) {
    return own_share(view, ranks[i].total, span_of(ranks[i], view.job.block_ns()).ns) + (lags(view, i) ? 2 : 0);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return own(a) > own(b); });
  order.resize(view.top);
  std::sort(order.begin(), order.end());
  return order;
}

void print_table(const RanksView& view, TextStream& out) {
  const auto& ranks = view.job.ranks();
  const std::vector<size_t> shown = shown_ranks(view);
  size_t name = 4;
  size_t host = 4;
  for (const size_t i : shown) {
    name = std::max(name, fit(ranks[i].name, kMostRankName).size());
    host = std::max(host, fit(ranks[i].host, kMostHost).size());
  }
  std::string& text = out.text();
  text += std::string("rank") + std::string(name - 4 + 2, ' ') + "host" + std::string(host - 4, ' ');
  for (const char* column : {"time", "GPU busy", "in coll.", "before", "waits", "idle"}) {
    append_right(column, kRankNumber, text);
  }
  text += "\n";
  for (const size_t i : shown) {
    const JobRank& rank = ranks[i];
    const auto [span, idle_ns] = span_of(rank, view.job.block_ns());
    const std::string shown_rank = fit(rank.name, kMostRankName);
    const std::string shown_host = fit(rank.host, kMostHost);
    text += shown_rank + std::string(name - shown_rank.size() + 2, ' ') + shown_host +
            std::string(host - shown_host.size(), ' ');
    append_right(duration_text(span), kRankNumber, text);
    append_right(rank_share_of(rank.total.busy, span), kRankNumber, text);
    append_right(view.verdict.by_collectives ? rank_share_of(rank.total.collective, span) : "-", kRankNumber, text);
    append_right(view.verdict.by_collectives ? share_text(own_share(view, rank.total, span)) : "-", kRankNumber, text);
    append_right(view.job.has_waits() ? rank_share_of(rank.total.waits, span) : "-", kRankNumber, text);
    append_right(view.job.has_idle() ? rank_share_of(idle_ns, span) : "-", kRankNumber, text);
    text += lags(view, i) ? "  <- lags\n" : "\n";
    out.checkpoint();
  }
  if (shown.size() < ranks.size()) {
    text += "... and " + count_text(ranks.size() - shown.size()) + " more: --top 0 shows all\n";
  }
  if (view.verdict.by_collectives && view.job.has_waits() && !view.job.collectives_on_gpu()) {
    text += "waits: without the waits in collectives\n";
  }
  text += "time: the slices from the rank's first work to its last, so up to two slices too long\n";
  if (view.job.has_idle()) {
    text += "idle: average of the rank's devices in that time";
    text += view.verdict.by_collectives ? ", without CPU waits in collectives\n" : "\n";
  }
}

std::string rank_path_text(const RanksView& view, const Difference& difference) {
  const analyze::CallPath path = view.job.call_path(view.job.paths()[difference.path]);
  return callers_text("      from", callers_of(path), view.width);
}

// Why a kernel or call needs more time on this rank. A cause counts if it explains at least a tenth of the excess.
struct Causes {
  bool more_often = false;
  bool longer = true;  // each run takes longer
};

Causes causes_of(const Difference& difference) {
  constexpr double kLeastPart = 0.1;
  if (difference.others_ns == 0) {  // most other ranks do not run it at all
    return {.more_often = difference.count > 0, .longer = difference.count <= 0};
  }
  if (difference.count <= 0 || difference.others_count <= 0) {
    return {};
  }
  // The ratio of the times is the product of two ratios: of the counts, and of the time of one run. So their logarithms
  // add up.
  const double part = std::log(difference.count / difference.others_count) /
                      std::log(static_cast<double>(difference.ns) / static_cast<double>(difference.others_ns));
  return {.more_often = part >= kLeastPart, .longer = part <= 1 - kLeastPart};
}

std::string versus(const Difference& difference) {
  std::string text = duration_text(difference.ns) + " against " + duration_text(difference.others_ns);
  if (difference.count > 0 && difference.others_count > 0) {
    if (causes_of(difference).more_often) {
      char counts[64];
      std::snprintf(counts, sizeof counts, ", %.1f times against %.1f", difference.count, difference.others_count);
      text += counts;
    }
    const auto each = [](uint64_t ns, double count) {
      return duration_text(static_cast<uint64_t>(static_cast<double>(ns) / count));
    };
    text += ", each " + each(difference.ns, difference.count) + " against " +
            each(difference.others_ns, difference.others_count);
  }
  return text;
}

void print_differences(const RanksView& view, const char* begin, const std::vector<Difference>& list, TextStream& out) {
  for (const Difference& difference : list) {
    const std::string name = view.job.kernel(view.job.paths()[difference.path]);
    // With CPU samples, idle time has causes instead of the work that follows: "[sleeps]".
    const bool is_cause =
        view.job.paths()[difference.path].activity == analyze::Activity::idle && name.starts_with('[');
    out.append("  " + std::string(is_cause ? "  " : begin) + shown_kernel(name, 40) + ": " + versus(difference) + "\n");
    out.append(rank_path_text(view, difference) + "\n");
  }
}

// "on CPU in fetch_batch (loader.cpp:95)", "sleeps"
std::string cause_text(const analyze::CpuCause& cause) {
  std::string text = shown_text(cause.state);
  if (!cause.function.empty()) {
    text += " in " + shown_kernel(cause.function, 60);
  }
  return cause.location.empty() ? text : text + " (" + shown_text(cause.location) + ")";
}

// Returns the start of a block on the job's clock, which starts when all ranks are running.
std::string job_time(const RanksView& view, uint64_t block) {
  return analyze::exact_seconds(view.job.begin_ns(block) - view.job.begin_ns(view.verdict.first));
}

std::string since_text(const RanksView& view, const analyze::Lag& lag) {
  std::string text = job_time(view, lag.first) + " of the job (";
  if (lag.first_earliest < lag.first_latest) {
    text += "or from " + job_time(view, lag.first_earliest) + " to " + job_time(view, lag.first_latest) + "; ";
  }
  return text + analyze::exact_seconds(view.job.begin_ns(lag.first)) + " of the recording, slice " +
         std::to_string(view.job.begin_slice(lag.first)) + ")";
}

void print_laggard(const RanksView& view, const LaggingRank& one, TextStream& out) {
  const analyze::Lag& lag = one.lag;
  const std::string unit = view.job.block_slices() == 1 ? "slice" : std::to_string(view.job.block_slices()) + " slices";
  out.append("  " + std::string(view.verdict.by_collectives ? "time before collectives" : "GPU time") + ", per " +
             unit + ": " + duration_text(static_cast<uint64_t>(lag.own_ns)) + " against " +
             duration_text(static_cast<uint64_t>(lag.others_ns)) + " of the others (median)" +
             (lag.others_ns > 0 ? ", " + signed_share_text(lag.own_ns / lag.others_ns - 1) : "") + "\n  " +
             (lag.waited_for ? "median of the differences in each " + unit : "minimum GPU work per collective") +
             ": +" + share_text(lag.effect) + " of the others' median in the whole job; noise " +
             share_text(lag.noise) + (lag.by_work && lag.waited_for ? " of GPU work" : "") + "\n");
  if (view.verdict.by_collectives) {
    out.append("  time in collectives: " + share_text(one.collective_share) + " against " +
               share_text(one.others_collective_share) + "\n");
  }
  const double longer = static_cast<double>(one.gpu_ns) - static_cast<double>(one.others_gpu_ns);
  const bool is_most = longer >= (lag.own_ns - lag.others_ns) / 2;
  out.append("  GPU: " + duration_text(one.gpu_ns) + " of work against " + duration_text(one.others_gpu_ns) +
             (!one.by_gpu ? ": the GPU does not cause the lag, the CPU is late\n"
              : is_most   ? ": this causes the lag\n"
                          : ": this causes a part of the lag, the CPU is late, too\n"));
  print_differences(view, "  ", one.kernels, out);
  if (view.job.has_idle()) {
    out.append("  CPU: what this rank did longer than the other ranks while its device was idle\n");
    print_differences(view, "  before ", one.idle, out);
    if (one.idle.empty()) {
      out.append("    nothing\n");
    }
  }
  print_differences(view, "CPU: ", one.host, out);
  for (const analyze::CpuCause& cause : one.cpu) {
    out.append("  CPU: " + cause_text(cause) + ": " + duration_text(cause.ns) + " against " +
               duration_text(cause.others_ns) + "\n");
  }
}

}  // namespace

// The profile counts time in the block in which it ends. So idle time that exceeds the block's length belongs to
// earlier blocks, and long work in the first blocks began before them, such as a wait for ranks that start later. Idle
// time before that is not part of the job: the device waited for the program to start.
RankSpan span_of(const JobRank& rank, uint64_t block_ns) {
  const auto works = [](const analyze::RankCell& cell) { return cell.busy + cell.collective + cell.waits > 0; };
  const auto first = std::find_if(rank.cells.begin(), rank.cells.end(), works);
  auto cell = std::find_if(rank.cells.rbegin(), rank.cells.rend(), works).base();
  const uint64_t devices = std::max<uint64_t>(1, rank.idle_devices.size());
  RankSpan span;
  uint64_t carried = 0;
  while (cell > first) {
    --cell;
    const uint64_t idle = cell->idle / devices + carried;
    carried = idle - std::min(idle, block_ns);
    span.idle_ns += idle - carried;
    span.ns += block_ns;
  }
  uint64_t gpu = 0;  // how long before the first block such work began
  uint64_t wait = 0;
  uint64_t since_first = 0;
  for (auto later = first; later != rank.cells.end(); ++later) {
    since_first += block_ns;
    gpu = std::max(gpu, later->longest_gpu - std::min(later->longest_gpu, since_first));
    wait = std::max(wait, later->longest_wait - std::min(later->longest_wait, since_first));
  }
  span.ns = saturating_add(span.ns, std::max(gpu, wait));
  span.idle_ns += std::min(carried, wait - std::min(wait, gpu));
  return span;
}

double own_share(const RanksView& view, const analyze::RankCell& cell, uint64_t ns) {
  if (ns == 0) {
    return 0;
  }
  const auto share = [ns](uint64_t part) { return static_cast<double>(part) / static_cast<double>(ns); };
  return view.verdict.by_collectives ? std::max(0.0, 1 - share(cell.collective)) : std::min(1.0, share(cell.busy));
}

std::string verdict_line(const RanksView& view) {
  const analyze::JobVerdict& verdict = view.verdict;
  if (!verdict.inconclusive.empty()) {
    return "Inconclusive: " + verdict.inconclusive;
  }
  if (verdict.laggards.empty()) {
    return "No rank lags.";
  }
  const LaggingRank& worst = verdict.laggards.front();
  const auto& rank = view.job.ranks()[worst.lag.rank];
  std::string text = "Rank " + fit(rank.name, kMostRankName) + " lags since " + since_text(view, worst.lag);
  if (worst.lag.last < verdict.last) {
    text += " until " + job_time(view, worst.lag.last + 1) + " of the job";
  }
  text += !verdict.by_collectives ? ": it has more GPU work than the others"
          : worst.lag.waited_for  ? ": the others wait for it"
                                  : ": it has more GPU work, but the others are not seen to wait for it";
  if (worst.by_gpu && !worst.kernels.empty()) {
    const Difference& kernel = worst.kernels.front();
    const Causes causes = causes_of(kernel);
    text += ". " + shown_kernel(view.job.kernel(view.job.paths()[kernel.path]), 40) +
            (!causes.more_often ? " takes longer"
             : !causes.longer   ? " runs more often"
                                : " runs more often and takes longer each time");
  } else if (!worst.by_gpu) {
    text += ". Its GPU work does not take longer than that of the others: its CPU is late";
    // A cause that explains less than a quarter of the lag may be noise.
    const char* separator = ": ";
    for (const analyze::CpuCause& cause : worst.cpu) {
      if (static_cast<double>(cause.ns - cause.others_ns) >= (worst.lag.own_ns - worst.lag.others_ns) / 4) {
        text += std::exchange(separator, ", ") + cause_text(cause);
      }
    }
  }
  return text + ".";
}

void ranks_text(const RanksView& view, TextStream& out) {
  const analyze::Job& job = view.job;
  const std::string shift = analyze::slice_shift_text(job.info().meta);
  out.append(
      counted_text(job.ranks().size(), "rank") + ", " + duration_text(job.blocks() * job.block_ns()) +
      " in slices of " + analyze::slice_lengths(job.grid()) + (shift.empty() ? "" : " (" + shift + ")") +
      (job.block_slices() > 1 ? ", compared " + std::to_string(job.block_slices()) + " at a time" : "") +
      (job.collectives() > 0 ? "; " + counted_text(job.collectives(), "collective") + "\n" : "; no collectives\n"));
  if (view.verdict.inconclusive.empty()) {
    out.append("The job's clock begins when all ranks run, " +
               analyze::exact_seconds(job.begin_ns(view.verdict.first)) + " after the recording began.\n");
  }
  out.append("\n" + verdict_line(view) + "\n");
  for (const LaggingRank& one : view.verdict.laggards) {
    if (&one != view.verdict.laggards.data()) {
      out.append("\nRank " + fit(job.ranks()[one.lag.rank].name, kMostRankName) + " lags, too, since " +
                 since_text(view, one.lag) + ".\n");
    }
    print_laggard(view, one, out);
  }
  out.append("\n");
  print_table(view, out);
  for (const std::string& note : view.notes) {
    out.append("\n" + note + "\n");
  }
}

}  // namespace gpuprof::output

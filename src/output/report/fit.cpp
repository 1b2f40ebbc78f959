#include "output/report/fit.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpuprof::output {
namespace {

using analyze::FunctionLine;
using analyze::Summary;

template <typename Line>
bool shorten(std::vector<Line>& table, size_t kept) {
  if (table.size() <= kept) {
    return false;
  }
  table.pop_back();
  return true;
}

// Reserves up to three quarters of the lines for the program's own functions, because a reader can change these.
bool shorten_functions(std::vector<FunctionLine>& table, size_t kept) {
  const auto is_own = [](const FunctionLine& line) { return line.origin == analyze::Origin::own; };
  const auto own = static_cast<size_t>(std::count_if(table.begin(), table.end(), is_own));
  if (table.size() > kept && 4 * own <= 3 * table.size()) {
    table.erase(std::find_if_not(table.rbegin(), table.rend(), is_own).base() - 1);
    return true;
  }
  return shorten(table, kept);
}

bool lower(size_t& number, size_t least) {
  if (number <= least) {
    return false;
  }
  --number;
  return true;
}

// Drops lines with less than 1% of the total.
bool give_up_trifles(Summary& summary) {
  const auto is_trifle = [&summary](const analyze::Weight& weight) {
    return summary.timed ? weight.ns < summary.total.ns / 100 : weight.count < summary.total.count / 100;
  };
  const auto ends_with_one = [&is_trifle](const auto& lines) {
    return !lines.empty() && is_trifle(lines.back().weight);
  };
  return (ends_with_one(summary.call_paths) && shorten(summary.call_paths, 3)) ||
         (ends_with_one(summary.work) && shorten(summary.work, 5)) ||
         (!summary.functions.empty() && is_trifle(summary.functions.back().total) && shorten(summary.functions, 5));
}

bool give_up_awaited(const Summary& summary, Detail& detail) {
  const auto is_said = [](const analyze::KernelStalls& stalls) { return !stalls.awaited.empty(); };
  return std::any_of(summary.stalls.begin(), summary.stalls.end(), is_said) && std::exchange(detail.awaited, false);
}

bool shorten_counted(Summary& summary, size_t kept) {
  return std::any_of(summary.counted.begin(), summary.counted.end(),
                     [kept](analyze::CountedTable& table) { return shorten(table.rows, kept); });
}

// Shortens the tables without GPU times to at most three lines. Omits the less informative frames of paths.
bool give_up_extras(Summary& summary, Detail& detail) {
  constexpr size_t kTop = 3;
  return shorten_functions(summary.functions, kMostFunctions) || give_up_awaited(summary, detail) ||
         shorten(summary.stalls, 2) || shorten(summary.blocks, 2) || shorten(summary.failures, kTop) ||
         shorten(summary.without_work, 1) || shorten(summary.allocations, 1) || shorten(summary.waits, 1) ||
         shorten(summary.calls, kTop) || shorten(summary.host_work, kTop) || shorten(summary.sample_places, kTop) ||
         shorten(summary.sample_reasons, kTop) || shorten(summary.sampled_work, kTop) || shorten(summary.ranks, kTop) ||
         shorten_counted(summary, kTop) || lower(detail.devices, 4) || lower(detail.frames, 4) ||
         lower(detail.stall_reasons, 3);
}

// Drops the sample tables if the table of kernel stalls has the same information.
bool give_up_samples(Summary& summary) {
  return !summary.stalls.empty() &&
         (shorten(summary.sample_places, 0) || shorten(summary.sampled_work, 0) || shorten(summary.sample_reasons, 1));
}

// Shortens the main tables to ten kernels, eight functions and five paths, because these answer most questions.
bool give_up_answers(Summary& summary, Detail& detail) {
  const auto tables = [&summary](size_t paths, size_t functions, size_t work) {
    return shorten(summary.call_paths, paths) || shorten_functions(summary.functions, functions) ||
           shorten(summary.work, work) || shorten(summary.groups, work);
  };
  return tables(6, 10, 12) || shorten(summary.failures, 1) || shorten(summary.without_work, 0) ||
         shorten(summary.allocations, 0) || shorten(summary.waits, 0) || give_up_samples(summary) ||
         shorten(summary.calls, 1) || lower(detail.explained, 1) || std::exchange(detail.whole_trust, false) ||
         !std::exchange(detail.one_line, true) || lower(detail.frames, 3) || tables(5, 8, 10);
}

// Drops complete tables, the three main ones last, if there are too many tables for one screen.
bool give_up_tables(Summary& summary, Detail& detail) {
  return shorten(summary.host_work, 1) || shorten(summary.failures, 0) || lower(detail.devices, 2) ||
         shorten(summary.ranks, 2) || shorten(summary.groups, 3) || lower(detail.frames, 2) ||
         shorten(summary.host_work, 0) || shorten(summary.calls, 0) || shorten(summary.ranks, 0) ||
         lower(detail.explained, 0) || shorten(summary.sample_places, 1) || shorten(summary.sample_reasons, 1) ||
         shorten(summary.sampled_work, 1) || shorten(summary.stalls, 1) || shorten(summary.blocks, 1) ||
         lower(detail.stall_reasons, 2) || shorten_functions(summary.functions, 3) || shorten(summary.call_paths, 2) ||
         shorten(summary.work, 3) || shorten(summary.call_paths, 1);
}

}  // namespace

bool remove_line(Summary& summary, Detail& detail) {
  return give_up_trifles(summary) || give_up_extras(summary, detail) || give_up_answers(summary, detail) ||
         give_up_tables(summary, detail);
}

void restore_tables(const Summary& whole, Summary& summary) {
  summary.work = whole.work;
  summary.functions = whole.functions;
  summary.call_paths = whole.call_paths;
  summary.groups = whole.groups;
  summary.ranks = whole.ranks;
  summary.sampled_work = whole.sampled_work;
  summary.sample_reasons = whole.sample_reasons;
  summary.sample_places = whole.sample_places;
  summary.stalls = whole.stalls;
  summary.blocks = whole.blocks;
  summary.counted = whole.counted;
  summary.host_work = whole.host_work;
  summary.calls = whole.calls;
  summary.waits = whole.waits;
  summary.allocations = whole.allocations;
  summary.failures = whole.failures;
  summary.without_work = whole.without_work;
}

}  // namespace gpuprof::output

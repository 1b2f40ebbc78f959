#include "analyze/subsets/filter.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "analyze/subsets/subset_meta.h"
#include "base/exit_status.h"
#include "base/return_if_error.h"
#include "base/text/numbers.h"
#include "profile/record_fields.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

bool has(const NumberRanges& ranges, std::optional<uint64_t> number) {
  return number && std::any_of(ranges.begin(), ranges.end(),
                               [&](const auto& range) { return range.first <= *number && *number <= range.second; });
}

std::string text_of(const std::array<std::string, kAspects>& words, bool inverted) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() || word.empty() ? "" : " ").append(word);
  }
  return inverted && !text.empty() ? "--not " + text : text;
}

bool is_about_process(const p::Record& row) {
  return std::holds_alternative<p::Loss>(row) || std::holds_alternative<p::Coverage>(row);
}

}  // namespace

std::string Conditions::text() const {
  return text_of(words, inverted);
}

Filter::Filter(const Conditions& conditions, RecordSink sink)
    : conditions_(conditions),
      sink_(std::move(sink)),
      texts_(whole_.tables(), StackOptions{.lines = true}),  // frame labels as in `report --path`
      paths_(none_, conditions.path, texts_),
      kernels_(conditions.kernel, none_, texts_) {}

Status Filter::take(const p::Record& record) {
  const auto is_row = whole_.take(record);
  RETURN_IF_ERROR(is_row);
  return *is_row ? take_row(record) : Status();
}

Status Filter::take_row(const p::Record& row) {
  if (conditions_.window && !whole_.has_grid() && !is_about_process(row)) {
    return Error{"cannot select a time window: the length of the time slices (META interval_ns) is missing",
                 "leave out --from and --to; profiles made by `gpuprof record` contain META interval_ns"};
  }
  rows_ += is_of_work(row) ? 1 : 0;
  Answer answer = judge(row);
  if (answer == Answer::unknown) {
    // Keep LOSS records, because the lost records may have belonged to the subset.
    if (!std::holds_alternative<p::Loss>(row) && !is_scale(row)) {
      ++left_out_[std::string(kind_of(row))];
      return {};
    }
    answer = Answer::yes;
  } else if (conditions_.inverted) {
    answer = answer == Answer::yes ? Answer::no : Answer::yes;
  }
  if (answer == Answer::no) {
    return {};
  }
  if (!part_) {
    part_.emplace(whole_, sink_, SubsetMeta{});
    RETURN_IF_ERROR(part_->begin({{std::string(kFilterKey), kept_text()}}));
  }
  return part_->add(row);
}

Filter::Answer Filter::judge(const p::Record& row) {
  const RowOwner where = owner_of(row, whole_);
  Answer answer = Answer::yes;
  bool is_of_process = !conditions_.inverted;
  for (size_t i = 0; i < kAspects; ++i) {
    const auto aspect = static_cast<Aspect>(i);
    if (!conditions_.has(aspect)) {
      continue;
    }
    const Answer one = ask(aspect, where).value_or(Answer::unknown);
    matched_[i] += one == Answer::yes && is_of_work(row) ? 1 : 0;
    is_of_process = is_of_process && (one == Answer::yes || (aspect != Aspect::process && aspect != Aspect::rank));
    if (one == Answer::no || answer == Answer::yes) {
      answer = answer == Answer::no ? Answer::no : one;
    }
  }
  if (is_of_process) {
    recordings_.insert(whole_.current());
  }
  return answer;
}

// Returns nullopt if the row lacks the field that the condition on `aspect` tests.
std::optional<Filter::Answer> Filter::ask(Aspect aspect, const RowOwner& row) {
  switch (aspect) {
    case Aspect::time:
      return row.slice ? std::optional(is_of_time(*row.slice) ? Answer::yes : Answer::no) : std::nullopt;
    case Aspect::process:
    case Aspect::rank: {
      const p::Process* const process = row.process ? whole_.tables().process(*row.process) : nullptr;
      if (process == nullptr || (aspect == Aspect::rank && index(process->rank) == 0)) {
        return std::nullopt;
      }
      return ask_process(aspect, *process);
    }
    case Aspect::device: {
      if (!row.device) {
        return std::nullopt;
      }
      const p::Device* const device = whole_.tables().device(*row.device);
      return device != nullptr && analyze::has(*conditions_.devices, device->index) ? Answer::yes : Answer::no;
    }
    case Aspect::path:
      if (row.ustack) {
        return paths_.takes(p::Work{.ustack = *row.ustack}) ? Answer::yes : Answer::no;
      }
      [[fallthrough]];
    case Aspect::kernel:
      break;
  }
  return row.work ? std::optional(ask_work(aspect, *row.work)) : std::nullopt;
}

// Caches the answer, so that takes() runs only once for each process or WORK.
template <typename Takes>
Filter::Answer Filter::known_or(Aspect aspect, uint32_t id, const Takes& takes) {
  std::vector<uint8_t>& known = known_.at(static_cast<size_t>(aspect));
  known.resize(std::max(known.size(), size_t{id} + 1));
  if (known[id] == 0) {
    known[id] = takes() ? 2 : 1;
  }
  return known[id] == 2 ? Answer::yes : Answer::no;
}

Filter::Answer Filter::ask_process(Aspect aspect, const p::Process& process) {
  return known_or(aspect, index(process.id), [&] {
    const p::Tables& tables = whole_.tables();
    if (aspect == Aspect::rank) {
      return analyze::has(*conditions_.ranks, whole_number(tables.text(process.rank)));
    }
    return conditions_.pid ? process.pid == *conditions_.pid
                           : conditions_.process_name->matches(std::string(tables.text(process.name)));
  });
}

Filter::Answer Filter::ask_work(Aspect aspect, p::WorkId id) {
  const p::Work* const work = whole_.tables().work(id);
  if (work == nullptr) {
    return Answer::no;
  }
  return known_or(aspect, index(id), [&] { return (aspect == Aspect::path ? paths_ : kernels_).takes(*work); });
}

bool Filter::is_of_time(uint64_t slice) const {
  return slices_of(*conditions_.window, whole_.grid()).has(slice);
}

std::optional<TimeWindow> Filter::selected_window() const {
  if (!conditions_.window || !whole_.has_grid()) {
    return std::nullopt;
  }
  return window_of(slices_of(*conditions_.window, whole_.grid()), whole_.grid());
}

std::string Filter::left_out() const {
  std::string text;
  for (const auto& [word, count] : left_out_) {
    text.append(text.empty() ? "" : ", ").append(word).append(" ").append(std::to_string(count));
  }
  return text;
}

// Returns the conditions with the time that was really kept, because slices cannot be split.
std::string Filter::kept_text() const {
  auto words = conditions_.words;
  if (const auto window = selected_window()) {
    words.at(static_cast<size_t>(Aspect::time)) = window_options(*window);
  }
  return text_of(words, conditions_.inverted);
}

Error Filter::nothing() const {
  if (rows_ == 0) {
    return {"the profile holds no records to filter", "`gpuprof report` shows what the profile contains", kExitNothing};
  }
  if (conditions_.inverted) {
    const std::string unknown = left_out();
    return {"nothing is left: all work matches " + text_of(conditions_.words, false) +
                (unknown.empty() ? "" : ", or lacks a field that the filter tests: " + unknown),
            "leave out --not", kExitNothing};
  }
  if (const auto time = selected_window(); time && whole_.end()) {
    if (auto error = not_recorded(whole_.windows(), *time, whole_.start_ns())) {
      return {"nothing is left: " + error->message, error->hint, kExitNothing};
    }
  }
  for (size_t i = 0; i < kAspects; ++i) {
    if (conditions_.has(static_cast<Aspect>(i)) && matched_.at(i) == 0) {
      return {"nothing is left: no record matches " + conditions_.words.at(i),
              static_cast<Aspect>(i) == Aspect::time ? "`gpuprof flame --time-series FILE` shows when there was work"
                                                     : "`gpuprof report --top 0 --full` lists kernels, call paths and "
                                                       "devices, `flame --by pid,rank` processes and ranks",
              kExitNothing};
    }
  }
  return {"nothing is left: no record matches all of " + conditions_.text(), "leave one of them out", kExitNothing};
}

Status Filter::finish() {
  if (!part_ || part_->is_empty()) {
    return nothing();
  }
  // Only conditions on time and processes shorten the recorded time.
  SubsetWriter::Last last{.meta = {},
                          .time = conditions_.inverted ? std::nullopt : selected_window(),
                          .all_recordings = !conditions_.has(Aspect::process) && !conditions_.has(Aspect::rank),
                          .more_recordings = recordings_,
                          .pids = {},
                          .launches = part_->launches()};
  if (const std::string text = left_out(); !text.empty()) {
    last.meta.emplace_back(kLeftOutKey, text);
  }
  if (conditions_.window && whole_.lacks_gpu_work()) {
    last.meta.emplace_back(std::string(kFilterKey).append(kLacksWork), "1");
  }
  return part_->finish(last);
}

}  // namespace gpuprof::analyze

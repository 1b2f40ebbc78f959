#include "output/compare/stall_texts.h"

#include <cstdio>

#include "base/text/utf8.h"
#include "compare/stall_shares.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

using compare::Comparison;
using compare::KernelLine;
using compare::StallShare;

constexpr size_t kMostReasons = 3;
constexpr size_t kStallNameWidth = 32;

std::string percent(double share, const char* format) {
  char text[16];
  std::snprintf(text, sizeof text, format, 100 * share);
  return text;
}

std::string change_of(const Comparison& runs, const StallShare& share) {
  return cut_middle(shown_name(shown_ends(runs.stall_reasons[share.reason])), kStallNameWidth) + " " +
         percent(share.before.share, "%.1f%%") + " -> " + percent(share.after.share, "%.1f%%");
}

void put_side(const char* side, const StallShare::Side& value, JsonObject& object) {
  const std::string name(side);
  object.number(name + "_samples", value.samples);
  object.key(name + "_percent") += percent(value.share, "%.2f");
  object.key(name + "_low_percent") += percent(value.interval.low, "%.2f");
  object.key(name + "_high_percent") += percent(value.interval.high, "%.2f");
}

}  // namespace

std::vector<std::string> stall_changes(const Comparison& runs, const KernelLine& kernel) {
  std::vector<std::string> changes;
  size_t more = 0;
  for (const StallShare& share : compare::stall_shares(kernel)) {
    if (share.changed && changes.size() < kMostReasons) {
      changes.push_back(change_of(runs, share));
    } else if (share.changed) {
      ++more;
    }
  }
  if (more > 0) {
    changes.push_back(std::to_string(more) + " more");
  }
  return changes;
}

std::string stall_evidence(const Comparison& runs, const KernelLine& kernel) {
  if (kernel.stalls[0].samples == 0 || kernel.stalls[1].samples == 0) {
    return {};
  }
  std::string text = "stall shares: ";
  const std::vector<std::string> changes = stall_changes(runs, kernel);
  for (const std::string& change : changes) {
    text.append(&change == &changes.front() ? "" : ", ").append(change);
  }
  return text + (changes.empty() ? "no significant change" : "");
}

void put_stall_shares(const Comparison& runs, const KernelLine& kernel, JsonObject& object, TextStream& stream) {
  const std::vector<StallShare> shares = compare::stall_shares(kernel);
  if (shares.empty()) {
    return;
  }
  JsonObject stalls(object.key("stalls"));
  stalls.number("old_samples", kernel.stalls[0].samples);
  stalls.number("new_samples", kernel.stalls[1].samples);
  json_array(shares, stalls.key("reasons"), [&](const StallShare& share) {
    stream.checkpoint();
    JsonObject reason(stream.text());
    reason.text("reason", shown_text(runs.stall_reasons[share.reason]));
    put_side("old", share.before, reason);
    put_side("new", share.after, reason);
    reason.flag("changed", share.changed);
  });
}

}  // namespace gpuprof::output

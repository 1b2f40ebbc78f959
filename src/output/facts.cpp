#include "output/facts.h"

#include <cstdint>
#include <ctime>

#include "base/clock.h"
#include "base/text/numbers.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

// Formats nanoseconds since 1970 as "2026-11-23 14:05 UTC". Returns "" if the text is not a number.
std::string date_text(const std::string& unix_ns) {
  const auto ns = whole_number(unix_ns);
  return ns ? utc_text(static_cast<std::time_t>(*ns / 1'000'000'000), "%Y-%m-%d %H:%M UTC") : std::string();
}

}  // namespace

std::string meta_text(const analyze::ProfileInfo& info, const std::string& key) {
  std::string text;
  const auto [begin, end] = info.meta.equal_range(key);
  for (auto value = begin; value != end; ++value) {
    text.append(text.empty() ? "" : "; ").append(shown_name(shown_ends(value->second)));
  }
  return text;
}

std::string recorded_text(const analyze::ProfileInfo& info) {
  const std::string version = meta_text(info, "gpuprof_version");
  std::string recorded;
  for (const std::string& text : {meta_text(info, "host"), date_text(meta_text(info, "start_unix_ns")),
                                  version.empty() ? version : "gpuprof " + version}) {
    recorded.append(recorded.empty() || text.empty() ? "" : ", ").append(text);
  }
  return recorded;
}

}  // namespace gpuprof::output

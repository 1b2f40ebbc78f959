#include <nlohmann/json.hpp>
#include <utility>

#include "output/json_stream.h"
#include "output/latency.h"
#include "output/text.h"
#include "output/trust.h"
#include "profile/keywords.h"
#include "profile/log_buckets.h"

namespace gpuprof::output {
namespace {

using analyze::LatencyLine;
using analyze::LatencyStats;

constexpr int kLatencySchemaVersion = 1;

Json stats_json(const LatencyStats& stats) {
  Json buckets = Json::array();
  for (const profile::Latency::Bucket& bucket : stats.buckets) {
    buckets.push_back(
        {profile::LatencyBuckets::low(bucket.bucket), profile::LatencyBuckets::high(bucket.bucket), bucket.count});
  }
  return {{"count", stats.count},   {"sum_ns", stats.sum_ns},       {"min_ns", stats.min_ns},
          {"p50_ns", stats.p50_ns}, {"p90_ns", stats.p90_ns},       {"p99_ns", stats.p99_ns},
          {"max_ns", stats.max_ns}, {"buckets", std::move(buckets)}};
}

void put_latency_line(const LatencyLine& line, TextStream& stream) {
  JsonObject object(stream.text());
  object.text("name", shown_text(line.work));
  if (!line.path.empty()) {
    object.text("process", shown_text(line.process));
    json_path(line.path.frames(), object.key("path"), stream);
  }
  JsonObject phases(object.key("phases"));
  for (size_t i = 0; i < line.phases.size(); ++i) {
    if (line.phases[i].count > 0) {
      phases.value(profile::word(static_cast<profile::Phase>(i)), stats_json(line.phases[i]));
      stream.checkpoint();
    }
  }
}

}  // namespace

void latency_json(const std::vector<LatencyLine>& lines, const analyze::ProfileInfo& info, TextStream& stream) {
  std::string& out = stream.text();
  {
    JsonObject object(out);
    object.number("schema_version", kLatencySchemaVersion);
    json_texts(notice_lines(info), object.key("missing"));
    json_array(lines, object.key("latencies"), [&stream](const LatencyLine& line) { put_latency_line(line, stream); });
  }
  out += "\n";
}

}  // namespace gpuprof::output

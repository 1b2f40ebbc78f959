#include "output/json_text.h"
#include "output/latency.h"
#include "output/text.h"
#include "profile/latency_bucket.h"
#include "profile/words.h"

namespace gpuprof::output {
namespace {

using analyze::LatencyLine;
using analyze::LatencyStats;

constexpr int kSchemaVersion = 1;

void put_stats(const LatencyStats& stats, std::string& out) {
  JsonObject object(out);
  object.number("count", stats.count);
  object.number("sum_ns", stats.sum_ns);
  object.number("min_ns", stats.min_ns);
  object.number("p50_ns", stats.p50_ns);
  object.number("p90_ns", stats.p90_ns);
  object.number("p99_ns", stats.p99_ns);
  object.number("max_ns", stats.max_ns);
  json_array(stats.buckets, object.key("buckets"), [&out](const profile::Latency::Bucket& bucket) {
    out.append("[").append(std::to_string(profile::bucket_low(bucket.bucket))).append(",");
    out.append(std::to_string(profile::bucket_high(bucket.bucket))).append(",");
    out.append(std::to_string(bucket.count)).append("]");
  });
}

void put_line(const LatencyLine& line, TextStream& stream) {
  JsonObject object(stream.text());
  object.text("name", shown_text(line.work));
  if (!line.path.empty()) {
    object.text("process", shown_text(line.process));
    json_path(line.path.frames(), object.key("path"), stream);
  }
  JsonObject phases(object.key("phases"));
  for (size_t i = 0; i < line.phases.size(); ++i) {
    if (line.phases[i].count > 0) {
      put_stats(line.phases[i], phases.key(profile::word(static_cast<profile::Phase>(i))));
      stream.checkpoint();
    }
  }
}

}  // namespace

void latency_json(const std::vector<LatencyLine>& lines, TextStream& stream) {
  std::string& out = stream.text();
  {
    JsonObject object(out);
    object.number("schema_version", kSchemaVersion);
    json_array(lines, object.key("latencies"), [&stream](const LatencyLine& line) { put_line(line, stream); });
  }
  out += "\n";
}

}  // namespace gpuprof::output

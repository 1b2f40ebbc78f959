#include <cmath>
#include <nlohmann/json.hpp>

#include "output/json_stream.h"
#include "output/ranks/ranks.h"
#include "output/text.h"

namespace gpuprof::output {
namespace {

constexpr int kRanksSchemaVersion = 1;

// Rounds to four decimal places, because further ones would be noise.
double rounded(double value) {
  return std::round(value * 10000) / 10000;
}

void put_difference(const RanksView& view, const analyze::Difference& one, TextStream& stream) {
  const analyze::JobPath& path = view.job.paths()[one.path];
  JsonObject object(stream.text());
  object.text("name", shown_text(view.job.kernel(path)));
  const analyze::CallPath call_path = view.job.call_path(path);
  json_path(call_path.frames(), object.key("path"), stream);
  object.number("ns", one.ns);
  object.number("others_ns", one.others_ns);
  object.value("count", rounded(one.count));
  object.value("others_count", rounded(one.others_count));
}

void put_laggard(const RanksView& view, const analyze::LaggingRank& one, TextStream& stream) {
  const analyze::Lag& lag = one.lag;
  JsonObject object(stream.text());
  object.text("rank", view.job.ranks()[lag.rank].name);
  object.number("since_ns", view.job.begin_ns(lag.first));
  object.number("since_slice", view.job.begin_slice(lag.first));
  object.number("since_earliest_ns", view.job.begin_ns(lag.first_earliest));
  object.number("since_latest_ns", view.job.begin_ns(lag.first_latest));
  object.number("until_ns", view.job.begin_ns(lag.last + 1));
  object.flag("to_the_end", lag.last == view.verdict.last);
  object.flag("waited_for", view.verdict.by_collectives && lag.waited_for);
  object.word("cause", one.by_gpu ? "gpu" : "cpu");
  object.word("found_by", lag.by_work ? "gpu_work" : "own_time");
  object.value("effect", rounded(lag.effect));
  object.value("noise", rounded(lag.noise));
  object.value("score", rounded(lag.score));
  object.number("own_ns", static_cast<uint64_t>(lag.own_ns));
  object.number("others_own_ns", static_cast<uint64_t>(lag.others_ns));
  object.number("gpu_ns", one.gpu_ns);
  object.number("others_gpu_ns", one.others_gpu_ns);
  object.value("collective_share", rounded(one.collective_share));
  object.value("others_collective_share", rounded(one.others_collective_share));
  const auto put = [&](const analyze::Difference& difference) { put_difference(view, difference, stream); };
  json_array(one.kernels, object.key("kernels"), put);
  json_array(one.idle, object.key("idle_before"), put);
  json_array(one.host, object.key("host"), put);
  json_array(one.cpu, object.key("cpu"), [&stream](const analyze::CpuCause& cause) {
    JsonObject entry(stream.text());
    entry.text("state", shown_text(cause.state));
    entry.text("function", shown_text(cause.function));
    entry.text("location", shown_text(cause.location));
    entry.number("ns", cause.ns);
    entry.number("others_ns", cause.others_ns);
  });
}

void put_rank(const analyze::JobRank& rank, uint64_t block_ns, TextStream& stream) {
  const RankSpan span = span_of(rank, block_ns);
  JsonObject object(stream.text());
  object.text("rank", rank.name);
  object.text("host", rank.host);
  object.number("time_ns", span.ns);
  object.number("gpu_ns", rank.total.busy);
  object.number("collective_ns", rank.total.collective);
  object.number("collectives", rank.total.collectives);
  object.number("wait_ns", rank.total.waits);
  object.number("idle_ns", span.idle_ns);
  stream.checkpoint();
}

}  // namespace

void ranks_json(const RanksView& view, TextStream& stream) {
  const analyze::Job& job = view.job;
  const analyze::JobVerdict& verdict = view.verdict;
  {
    JsonObject object(stream.text());
    object.number("schema_version", kRanksSchemaVersion);
    object.word("verdict", !verdict.inconclusive.empty() ? "inconclusive" : verdict.laggards.empty() ? "even" : "lag");
    object.text("text", verdict_line(view));
    object.number("interval_ns", job.grid().interval_ns);
    object.number("block_ns", job.block_ns());
    object.number("blocks", job.blocks());
    if (verdict.inconclusive.empty()) {
      object.number("job_start_ns", job.begin_ns(verdict.first));
    }
    object.text("collective", view.collective);
    object.number("collectives", job.collectives());
    json_array(verdict.laggards, object.key("laggards"),
               [&](const analyze::LaggingRank& one) { put_laggard(view, one, stream); });
    json_array(job.ranks(), object.key("ranks"),
               [&](const analyze::JobRank& rank) { put_rank(rank, job.block_ns(), stream); });
    json_array(view.notes, object.key("notes"), [&](const std::string& note) { stream.text() += json_string(note); });
  }
  stream.text() += "\n";
}

}  // namespace gpuprof::output

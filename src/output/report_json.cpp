#include <string>

#include "base/utf8.h"
#include "output/report.h"

namespace gpuprof::output {
namespace {

using analyze::ProfileInfo;
using analyze::ProfileKind;
using analyze::Summary;
using analyze::SummaryLine;

constexpr int kSchemaVersion = 1;

// Bytes that are not UTF-8 have no place in JSON: they are shown as \xHH.
std::string quoted(std::string_view text) {
  std::string plain;
  append_escaped(text, {}, plain);
  std::string out = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + '"';
}

// Puts commas where they belong.
class Object {
 public:
  explicit Object(std::string& out) : out_(out) { out_ += '{'; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { out_ += '}'; }

  std::string& key(std::string_view name) {
    if (!first_) {
      out_ += ',';
    }
    first_ = false;
    return out_.append(quoted(name)).append(":");
  }
  void number(std::string_view name, uint64_t value) { key(name) += std::to_string(value); }
  void flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }
  void text(std::string_view name, std::string_view value) { key(name) += quoted(value); }

 private:
  std::string& out_;
  bool first_ = true;
};

template <typename Range, typename Put>
void array(const Range& range, std::string& out, Put put) {
  out += '[';
  bool first = true;
  for (const auto& element : range) {
    if (!first) {
      out += ',';
    }
    first = false;
    put(element);
  }
  out += ']';
}

const char* kind_word(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::empty:
      return "empty";
    case ProfileKind::durations:
      return "durations";
    case ProfileKind::launch_counts:
      return "launch_counts";
    case ProfileKind::stall_samples:
      return "stall_samples";
    case ProfileKind::mixed:
      return "mixed";
  }
  return "";
}

void put_line(const SummaryLine& line, bool timed, std::string& out) {
  Object object(out);
  object.text("name", line.work);
  if (!line.process.empty()) {
    object.text("process", line.process);
    array(line.path, object.key("path"), [&out](const std::string& frame) { out += quoted(frame); });
  }
  object.number("count", line.weight.count);
  if (timed) {
    object.number("ns", line.weight.ns);
    object.number("avg_ns", line.weight.count == 0 ? 0 : line.weight.ns / line.weight.count);
    object.number("min_ns", line.min_ns);
    object.number("max_ns", line.max_ns);
    object.number("bytes", line.weight.bytes);
  }
}

void put_meta(const ProfileInfo& info, std::string& out) {
  Object object(out);
  for (auto it = info.meta.begin(); it != info.meta.end();) {
    const auto [begin, end] = info.meta.equal_range(it->first);
    bool first = true;
    object.key(it->first) += '[';
    for (auto value = begin; value != end; ++value) {
      out.append(first ? "" : ",").append(quoted(value->second));
      first = false;
    }
    out += ']';
    it = end;
  }
}

}  // namespace

std::string report_json(const Summary& summary) {
  const ProfileInfo& info = summary.info;
  std::string out;
  {
    Object object(out);
    object.number("schema_version", kSchemaVersion);
    object.text("kind", kind_word(info.kind));
    object.flag("complete", info.complete);
    object.number("gpu_ns", summary.total.ns);
    object.number("gpu_records", info.gpu_records);
    object.number("with_stack", info.with_stack);
    object.number("launches", info.launches);
    object.number("count", summary.total.count);
    object.number("bytes", summary.total.bytes);
    object.number("skipped_bad", info.skipped_bad);
    object.number("skipped_unknown", info.skipped_unknown);
    {
      Object losses(object.key("losses"));
      for (const auto& [reason, count] : info.losses) {
        losses.number(reason, count);
      }
    }
    array(info.warnings, object.key("warnings"), [&out](const std::string& warning) { out += quoted(warning); });
    put_meta(info, object.key("meta"));
    const auto put = [&](const SummaryLine& line) { put_line(line, summary.timed, out); };
    array(summary.work, object.key("work"), put);
    array(summary.call_paths, object.key("call_paths"), put);
  }
  return out + "\n";
}

}  // namespace gpuprof::output

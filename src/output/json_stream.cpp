#include "output/json_stream.h"

#include <nlohmann/json.hpp>

#include "base/text/utf8.h"
#include "output/text.h"

namespace gpuprof::output {

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string json_string(std::string_view text) {
  return json_text(Json(escaped(text)));
}

void json_window(const analyze::TimeWindow& window, std::string& out) {
  JsonObject object(out);
  object.number("from_ns", window.from_ns);
  if (window.has_end()) {
    object.number("to_ns", window.to_ns);
  }
}

void json_meta(const std::multimap<std::string, std::string>& meta, std::string& out, TextStream& stream) {
  JsonObject object(out);
  for (auto begin = meta.begin(); begin != meta.end();) {
    const auto end = meta.upper_bound(begin->first);
    json_array(begin, end, object.escaped_key(begin->first), [&](const auto& line) {
      out += json_string(line.second);
      stream.checkpoint();
    });
    begin = end;
  }
}

void json_counts(const std::map<std::string, uint64_t>& counts, std::string& out) {
  JsonObject object(out);
  for (const auto& [name, count] : counts) {
    append_number(count, object.escaped_key(name));
  }
}

void json_texts(const std::vector<std::string>& texts, std::string& out) {
  json_array(texts, out, [&out](const std::string& text) { out += json_string(text); });
}

void json_path(std::span<const std::string_view> frames, std::string& out, TextStream& stream) {
  json_array(frames, out, [&](std::string_view frame) {
    out += json_string(shown_text(frame));
    stream.checkpoint();
  });
}

std::string& JsonObject::separated() {
  if (!first_) {
    out_ += ',';
  }
  first_ = false;
  return out_;
}

std::string& JsonObject::key(std::string_view name) {
  return separated().append("\"").append(name).append("\":");
}

std::string& JsonObject::escaped_key(std::string_view name) {
  return separated().append(json_string(name)).append(":");
}

void JsonObject::value(std::string_view name, const Json& value) {
  key(name) += json_text(value);
}

}  // namespace gpuprof::output

#include "output/json_stream.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "output/text.h"

namespace gpuprof::output {

std::string json_string(std::string_view text) {
  return Json(escaped(text)).dump();
}

void json_path(std::span<const std::string_view> frames, std::string& out, TextStream& stream) {
  json_array(frames, out, [&](std::string_view frame) {
    out += json_string(shown_text(frame));
    stream.checkpoint();
  });
}

std::string& JsonObject::separated() {
  out_.append(first_ ? "" : ",");
  first_ = false;
  return out_;
}

std::string& JsonObject::key(std::string_view name) {
  return separated().append("\"").append(name).append("\":");
}

std::string& JsonObject::foreign_key(std::string_view name) {
  return separated().append(json_string(name)).append(":");
}

void JsonObject::value(std::string_view name, const Json& value) {
  key(name) += value.dump();
}

}  // namespace gpuprof::output

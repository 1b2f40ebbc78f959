// JSON on its way out. Strings, and values that are small, are nlohmann's. What can be large (the events of a trace,
// the lines of a report, the frames of a path) goes into the stream member by member: as one value it would all be in
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "analyze/rows/time_window.h"
#include "base/text/append_number.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

using Json = nlohmann::ordered_json;  // members stay in the order in which they came

// Never throws: bytes that are not UTF-8 become U+FFFD. No indent: all in one line.
std::string json_text(const Json& value, int indent = -1);

// Any text as a JSON string. Bytes that are not UTF-8 have no place in JSON: they are shown as \xHH, as in all outputs,
// and so are the characters that deceive a terminal.
std::string json_string(std::string_view text);

// Puts commas where they belong. Ends its object when it goes out of scope.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject() { out_ += '}'; }

  // The value goes behind it. Names and words are our own, and need no escape.
  std::string& key(std::string_view name);
  std::string& foreign_key(std::string_view name);
  void number(std::string_view name, uint64_t value) { append_number(value, key(name)); }
  void flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }
  void word(std::string_view name, std::string_view value) { key(name).append("\"").append(value).append("\""); }
  void text(std::string_view name, std::string_view value) { key(name) += json_string(value); }
  void value(std::string_view name, const Json& value);

 private:
  std::string& separated();

  std::string& out_;
  bool first_ = true;
};

template <typename Iterator, typename Put>
void json_array(Iterator begin, Iterator end, std::string& out, Put put) {
  out += '[';
  for (Iterator element = begin; element != end; ++element) {
    if (element != begin) {
      out += ',';
    }
    put(*element);
  }
  out += ']';
}

template <typename Range, typename Put>
void json_array(const Range& range, std::string& out, Put put) {
  json_array(range.begin(), range.end(), out, put);
}

// {"from_ns":2000000000,"to_ns":3500000000}; no to_ns where it has no end.
void json_window(const analyze::TimeWindow& window, std::string& out);

// META: a repeated key makes a list.
void json_meta(const std::multimap<std::string, std::string>& meta, std::string& out, TextStream& stream);

// {"ring_full":3}
void json_counts(const std::map<std::string, uint64_t>& counts, std::string& out);

// The frames of a call path, each up to kMostShownBytes, in bounded memory.
void json_path(std::span<const std::string_view> frames, std::string& out, TextStream& stream);

}  // namespace gpuprof::output

#pragma once

#include <string>
#include <utility>

#include "analyze/paths/fold.h"
#include "catch.h"
#include "output/folded.h"
#include "profile/text_input.h"

namespace gpuprof::test {

inline analyze::Aggregate read_all(const std::string& text) {
  auto reader = open_text(text);
  REQUIRE(reader);
  auto rows = analyze::aggregate(*reader, {.host = true, .idle = true, .latency = true, .blocks = true});
  INFO((rows ? std::string() : rows.error().message));
  REQUIRE(rows);
  return std::move(rows).value();
}

inline std::string lines_of(const analyze::FoldResult& result, output::WeightKind kind = output::WeightKind::time) {
  return output::folded(result.tree, {kind, output::TimeUnit::ns});
}

inline std::string lines_of(const std::string& text, const analyze::FoldOptions& options,
                            output::WeightKind kind = output::WeightKind::time) {
  return lines_of(analyze::fold(read_all(text), options), kind);
}

}  // namespace gpuprof::test

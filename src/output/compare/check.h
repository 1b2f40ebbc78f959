// Writes the result of `check` for people and for programs. The verdict comes first, then advice, then the evidence.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "base/text/text_stream.h"
#include "compare/judge/judge.h"

namespace gpuprof::output {

// Writes text for a terminal, in lines of at most `width` characters. A small `width` is raised to a minimum.
void check_text(const compare::Comparison& runs, const compare::Judgement& judgement, size_t width, TextStream& stream);

void check_markdown(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

// Writes one object, docs/schema/check.json. "schema_version" changes when a field is removed or changes its meaning.
void check_json(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

// Writes a test case for the total and one for each kernel. A regression becomes a failure, an inconclusive check an
// error.
void check_junit(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

// Writes the error that prevented a verdict, as the only test case.
void check_junit_error(const Error& error, TextStream& stream);

// Writes annotations that GitHub's runner shows at the pull request: ::error title=...::...
void check_annotations(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

}  // namespace gpuprof::output

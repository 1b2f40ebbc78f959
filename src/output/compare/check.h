// What `check` found, for people and for programs. The verdict first, then what to do, then what it rests on.
#pragma once

#include <cstddef>

#include "base/text/text_stream.h"
#include "compare/judge/judge.h"

namespace gpuprof::output {

// For a terminal, in lines of at most `width` characters where that leaves names some room.
void check_text(const compare::Comparison& runs, const compare::Judgement& judgement, size_t width, TextStream& stream);

// For a comment on a pull request.
void check_markdown(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

// One object, docs/schema/check.json; "schema_version" changes when a field changes its meaning or goes away.
void check_json(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

// A test case for the total and for each kernel. A regression is a failure; what is inconclusive is an error.
void check_junit(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

// Lines that GitHub's runner shows at the pull request: ::error title=...::...
void check_annotations(const compare::Comparison& runs, const compare::Judgement& judgement, TextStream& stream);

}  // namespace gpuprof::output

// What `check --max` prints of a budget.
#pragma once

#include "base/text/text_stream.h"
#include "compare/judge/budget.h"

namespace gpuprof::output {

void budget_text(const compare::Budget& budget, const compare::BudgetResult& result, TextStream& out);
void budget_json(const compare::Budget& budget, const compare::BudgetResult& result, TextStream& out);

}  // namespace gpuprof::output

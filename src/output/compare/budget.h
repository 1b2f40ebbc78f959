// Prints the result of a budget (`check --max`).
#pragma once

#include "base/text/text_stream.h"
#include "compare/judge/budget.h"

namespace gpuprof::output {

void budget_text(const compare::Budget& budget, const compare::BudgetResult& result, TextStream& out);
void budget_json(const compare::Budget& budget, const compare::BudgetResult& result, TextStream& out);

}  // namespace gpuprof::output

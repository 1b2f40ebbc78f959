// Puts the types of src/symbolize into messages, and takes them out. What is taken out has been checked.
#pragma once

#include <vector>

#include "reader/message.h"
#include "symbolize/file_names.h"
#include "symbolize/reading_budget.h"
#include "symbolize/source_frame.h"

namespace gpuprof::reader {

void append_frames(Message& to, const std::vector<symbolize::SymbolizedFrame>& frames);
std::vector<symbolize::SymbolizedFrame> take_frames(Message& from);

void append_lines(Message& to, const std::vector<symbolize::SourceFrame>& frames);
std::vector<symbolize::SourceFrame> take_lines(Message& from);

void append_left_out(Message& to, const symbolize::ReadingBudget::LeftOut& left_out);
symbolize::ReadingBudget::LeftOut take_left_out(Message& from);

}  // namespace gpuprof::reader

// Which launches are sampled by themselves: those of the kernels that the user chose, one of so many of each, and no
// more than the time that may go to it allows, as each waits until it has run. Never while a graph is captured.
#pragma once

#include <cstdint>

namespace gpuprof::injection::cupti {

// A new recording.
void begin_exact_launches();

// Whether recordings sample so at all.
[[nodiscard]] bool exact_wanted();

// A launch of the kernel with this name id is to be sampled. On the launching thread.
[[nodiscard]] bool wants_exact(uint32_t kernel);

// Whether it then could be: its samples were not being read just then.
void count_exact(bool sampled);

// What a sampled launch took.
void charge_exact(uint64_t ns);

// Graphs are being captured by some thread, or not any more.
void note_capture(bool begins);

// Recording is on again: the ends of captures were not told of meanwhile.
void forget_captures();

void report_exact_counts();

}  // namespace gpuprof::injection::cupti

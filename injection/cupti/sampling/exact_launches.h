// Selects launches to sample individually: every n-th launch of each chosen kernel, within a time budget. Sampled
// launches run synchronously. No launch is sampled while a graph is captured.
#pragma once

#include <cstdint>

namespace gpuprof::injection::cupti {

void begin_exact_launches();

// Returns whether this recording samples individual launches.
[[nodiscard]] bool exact_wanted();

// Returns whether to sample this launch of the kernel with this name id. Called on the launching thread.
[[nodiscard]] bool wants_exact(uint32_t kernel);

// Counts a selected launch. `sampled`: false if it could not be sampled, because samples were being read.
void count_exact(bool sampled);

void charge_exact(uint64_t ns);

void note_capture(bool begins);

// Returns whether a graph is captured on any thread.
[[nodiscard]] bool capturing();

// Resets the number of graph captures in progress when recording resumes. CUPTI did not report captures that ended
// during the pause.
void forget_captures();

void report_exact_counts();

}  // namespace gpuprof::injection::cupti

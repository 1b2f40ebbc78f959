// What all targets run with; ASAN_OPTIONS can say otherwise. Memory that was freed is kept for one input, not for many:
// its pages stay warm, which is half of the speed. Where memory was allocated and freed is kept as one address each: an
// input that failed is run again with malloc_context_size=20, which tells the stacks.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=1";
}

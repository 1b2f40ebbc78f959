// What all targets run with; ASAN_OPTIONS can say otherwise. Memory that was freed is kept for one input, not for many:
// its pages stay warm, which is half of the speed.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=4:thread_local_quarantine_size_kb=256:malloc_context_size=12";
}

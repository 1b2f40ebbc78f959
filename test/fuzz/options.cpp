// Defaults of all targets, which ASAN_OPTIONS overrides. The quarantine for freed memory lasts about one input, so
// pages stay warm, which doubles the speed. Allocation stacks have one address: run a failed input again with
// malloc_context_size=20 to see its stacks.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=1";
}

// Sets AddressSanitizer's defaults for all targets; ASAN_OPTIONS overrides them. The quarantine for freed memory is
// small: memory is reused after about one input, which doubles the speed. Allocation stacks have one frame; to see
// complete stacks, run a failed input again with malloc_context_size=20.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=1";
}

#include "record/bpf/bpf_object.h"

#include <span>

#include "base/text/hints.h"

#ifdef GPUPROF_HAVE_BPF
extern "C" const unsigned char gpuprof_embedded_bpf_begin[];
extern "C" const unsigned char gpuprof_embedded_bpf_end[];
extern "C" const unsigned char gpuprof_embedded_bpf_stacks_begin[];
extern "C" const unsigned char gpuprof_embedded_bpf_stacks_end[];
#endif

namespace gpuprof::record {

#ifdef GPUPROF_HAVE_BPF
namespace {

// Number of unwind rules in the cache that all processes share. A rule takes 16 bytes.
constexpr uint32_t kCachedRules = 1U << 18;

bool configure(bpf_object* object, BpfWalk walk, bool sleepable) {
  gpuprof_bpf_config config = make_bpf_config();
  config.sleepable = sleepable ? 1 : 0;
  config.max_words = GPUPROF_STACK_MAX_WORDS;
  // A step of the walk reads a frame, or switches between native and Python frames.
  config.max_turns = 3 * GPUPROF_STACK_MAX_WORDS;
  config.cache_mask = kCachedRules - 1;
  if (!configure_bpf_object(object, config)) {
    return false;
  }
  if (walk == BpfWalk::frame_pointers) {
    return true;
  }
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (sleepable && bpf_program__set_flags(program, bpf_program__flags(program) | BPF_F_SLEEPABLE) != 0) {
      return false;
    }
  }
  return resize_bpf_map(object, "rule_cache", config.cache_mask + 1);
}

std::span<const unsigned char> embedded(BpfWalk walk) {
  if (walk == BpfWalk::frame_pointers) {
    return {gpuprof_embedded_bpf_begin, gpuprof_embedded_bpf_end};
  }
  return {gpuprof_embedded_bpf_stacks_begin, gpuprof_embedded_bpf_stacks_end};
}

}  // namespace

Result<BpfObject> load_bpf_object(BpfWalk walk, bool sleepable) {
  auto object = open_bpf_object(embedded(walk));
  if (!object) {
    return object;
  }
  if (!configure(object->get(), walk, sleepable)) {
    return Error{"the embedded BPF object is not as expected", hints::kBuildAgain};
  }
  if (const int error = bpf_object__load(object->get()); error != 0) {
    return bpf_error("cannot load BPF programs", -error, kBpfStacksHint);
  }
  return object;
}
#else
Result<BpfObject> load_bpf_object(BpfWalk /*walk*/, bool /*sleepable*/) {
  return Error{"this gpuprof was built without eBPF", "install clang and build again"};
}
#endif

}  // namespace gpuprof::record

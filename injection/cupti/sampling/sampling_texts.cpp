#include "cupti/sampling/sampling_texts.h"

#include <cstring>

namespace gpuprof::injection::cupti {
namespace {

constexpr char kPrefix[] = "smsp__pcsamp_";
constexpr char kStalledPrefix[] = "warps_issue_stalled_";
constexpr char kNotIssued[] = "_not_issued";

const char* after(const char* text, const char* prefix) {
  const size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : text;
}

}  // namespace

ReasonName reason_name(const char* name) {
  const char* word = after(after(name, kPrefix), kStalledPrefix);
  const size_t length = strlen(word);
  constexpr size_t kEnding = sizeof(kNotIssued) - 1;
  if (length >= kEnding && memcmp(word + length - kEnding, kNotIssued, kEnding) == 0) {
    return {word, 0};
  }
  return {word, length};
}

const char* refusal_text(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the NVIDIA driver lets only administrators sample (ERR_NVGPUCTRPERM): run as root, or have the driver "
             "loaded with NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the hypervisor does not allow sampling of this virtual GPU: enable profiling for the vGPU";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "the GPU is in confidential computing mode, which does not allow sampling: use another GPU";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return "this MIG instance cannot be sampled: use a GPU without MIG";
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return "GPUs cannot be sampled in WSL: use native Linux";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return "this GPU, or its setup (CMP, SLI), does not support sampling: use another GPU";
    case CUPTI_ERROR_NOT_SUPPORTED:
      return "CUPTI cannot sample this GPU: it is too old, or MPS clients share it (run without MPS)";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_INVALID_OPERATION:
      return "another tool holds the GPU's counters (DCGM, Nsight, another profiler): stop it, or have it pause";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "CUPTI has no memory for its buffers: leave 512 MB of GPU memory free";
    default:
      return nullptr;
  }
}

}  // namespace gpuprof::injection::cupti

#include "analyze/names/zebin_kernels.h"

namespace gpuprof::analyze {

namespace p = profile;

bool in_zebin(const p::Tables& tables, p::GpuPlaceId place) {
  const p::GpuPlace* const known = tables.gpu_place(place);
  if (known == nullptr) {
    return false;
  }
  const p::GpuModule* const module = tables.gpu_module(known->module);
  return module != nullptr ? tables.text(module->name).ends_with("zebin")
                           : tables.text(known->function).starts_with("kernel at 0x");
}

std::string_view zebin_kernel(const p::Tables& tables, p::GpuPlaceId place) {
  return in_zebin(tables, place) ? tables.text(tables.gpu_place(place)->function) : std::string_view();
}

}  // namespace gpuprof::analyze

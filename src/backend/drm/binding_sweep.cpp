#include "backend/drm/binding_sweep.h"

#include <bpf/bpf.h>

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "wire/drm_events.h"

namespace gpuprof::backend::drm {
namespace {

// More keys than any map holds. If the map changes, a loop over its keys may start again, so the loops end at this
// limit.
constexpr size_t kMaxKeys = 1 << 18;

template <typename Key>
std::vector<Key> keys_of(int map) {
  std::vector<Key> keys;
  Key key{};
  Key before{};
  for (const Key* from = nullptr; keys.size() < kMaxKeys && bpf_map_get_next_key(map, from, &key) == 0;) {
    keys.push_back(key);
    before = key;
    from = &before;
  }
  return keys;
}

}  // namespace

void sweep_bindings(int bindings, int spaces, int numbers) {
  // Reads the last VM number before the keys. VMs that are newer have higher numbers, and the sweep keeps their
  // entries.
  const uint32_t of_spaces = GPUPROF_DRM_NUMBER_OF_SPACE;
  uint64_t last = 0;
  if (bpf_map_lookup_elem(numbers, &of_spaces, &last) != 0) {
    return;
  }
  const auto known = keys_of<gpuprof_drm_binding_key>(bindings);
  std::unordered_set<uint32_t> live;
  for (const gpuprof_drm_space_key& key : keys_of<gpuprof_drm_space_key>(spaces)) {
    uint64_t number = 0;
    if (bpf_map_lookup_elem(spaces, &key, &number) == 0) {
      live.insert(static_cast<uint32_t>(number));
    }
  }
  for (const gpuprof_drm_binding_key& key : known) {
    if (key.space <= last && !live.contains(key.space)) {
      bpf_map_delete_elem(bindings, &key);
    }
  }
}

}  // namespace gpuprof::backend::drm

#include "profile/id_index.h"

#include <algorithm>

namespace gpuprof::profile {

void IdIndex::insert(uint32_t id, uint32_t position) {
  ++count_;
  constexpr size_t kSmall = 1024;
  if (id >= std::max(kSmall, 4 * count_)) {
    sparse_.emplace(id, position);
    return;
  }
  if (id >= dense_.size()) {
    dense_.resize(std::max<size_t>(size_t{id} + 1, dense_.size() * 3 / 2), kNone);
  }
  dense_[id] = position;
}

uint32_t IdIndex::find_sparse(uint32_t id) const {
  const auto found = sparse_.find(id);
  return found == sparse_.end() ? kNone : found->second;
}

}  // namespace gpuprof::profile

#include "record/process/code/gpu_code.h"

#include <algorithm>

#include "base/hash.h"
#include "profile/parse.h"

namespace gpuprof::record {
namespace {

template <typename Id>
Id find(const std::unordered_map<uint32_t, Id>& known, uint32_t id) {
  const auto found = known.find(id);
  return found == known.end() ? Id{} : found->second;
}

// Modules with equal hashes are the same module, even if their names differ. Modules without a hash are compared by
// name.
uint64_t key_of(const profile::GpuModule& module) {
  const uint32_t hash = profile::index(module.hash);
  return hash != 0 ? join_ids(1, hash) : join_ids(0, profile::index(module.name));
}

std::vector<uint64_t> key_of(const NewGpuPlace& place) {
  std::vector<uint64_t> key = {join_ids(profile::index(place.module), place.function), place.offset, place.instruction};
  for (const GpuLine& line : place.lines) {
    key.push_back(join_ids(line.function, line.file));
    key.push_back(line.line);
  }
  return key;
}

}  // namespace

profile::GpuModuleId SourceGpuCode::module(uint32_t id) const {
  return find(modules, id);
}

profile::GpuPlaceId SourceGpuCode::place(uint32_t id) const {
  return find(places, id);
}

size_t GpuCode::KeyHash::operator()(const Key& key) const {
  uint64_t h = key.size();
  for (const uint64_t word : key) {
    h = hash_of(h ^ word);
  }
  return h;
}

bool GpuCode::admits(size_t count, size_t most) const {
  if (count >= most && memory_ != nullptr) {
    memory_->leave_out();
  }
  return count < most && MemoryBudget::admits(memory_);
}

// Ignores a module without name and hash, because it cannot be distinguished from others.
void GpuCode::add(SourceGpuCode& source, const backend::GpuModule& module) {
  if (module.id == 0 || source.modules.contains(module.id) || (module.name.empty() && module.hash.empty()) ||
      !admits(source.modules.size(), kMaxModules)) {
    return;
  }
  if (const profile::GpuModuleId id = intern(module); profile::index(id) != 0) {
    source.modules.emplace(module.id, id);
  }
}

profile::GpuModuleId GpuCode::intern(const backend::GpuModule& module) {
  profile::GpuModule made{.name = name_id(names_.intern(module.name)), .hash = name_id(names_.intern(module.hash))};
  const uint64_t key = key_of(made);
  if (const auto known = modules_.find(key); known != modules_.end()) {
    return known->second;
  }
  if (!admits(modules_.size(), kMaxModules)) {
    return {};
  }
  made.id = profile::GpuModuleId{static_cast<uint32_t>(modules_.size() + 1)};
  modules_.emplace(key, made.id);
  new_modules_.push_back(made);
  return made.id;
}

void GpuCode::add(SourceGpuCode& source, const backend::GpuPlace& place) {
  if (place.id == 0 || source.places.contains(place.id) || !admits(source.places.size(), kMaxPlaces)) {
    return;
  }
  if (const profile::GpuPlaceId id = intern(named(source.module(place.module), place)); profile::index(id) != 0) {
    source.places.emplace(place.id, id);
  }
}

profile::GpuPlaceId GpuCode::intern(profile::GpuModuleId module, std::string_view function, uint64_t offset,
                                    const std::vector<symbolize::SourceFrame>& lines) {
  std::vector<backend::GpuFrame> frames;
  frames.reserve(lines.size());
  for (const symbolize::SourceFrame& line : lines) {
    frames.push_back({line.name, line.file, line.line});
  }
  return intern(named(module, {.function = function, .offset = offset, .instruction = {}, .frames = frames}));
}

NewGpuPlace GpuCode::named(profile::GpuModuleId module, const backend::GpuPlace& place) {
  NewGpuPlace made{.module = module,
                   .function = names_.intern(place.function),
                   .instruction = names_.intern(place.instruction),
                   .offset = place.offset,
                   .lines = {}};
  for (const backend::GpuFrame& frame : place.frames.first(std::min(place.frames.size(), profile::kMostPlaceFrames))) {
    made.lines.push_back({names_.intern(frame.function), names_.intern(frame.file), frame.line});
  }
  return made;
}

profile::GpuPlaceId GpuCode::intern(NewGpuPlace place) {
  Key key = key_of(place);
  if (const auto known = places_.find(key); known != places_.end()) {
    return known->second;
  }
  if (!admits(places_.size(), kMaxPlaces)) {
    return {};
  }
  if (memory_ != nullptr) {
    memory_->grew(2 * key.size() * sizeof(uint64_t));  // the key, and its copy for the writer
  }
  place.id = profile::GpuPlaceId{static_cast<uint32_t>(places_.size() + 1)};
  places_.emplace(std::move(key), place.id);
  new_places_.push_back(std::move(place));
  return new_places_.back().id;
}

void GpuCode::take_new(Batch& batch) {
  batch.gpu_modules = std::exchange(new_modules_, {});
  batch.gpu_places = std::exchange(new_places_, {});
  batch.gpu_instructions = std::exchange(new_instructions_, {});
}

}  // namespace gpuprof::record

#include "record/process/producers.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/log.h"
#include "base/text/utf8.h"

namespace gpuprof::record {
namespace {

// Limits on the definitions of one source. Further definitions are ignored. gpuprof's own libraries stay far below the
// limits.
constexpr size_t kMaxNames = 4'000'000;
constexpr size_t kMaxDevices = 1024;
constexpr unsigned kMaxMeta = 1000;
// Limit on the Python layouts that one source may send; the injection library sends two.
constexpr unsigned kMaxPythonChanges = 8;
constexpr size_t kMaxNotes = 16;
constexpr size_t kMaxDrivers = 16;
constexpr size_t kMaxNote = 300;  // limit in bytes
constexpr std::string_view kLateTables = "note.tables";
constexpr size_t kRowBytes = 2048;  // estimated size of a source's rows in the profile: PROCESS, DEVICE, COVERAGE, LOSS
constexpr size_t kEscapeBytes = 4;  // size of the escape of a byte

// Returns an upper limit for the size of a text in the profile.
size_t written_bytes(std::string_view text) {
  return text.size() + (kEscapeBytes - 1) * static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
                         return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != ' ' && c != '.';
                       }));
}

std::string meta_key(const Source& source, const std::string& key) {
  return "process." + std::to_string(source.pid) + "." + key;
}

}  // namespace

NameIndex Source::name(uint32_t name_id) const {
  const NameIndex* const known = names.find(name_id);
  return known == nullptr ? 0 : *known;
}

profile::DeviceId Source::device(uint32_t index) const {
  const profile::DeviceId* const known = devices.find(index);
  return known == nullptr ? profile::DeviceId{} : *known;
}

bool Source::knows_range(uint32_t range) const {
  for (int depth = 0; range != 0 && depth < SourceRanges::kMaxDepth; ++depth) {
    if (ranges.resolved.contains(range)) {
      return true;
    }
    const auto told = ranges.told.find(range);
    if (told == ranges.told.end() || !names.contains(told->second.name_id) || !knows_name(told->second.domain_id)) {
      return false;
    }
    range = told->second.parent;
  }
  return true;
}

Producers::Producers(uint32_t attach_pid, MemoryBudget* memory) : memory_(memory) {
  if (attach_pid != 0) {
    counted_.insert(attach_pid);
  }
}

Source* Producers::find(backend::SourceId id) {
  return sources_.find(id);
}

void Producers::on_source(backend::SourceId id, uint32_t pid, std::string_view backend) {
  Source& source = sources_[id];
  source.id = id;
  source.pid = pid;
  source.backend = backend;
  source.image = &processes_.on_source(pid, backend);
  memory_->admit_written(kRowBytes);  // above the limit, MemoryBudget admits no processes
}

void Producers::on_name(Source& source, uint32_t name_id, std::string_view text) {
  if (source.names.size() >= kMaxNames) {
    return;
  }
  if (memory_->is_full()) {
    memory_->leave_out();
    return;
  }
  source.names[name_id] = names_.intern(text);
}

void Producers::on_device(Source& source, const Source::Device& device) {
  if (source.devices.size() + source.devices_to_be.size() >= kMaxDevices) {
    return;
  }
  if (!source.devices.contains(device.index) && !memory_->admit()) {
    return;
  }
  if (!make_device(source, device, false)) {
    source.devices_to_be.push_back(device);
  }
}

// Returns false if the name or the uuid may still arrive through another ring.
bool Producers::make_device(Source& source, const Source::Device& device, bool last) {
  if (!last && (!source.knows_name(device.name_id) || !source.knows_name(device.uuid_id))) {
    return false;
  }
  const std::string name(names_.text(source.name(device.name_id)));
  const std::string uuid(names_.text(source.name(device.uuid_id)));
  const profile::DeviceId id = devices_.intern(source.backend, device.index, name, uuid);
  if (profile::index(id) != 0) {
    source.devices[device.index] = id;
  }
  return true;
}

void Producers::retry_devices() {
  for (auto& entry : sources_) {
    Source& source = entry.second;
    std::erase_if(source.devices_to_be, [&](const auto& device) { return make_device(source, device, true); });
  }
}

void Producers::end_iteration() {
  processes_.reread_mappings();
  threads_.bound();
}

void Producers::on_range(Source& source, const backend::Range& range) {
  if (source.ranges.told.size() < SourceRanges::kMaxRanges && memory_->admit()) {
    source.ranges.told[range.id] = range;
  }
}

profile::RangeId Producers::range(Source& source, uint32_t id) {
  return ranges_.resolve(source.ranges, id, [&](uint32_t name_id) { return source.name(name_id); });
}

void Producers::on_code(Source& source, const backend::PythonCode& code) {
  codes_.define(source.codes, source.process(), code, Redefinition::ignored);
}

void Producers::on_process_code(uint32_t pid, const backend::PythonCode& code) {
  LiveImage& image = processes_.image_of(processes_.by_pid(pid));
  codes_.define(image.codes, image.id(), code, Redefinition::taken);
}

void Producers::on_thread(uint32_t pid, uint32_t tid, std::string_view name) {
  if (is_recorded(pid)) {
    threads_.set(pid, tid, name);
  }
}

bool Producers::on_python(Source& source, const gpuprof_python_layout& layout) {
  // The comparison includes padding. A difference only in padding counts as a change, which is harmless.
  if (std::memcmp(&source.python, &layout, sizeof(layout)) == 0) {  // NOLINT(bugprone-suspicious-memory-comparison)
    return true;
  }
  if (++source.python_changes > kMaxPythonChanges) {
    return false;
  }
  source.python = layout;
  processes_.on_python(*source.image, layout);
  return true;
}

void Producers::on_meta(Source& source, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || source.metas >= kMaxMeta || !memory_->admit() ||
      !memory_->admit_written(written_bytes(text))) {
    return;
  }
  ++source.metas;
  // Keys from a library are complete ("cupti.version"). Keys without a dot get the backend's name as prefix.
  const std::string key(text.substr(0, equals));
  if (!source.traits.in_recorder && (key == kLateTables || key == "note.attached" || key.starts_with("note.drm."))) {
    return;  // only the recorder knows this
  }
  if (key == "python.version") {
    source.python_version = text.substr(equals + 1, kMaxNote);
  } else if (key == "python.refused") {
    source.python_refused = text.substr(equals + 1, kMaxNote);
  }
  if (key == "gpu.driver" && drivers_.size() < kMaxDrivers) {
    if (drivers_.emplace(text.substr(equals + 1, kMaxNote)).second) {
      add_meta(key, std::string(text.substr(equals + 1, kMaxNote)));
    }
    return;
  }
  const char* const what = key == "sampling.off" ? "no samples: " : key == "counting.off" ? "no counts: " : "";
  if ((*what != '\0' || key.starts_with("note.")) && notes_.size() < kMaxNotes && notes_.insert(key).second) {
    const std::string shown = what + escaped(text.substr(equals + 1, kMaxNote));
    log::info(source.traits.in_recorder ? shown : "process " + std::to_string(source.pid) + " reports '" + shown + "'");
  }
  const std::string scope = key.find('.') == std::string::npos ? source.backend + "." : "";
  add_meta(meta_key(source, scope + key), std::string(text.substr(equals + 1)));
}

void Producers::on_tables_late(const Source& source) {
  if (notes_.insert("tables").second) {
    log::warn(
        "the first stacks of process " + std::to_string(source.pid) + " are cut until its unwind tables are ready",
        "the next recording finds the tables in the cache");
  }
  add_meta(meta_key(source, std::string(kLateTables)), "not ready in time: the first stacks are cut");
}

// Removes all data of the source and closes its files, so that they do not accumulate over many short processes.
Producers::Ended Producers::end(Source& source) {
  Ended ended;
  codes_.end(source.codes);
  const profile::ProcessId image = source.process();
  if (source.image->sources == 1) {
    codes_.end(source.image->codes);
  }
  ended.image = processes_.end_source(*source.image);
  if (ended.image) {
    ended_.push_back(image);
  }
  const uint32_t pid = source.pid;
  sources_.erase(backend::SourceId{source.id});
  ended.process =
      std::none_of(sources_.begin(), sources_.end(), [pid](const auto& entry) { return entry.second.pid == pid; });
  if (ended.process) {
    processes_.forget(pid);
    threads_.forget(pid);
  }
  return ended;
}

void Producers::take_new(Batch& batch) {
  batch.processes = processes_.take_new();
  gpu_code_.take_new(batch);
  batch.names = names_.take_new();
  batch.devices = devices_.take_new();
  batch.ranges = ranges_.take_new();
  batch.codes = codes_.take_new();
  batch.meta = std::exchange(meta_, {});
  batch.ended = std::exchange(ended_, {});
}

}  // namespace gpuprof::record

#include "record/process/live_processes.h"

namespace gpuprof::record {
namespace {

// Mappings are read for at most this many processes per poll iteration, because the rings are not read during that
// time.
constexpr unsigned kMaxReadings = 4;

}  // namespace

LiveImage& LiveProcesses::image_of(const Entry& process) {
  const auto [entry, made] = images_.try_emplace(process.image->id);
  LiveImage& image = entry->second;
  if (made) {
    image.process = process.image;
    image.maps = process.maps;
    new_.push_back(process.image);
  }
  return image;
}

LiveImage& LiveProcesses::on_source(uint32_t pid, std::string_view backend) {
  const bool known = table_.knows(pid);
  const Entry& process = table_.on_source(pid, backend);
  if (known && !images_.contains(process.image->id)) {  // exec has replaced the image
    emit_ended(pid);
  }
  emit_mapped(process);
  LiveImage& image = image_of(process);
  ++image.sources;
  return image;
}

LiveProcesses::Entry& LiveProcesses::by_pid(uint32_t pid) {
  const bool known = table_.knows(pid);
  Entry& process = table_.by_pid(pid);
  if (!known) {
    emit_mapped(process);
  }
  return process;
}

// Returns false if exec has replaced the image. Records that the old image left in the ring are then ignored.
bool LiveProcesses::is_current(const LiveImage& image) {
  return table_.knows(image.pid()) && table_.by_pid(image.pid()).image == image.process;
}

void LiveProcesses::on_python(LiveImage& image, const gpuprof_python_layout& layout) {
  image.eval_begin = layout.eval_begin;
  if (is_current(image)) {
    process_events_.push_back(
        {.what = ProcessEvent::What::python, .pid = image.pid(), .maps = nullptr, .layout = layout});
  }
}

// Emits the changed mappings, so that a stack engine does not use unwind tables of unloaded files.
void LiveProcesses::on_mappings(const LiveImage& image) {
  if (is_current(image) && table_.on_changed(table_.by_pid(image.pid()))) {
    emit_mapped(table_.by_pid(image.pid()));
  }
}

void LiveProcesses::on_loader(uint32_t pid) {
  if (table_.knows(pid)) {
    reloaders_.insert(pid);
  }
}

bool LiveProcesses::know_mappings(Entry& process, std::span<const uint64_t> addresses) {
  const auto before = process.maps;
  const bool alive = table_.know_mappings(process, addresses);
  if (process.maps != before) {
    emit_mapped(process);
  }
  return alive;
}

bool LiveProcesses::read_again(Entry& process) {
  const bool changed = table_.read_again(process);
  if (changed) {
    emit_mapped(process);
  }
  return changed;
}

void LiveProcesses::reread_mappings() {
  unsigned read = 0;
  std::erase_if(reloaders_, [&](uint32_t pid) {
    if (read == kMaxReadings) {
      return false;
    }
    Entry& process = table_.by_pid(pid);
    const bool done = table_.read_anew(process);
    read += done ? 1 : 0;
    if (done && process.alive) {
      emit_mapped(process);
    }
    return done;
  });
}

bool LiveProcesses::end_source(LiveImage& image) {
  const bool last = --image.sources == 0;
  if (last) {
    images_.erase(profile::ProcessId{image.id()});
  }
  return last;
}

void LiveProcesses::forget(uint32_t pid) {
  table_.forget(pid);
  reloaders_.erase(pid);
  emit_ended(pid);
}

void LiveProcesses::emit_mapped(const Entry& process) {
  process_events_.push_back(
      {.what = ProcessEvent::What::mapped, .pid = process.image->pid, .maps = process.maps, .layout = {}});
}

void LiveProcesses::emit_ended(uint32_t pid) {
  process_events_.push_back({.what = ProcessEvent::What::ended, .pid = pid, .maps = nullptr, .layout = {}});
}

}  // namespace gpuprof::record

#include "ipc/emit.h"

#include <cstdio>
#include <cstring>

#include "base/atomics.h"
#include "base/thread_state.h"
#include "ipc/names.h"
#include "ipc/ring.h"

namespace gpuprof::injection {

uint32_t name_id(const char* text) {
  return text == nullptr ? 0 : name_id(text, strlen(text));
}

uint32_t name_id(const char* text, size_t length) {
  gpuprof_segment* segment = open_segment();
  if (segment == nullptr || text == nullptr || length == 0) {
    return 0;
  }
  return intern(segment, text, length);
}

bool range(gpuprof_range range) {
  range.header.type = GPUPROF_RECORD_RANGE;
  return emit_record(range);
}

void span(gpuprof_span span) {
  span.header.type = GPUPROF_RECORD_SPAN;
  emit_record(span);
}

void device(uint32_t device, const char* name, const char* uuid) {
  gpuprof_device record = {};
  record.header.type = GPUPROF_RECORD_DEVICE;
  record.device = device;
  record.name_id = name_id(name);
  record.uuid_id = name_id(uuid);
  emit_record(record);
}

void meta(const char* key, const char* value) {
  char text[1024];
  gpuprof_segment* segment = open_segment();
  const int length = snprintf(text, sizeof(text), "%s=%s", key, value);
  if (segment == nullptr || length < 0 || length >= static_cast<int>(sizeof(text))) {
    return;
  }
  alignas(gpuprof_meta) uint8_t head[sizeof(gpuprof_meta)] = {};
  auto* record = reinterpret_cast<gpuprof_meta*>(head);
  record->header.type = GPUPROF_RECORD_META;
  record->length = static_cast<uint32_t>(length);
  write_record(segment, &record->header, sizeof(gpuprof_meta), text, record->length, false);
}

void meta(const char* key, uint64_t number) {
  char text[24];
  snprintf(text, sizeof(text), "%llu", static_cast<unsigned long long>(number));
  meta(key, text);
}

bool python(const gpuprof_python_layout& layout) {
  gpuprof_python record = {};
  record.header.type = GPUPROF_RECORD_PYTHON;
  record.layout = layout;
  return emit_record(record);
}

void lost(gpuprof_loss kind, uint64_t count) {
  gpuprof_segment* segment = open_segment();
  if (segment != nullptr && count != 0) {
    add_relaxed(&ring_of(segment, thread_state()).lost[kind], count);
  }
}

void count(gpuprof_count kind, uint64_t number) {
  if (gpuprof_segment* segment = open_segment(); segment != nullptr) {
    add_relaxed(&ring_of(segment, thread_state()).counts[kind], number);
  }
}

void count_passed() {
  count((control() & GPUPROF_CONTROL_UNWANTED) != 0 ? GPUPROF_COUNT_UNWANTED : GPUPROF_COUNT_PASSED);
}

const gpuprof_options* options() {
  const gpuprof_segment* segment = open_segment();
  return segment == nullptr ? nullptr : &segment->options;
}

bool wants(uint32_t flag) {
  const gpuprof_options* wanted = options();
  return wanted != nullptr && (wanted->flags & flag) != 0;
}

uint32_t control() {
  const gpuprof_segment* segment = open_segment();
  return segment == nullptr ? 0 : load_relaxed(&segment->control);
}

}  // namespace gpuprof::injection

#include "record/wire_decoder.h"

#include <cstring>
#include <string_view>

#include "wire/wire.h"

namespace gpuprof::record {
namespace {

// A copy of the fixed part of a record: the bytes may be unaligned, and are read once.
template <typename T>
bool fixed_part(std::span<const std::byte> record, T& out) {
  if (record.size() < sizeof(T)) {
    return false;
  }
  std::memcpy(&out, record.data(), sizeof(T));
  return true;
}

// `length` bytes of text after the fixed part of type T.
template <typename T>
bool text_part(std::span<const std::byte> record, uint32_t length, std::string_view& out) {
  if (length > GPUPROF_WIRE_MAX_TEXT || record.size() < sizeof(T) || record.size() - sizeof(T) < length) {
    return false;
  }
  out = {reinterpret_cast<const char*>(record.data()) + sizeof(T), length};
  return true;
}

bool decode_gpu_op(backend::SourceId source, std::span<const std::byte> record, backend::EventSink& sink) {
  gpuprof_gpu_op op;
  // 2^50 ns are 13 days: a target that claims more lies, and sums must not overflow.
  if (!fixed_part(record, op) || op.op >= GPUPROF_OPS || op.end_ns < op.start_ns ||
      op.end_ns - op.start_ns > (uint64_t{1} << 50)) {
    return false;
  }
  sink.on_gpu_op({.source = source,
                  .correlation = op.correlation,
                  .start_ns = op.start_ns,
                  .end_ns = op.end_ns,
                  .queued_ns = op.queued_ns,
                  .submitted_ns = op.submitted_ns,
                  .bytes = op.bytes,
                  .stream = op.stream,
                  .name_id = op.name_id,
                  .device = op.device,
                  .op = op.op,
                  .more = (op.flags & GPUPROF_GPU_OP_MORE) != 0});
  return true;
}

bool decode_one(backend::SourceId source, uint16_t type, std::span<const std::byte> record, backend::EventSink& sink) {
  switch (type) {
    case GPUPROF_RECORD_NAME: {
      gpuprof_name name;
      std::string_view text;
      if (!fixed_part(record, name) || name.id == 0 || !text_part<gpuprof_name>(record, name.length, text)) {
        return false;
      }
      sink.on_name(source, name.id, text);
      return true;
    }
    case GPUPROF_RECORD_DEVICE: {
      gpuprof_device device;
      if (!fixed_part(record, device)) {
        return false;
      }
      sink.on_device(source, device.device, device.name_id);
      return true;
    }
    case GPUPROF_RECORD_GPU_OP:
      return decode_gpu_op(source, record, sink);
    case GPUPROF_RECORD_LAUNCH: {
      gpuprof_launch launch;
      if (!fixed_part(record, launch)) {
        return false;
      }
      sink.on_launch(source, launch.correlation, launch.tid,
                     {launch.thread, ::strnlen(launch.thread, sizeof(launch.thread))});
      return true;
    }
    case GPUPROF_RECORD_META: {
      gpuprof_meta meta;
      std::string_view text;
      if (!fixed_part(record, meta) || !text_part<gpuprof_meta>(record, meta.length, text)) {
        return false;
      }
      sink.on_meta(source, text);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

size_t decode_records(backend::SourceId source, std::span<const std::byte> bytes, backend::EventSink& sink,
                      DecodeCounts& counts) {
  size_t at = 0;
  while (bytes.size() - at >= sizeof(gpuprof_record)) {
    gpuprof_record header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.bytes < sizeof(header) || header.bytes % 8 != 0 || header.bytes > bytes.size() - at) {
      ++counts.malformed;
      return bytes.size();
    }
    if (header.type >= GPUPROF_RECORD_TYPES) {
      ++counts.unknown;
    } else if (header.type != GPUPROF_RECORD_PAD) {
      ++counts.records;
      if (!decode_one(source, header.type, bytes.subspan(at, header.bytes), sink)) {
        ++counts.malformed;
      }
    }
    at += header.bytes;
  }
  return at;
}

}  // namespace gpuprof::record

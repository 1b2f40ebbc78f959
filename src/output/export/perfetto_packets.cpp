#include "output/export/perfetto_packets.h"

#include <zlib.h>

#include <new>

#include "output/export/perfetto_fields.h"
#include "output/export/protobuf.h"

namespace gpuprof::output::perfetto {
namespace {

constexpr uint64_t kSequence = 1;
constexpr int kLevel = 4;  // compared with zlib's default level: twice as fast, and 10% larger output

}  // namespace

void Packets::put(std::string_view fields, bool first) {
  std::string own;
  Protobuf message(own);
  message.number(packet::kTrustedPacketSequenceId, kSequence);
  message.number(packet::kSequenceFlags, first ? packet::kIncrementalStateCleared : packet::kNeedsIncrementalState);
  Protobuf lot(batch_);
  lot.begin(trace::kPacket, fields.size() + own.size());
  batch_.append(fields).append(own);
}

Status Packets::flush() {
  if (batch_.empty()) {
    return {};
  }
  uLongf size = ::compressBound(batch_.size());
  packed_.resize(size);
  if (::compress2(reinterpret_cast<Bytef*>(packed_.data()), &size, reinterpret_cast<const Bytef*>(batch_.data()),
                  batch_.size(), kLevel) != Z_OK) {
    throw std::bad_alloc();  // in a large enough buffer, compress2() fails only if memory is exhausted
  }
  packed_.resize(size);
  batch_.clear();
  std::string fields;
  Protobuf(fields).bytes(packet::kCompressedPackets, packed_);
  std::string out;
  Protobuf(out).bytes(trace::kPacket, fields);
  return sink_(out);
}

}  // namespace gpuprof::output::perfetto

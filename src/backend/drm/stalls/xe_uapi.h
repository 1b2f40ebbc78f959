// The part of xe's kernel interface that EU stall sampling needs, which exists since Linux 6.15. gpuprof declares it
// itself, because the kernel headers of most machines are older. The kernel never changes this interface.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace gpuprof::backend::drm::xe {

struct DeviceQuery {
  uint64_t extensions = 0;
  uint32_t query = 0;
  // Bytes of the answer. If it is 0, the driver writes the required size here.
  uint32_t size = 0;
  uint64_t data = 0;
  uint64_t reserved[2] = {};
};
static_assert(sizeof(DeviceQuery) == 40);
constexpr uint32_t kQueryGtList = 3;
constexpr uint32_t kQueryEuStall = 10;

struct GtList {
  uint32_t count = 0;
  uint32_t pad = 0;  // an array Gt[count] follows
};
struct Gt {
  uint16_t type = 0;
  uint16_t tile = 0;
  uint16_t id = 0;
  uint16_t pad[3] = {};
  uint32_t reference_clock = 0;
  uint64_t near_memory = 0;
  uint64_t far_memory = 0;
  uint16_t version = 0;  // graphics or media version; 0: the driver does not report it
  uint16_t minor_version = 0;
  uint16_t revision = 0;
  uint16_t pad2 = 0;
  uint64_t reserved[7] = {};
};
static_assert(sizeof(Gt) == 96);
constexpr uint16_t kGtMain = 0;  // a GT with EUs; others are for media

struct EuStall {
  uint64_t extensions = 0;
  uint64_t capabilities = 0;
  uint64_t record_bytes = 0;
  uint64_t buffer_bytes = 0;  // bytes per core
  uint64_t reserved[5] = {};
  // An array uint64_t[rates] follows. It holds GPU cycles between two samples, in ascending order.
  uint64_t rates = 0;
};
static_assert(sizeof(EuStall) == 80);
// A bit of EuStall::capabilities. The GPU supports sampling, and the other fields are valid.
constexpr uint64_t kEuStallBase = 1;

struct SetProperty {
  uint64_t next = 0;
  uint32_t name = 0;  // 0: the extension sets a property
  uint32_t pad = 0;
  uint32_t property = 0;
  uint32_t pad2 = 0;
  uint64_t value = 0;
  uint64_t reserved[2] = {};
};
static_assert(sizeof(SetProperty) == 48);
constexpr uint32_t kPropertyGt = 1;
constexpr uint32_t kPropertyRate = 2;
constexpr uint32_t kPropertyWaitReports = 3;

struct Observation {
  uint64_t extensions = 0;
  uint64_t type = 0;
  uint64_t operation = 0;
  uint64_t parameter = 0;
};
static_assert(sizeof(Observation) == 32);
constexpr uint64_t kObserveEuStalls = 1;
constexpr uint64_t kOpenStream = 0;

constexpr unsigned kFirstCommand = 0x40;  // number of the first driver-specific ioctl
constexpr unsigned long kIoctlQuery = _IOWR('d', kFirstCommand + 0x00, DeviceQuery);
constexpr unsigned long kIoctlObserve = _IOW('d', kFirstCommand + 0x0b, Observation);
constexpr unsigned long kIoctlEnable = _IO('i', 0x0);  // ioctl on the descriptor of a stream

}  // namespace gpuprof::backend::drm::xe

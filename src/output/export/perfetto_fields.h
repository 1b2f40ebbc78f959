// Field numbers of Perfetto's protocol buffers, named as in its .proto files (protos/perfetto/trace).
#pragma once

#include <cstdint>

namespace gpuprof::output::perfetto {

namespace trace {
inline constexpr uint32_t kPacket = 1;
}
namespace packet {  // TracePacket
inline constexpr uint32_t kClockSnapshot = 6;
inline constexpr uint32_t kTimestamp = 8;
inline constexpr uint32_t kTrustedPacketSequenceId = 10;
inline constexpr uint32_t kTrackEvent = 11;
inline constexpr uint32_t kInternedData = 12;
inline constexpr uint32_t kSequenceFlags = 13;
inline constexpr uint32_t kCompressedPackets = 50;
inline constexpr uint32_t kTracePacketDefaults = 59;
inline constexpr uint32_t kTrackDescriptor = 60;
inline constexpr uint64_t kIncrementalStateCleared = 1;  // SequenceFlags
inline constexpr uint64_t kNeedsIncrementalState = 2;
}  // namespace packet
namespace packet_defaults {  // TracePacketDefaults
inline constexpr uint32_t kTimestampClockId = 58;
}
namespace clock_snapshot {
inline constexpr uint32_t kClocks = 1;
inline constexpr uint32_t kPrimaryTraceClock = 2;
}  // namespace clock_snapshot
namespace clock {
inline constexpr uint32_t kClockId = 1;
inline constexpr uint32_t kTimestamp = 2;
inline constexpr uint64_t kRealtime = 1;  // BuiltinClock
inline constexpr uint64_t kMonotonic = 3;
}  // namespace clock
namespace descriptor {  // TrackDescriptor
inline constexpr uint32_t kUuid = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kProcess = 3;
inline constexpr uint32_t kThread = 4;
inline constexpr uint32_t kParentUuid = 5;
inline constexpr uint32_t kCounter = 8;
}  // namespace descriptor
namespace process {  // ProcessDescriptor
inline constexpr uint32_t kPid = 1;
inline constexpr uint32_t kCmdline = 2;
inline constexpr uint32_t kProcessName = 6;
}  // namespace process
namespace thread {  // ThreadDescriptor
inline constexpr uint32_t kPid = 1;
inline constexpr uint32_t kTid = 2;
inline constexpr uint32_t kThreadName = 5;
}  // namespace thread
namespace counter {  // CounterDescriptor
inline constexpr uint32_t kUnit = 3;
inline constexpr uint64_t kUnitCount = 2;
}  // namespace counter
namespace event {  // TrackEvent
inline constexpr uint32_t kCategoryIids = 3;
inline constexpr uint32_t kDebugAnnotations = 4;
inline constexpr uint32_t kType = 9;
inline constexpr uint32_t kNameIid = 10;
inline constexpr uint32_t kTrackUuid = 11;
inline constexpr uint32_t kCounterValue = 30;
inline constexpr uint32_t kFlowIds = 47;
inline constexpr uint32_t kCallstackIid = 56;
inline constexpr uint32_t kCallstackWeight = 57;  // of type double
inline constexpr uint64_t kSliceBegin = 1;        // Type
inline constexpr uint64_t kSliceEnd = 2;
inline constexpr uint64_t kInstant = 3;
inline constexpr uint64_t kCounter = 4;
}  // namespace event
namespace annotation {  // DebugAnnotation
inline constexpr uint32_t kNameIid = 1;
inline constexpr uint32_t kUintValue = 3;
inline constexpr uint32_t kStringValue = 6;
}  // namespace annotation
namespace interned {  // InternedData
inline constexpr uint32_t kEventCategories = 1;
inline constexpr uint32_t kEventNames = 2;
inline constexpr uint32_t kDebugAnnotationNames = 3;
inline constexpr uint32_t kFunctionNames = 5;
inline constexpr uint32_t kFrames = 6;
inline constexpr uint32_t kCallstacks = 7;
inline constexpr uint32_t kBuildIds = 16;
inline constexpr uint32_t kMappingPaths = 17;
inline constexpr uint32_t kSourcePaths = 18;
inline constexpr uint32_t kMappings = 19;
}  // namespace interned
namespace interned_text {  // fields of EventCategory, EventName, DebugAnnotationName and InternedString
inline constexpr uint32_t kIid = 1;
inline constexpr uint32_t kText = 2;
}  // namespace interned_text
namespace frame {
inline constexpr uint32_t kIid = 1;
inline constexpr uint32_t kFunctionNameId = 2;
inline constexpr uint32_t kMappingId = 3;
inline constexpr uint32_t kRelPc = 4;
inline constexpr uint32_t kSourcePathIid = 5;
inline constexpr uint32_t kLineNumber = 6;
}  // namespace frame
namespace mapping {
inline constexpr uint32_t kIid = 1;
inline constexpr uint32_t kBuildId = 2;
inline constexpr uint32_t kPathStringIds = 7;
}  // namespace mapping
namespace callstack {
inline constexpr uint32_t kIid = 1;
inline constexpr uint32_t kFrameIds = 2;
}  // namespace callstack

}  // namespace gpuprof::output::perfetto

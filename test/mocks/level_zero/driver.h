// A Level Zero driver without a device. No code runs: work takes known times and ends at a point of the clock. Commands
// begin in the order of submission, as on a device with one engine for each queue and each immediate list. A call that
// a real driver would not survive ends the process: see violation().
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace gpuprof::mock {

// MOCK_ZE_FAULTS holds the names of these faults, separated by commas. An unknown name ends the process.
struct ZeFaults {
  bool query_error = false;  // all event queries fail with "device lost"
  bool no_query = false;     // a device cannot copy event times itself
  bool no_events = false;    // no event pool with timestamps can be made
  bool zero_times = false;
  bool reversed_times = false;
  bool never_finish = false;
  bool append_error = false;  // every launch is refused
  bool mute = false;          // zeKernelGetName() reports success, but writes nothing
  bool other_type = false;    // the driver overwrites the type of the structures that it fills
  bool old_driver = false;    // Level Zero 1.0: the timer resolution is in nanoseconds
  bool wrap = false;          // the device's counter wraps some milliseconds after the start
  bool reuse = false;         // a new object gets the handle of the last destroyed one
  bool same_place = false;    // a new module's code gets the address of the last destroyed one
  bool no_extension = false;  // the driver does not report kernel addresses
  bool no_binary = false;
  bool stalls_absent = false;      // no device has EU stall metrics
  bool stalls_no_library = false;  // the driver lacks its metrics library
  bool stalls_denied = false;      // the user may not sample
  bool stalls_busy = false;        // another process is already sampling
  bool stalls_drop = false;        // samples are missing in the first read
  bool stalls_lost = false;        // the device is lost at the first read
  bool stalls_wrong = false;       // the first values are malformed
  bool stalls_foreign = false;     // each launch leaves 5 samples outside the program's code
  bool stalls_one_set = false;     // the call that calculates values of several devices fails
  bool stalls_say = false;         // prints "stream open" and "stream closed" on standard output
  bool stalls_stuck = false;       // a read never returns
  bool lenient = false;            // a context or pool may be destroyed before its objects, which it then destroys
};
const ZeFaults& ze_faults();

// Prints what the program or the injection library has done wrong, and aborts.
[[noreturn]] void violation(const char* what);

constexpr uint64_t kRate = 19200000;  // cycles a second
constexpr uint32_t kKernelBits = 32;
constexpr uint64_t kNever = UINT64_MAX;

// Every handle points to an object that begins with these members.
enum class Kind : uint32_t {
  driver,
  device,
  context,
  queue,
  list,
  fence,
  pool,
  event,
  module,
  kernel,
  image,
  metric,
  group,
  streamer,
  dead
};

// Returns the function tables of each handle. Loaders since 1.24 call through them if the driver supports this.
const void* core_tables();

struct Object {
  const void* core = core_tables();
  const void* other_tables[3] = {};  // tables that this driver lacks
  Kind kind;
};

template <typename T, typename Handle>
T& object(Handle handle) {
  auto* found = reinterpret_cast<T*>(handle);
  if (found == nullptr || found->kind != T::kKind) {
    violation("a handle that is null, of another kind, or destroyed");
  }
  return *found;
}

// Keeps destroyed objects for reuse, under a lock of its own.
template <typename T>
struct Destroyed {
  std::mutex lock;
  std::vector<T*> objects;
  static Destroyed& all() {
    static auto* destroyed = new Destroyed;  // never freed: used until the process ends
    return *destroyed;
  }
};

// Marks an object as destroyed but keeps its memory, so that a later use of its handle is detected.
template <typename T, typename Handle>
void destroy(Handle handle) {
  T& gone = object<T>(handle);
  gone.kind = Kind::dead;
  if (ze_faults().reuse) {
    const std::lock_guard<std::mutex> guard(Destroyed<T>::all().lock);
    Destroyed<T>::all().objects.push_back(&gone);
  }
}

template <typename T>
T* make() {
  const std::lock_guard<std::mutex> guard(Destroyed<T>::all().lock);
  std::vector<T*>& unused = Destroyed<T>::all().objects;
  T* made = nullptr;
  if (unused.empty()) {
    made = new T{};
  } else {
    made = unused.back();
    unused.pop_back();
    *made = T{};
  }
  made->kind = T::kKind;
  return made;
}

struct Device : Object {
  static constexpr Kind kKind = Kind::device;
  uint32_t number;
  std::vector<Device*> parts;
  Device* whole;  // the device that contains this sub-device; null for a complete device
};

struct Context : Object {
  static constexpr Kind kKind = Kind::context;
  uint32_t live = 0;
};

struct Pool : Object {
  static constexpr Kind kKind = Kind::pool;
  Context* context;
  uint32_t count;
  uint32_t live = 0;
  bool timed;
};

struct Event : Object {
  static constexpr Kind kKind = Kind::event;
  Pool* pool;
  uint64_t signaled_at = kNever;  // ns
  uint64_t busy_until = 0;        // ns; end of all commands that signal the event or wait for it
  uint64_t read_until = 0;        // ns; end of all commands that copy the event's times, even after its reset
  uint64_t start = 0;             // cycles
  uint64_t end = 0;
};

// `free_at` is the end of all work that was submitted so far, in ns.
struct Timeline {
  uint64_t free_at = 0;
};

enum class Action { work, reset, query };

struct Step {
  Action action;
  uint64_t cycles = 0;
  Event* signal = nullptr;
  std::vector<Event*> waits;
  std::vector<Event*> events;  // the events of a reset or query
  ze_kernel_timestamp_result_t* times = nullptr;
  std::vector<const struct Kernel*> kernels;
};

struct Queue : Object {
  static constexpr Kind kKind = Kind::queue;
  Context* context;
  Device* device;
  Timeline timeline;
  bool synchronous;
  uint32_t ordinal;
};

struct List : Object {
  static constexpr Kind kKind = Kind::list;
  Context* context;
  Device* device;
  bool immediate;
  bool synchronous;
  bool closed = false;
  uint32_t ordinal;
  Timeline timeline;  // used only by immediate lists
  std::vector<Step> steps;
  uint64_t busy_until = 0;
};

struct Fence : Object {
  static constexpr Kind kKind = Kind::fence;
  uint64_t signaled_at = kNever;
};

struct Module : Object {
  static constexpr Kind kKind = Kind::module;
  const Device* device = nullptr;
  uint64_t address = 0;  // device address of the module's code
  uint32_t live = 0;
  std::vector<uint8_t> binary;
};

struct Kernel : Object {
  static constexpr Kind kKind = Kind::kernel;
  std::string name;
  uint64_t cycles;
  Module* module;
  uint64_t address = 0;  // only the lower 48 bits
};

struct Image : Object {
  static constexpr Kind kKind = Kind::image;
};

constexpr uint32_t kCopyOrdinal = 1;  // the queue group that can only copy

// Returns the driver extension of this name, or null.
void* extension(const char* name);

uint64_t now_ns();
uint64_t cycles_at(uint64_t ns);     // device counter, with all 64 bits
uint64_t begin_of(uint64_t cycles);  // the first ns at which cycles_at() returns `cycles`

// Schedules a step after all earlier steps of the timeline.
void run(Timeline& timeline, const Step& step, Device& device);
// Adds the samples of a kernel that ends at `over`. The caller holds the lock.
void sample_stalls(Device& device, const Kernel& kernel, uint64_t over);
void wait_until(uint64_t ns);
ze_result_t wait_for(const uint64_t& signaled_at, uint64_t timeout);

std::mutex& the_lock();

// A function table that also has capacity for entries of newer headers.
template <typename Table>
struct Wide {
  Table table;
  void* newer[64];
};

// The driver fills entries of a later version only if the table is large enough and the loader has at least that
// version.
constexpr uint32_t kGettersVersion = ZE_MAKE_VERSION(1, 9);
constexpr uint32_t kNewerVersion = ZE_MAKE_VERSION(1, 17);
void fill_newer_lists(void** table, uint32_t version);
void fill_newer_queues(void** table, uint32_t version);
void fill_newer_pools(void** table, uint32_t version);
void fill_newer_events(void** table, uint32_t version);
void fill_exp(void** list_exp_table);

// Each function fills a part of the tables. It is defined in the file with the functions of that part.
void fill(ze_command_list_dditable_t& table);
void fill(ze_event_dditable_t& table);
void fill(ze_event_pool_dditable_t& table);
void fill(ze_fence_dditable_t& table);
void fill(ze_command_queue_dditable_t& table);
void fill(ze_context_dditable_t& table);
void fill(ze_driver_dditable_t& table);
void fill(ze_device_dditable_t& table);
void fill(ze_global_dditable_t& table);
void fill(ze_mem_dditable_t& table);
void fill(ze_image_dditable_t& table);
void fill(ze_module_dditable_t& table);
void fill(ze_kernel_dditable_t& table);

}  // namespace gpuprof::mock

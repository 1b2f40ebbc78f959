// A Level Zero driver without a device. Work takes known times, which are over when the clock says so: nothing runs.
// Commands begin in the order in which they were handed over, as on a device with one engine for each queue and each
// immediate list. What a driver would not survive ends the process: see violation().
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace gpuprof::mock {

// MOCK_ZE_FAULTS: names, "," between. One that is not known ends the process.
struct ZeFaults {
  bool query_error = false;        // all questions about events are answered with "device lost"
  bool no_query = false;           // a device cannot copy times of events itself
  bool no_events = false;          // no pool of events with times can be made
  bool zero_times = false;         // times of commands are 0
  bool reversed_times = false;     // commands end before they begin
  bool never_finish = false;       // nothing that was handed over ends
  bool append_error = false;       // every launch is refused
  bool old_driver = false;         // of Level Zero 1.0: its timer's resolution is in nanoseconds
  bool wrap = false;               // the device's counter begins anew some milliseconds after the start
  bool reuse = false;              // what is made has the handle of what was destroyed last
  bool same_place = false;         // a module's code lies where that of the last destroyed one lay
  bool no_extension = false;       // the driver does not say where kernels are
  bool no_binary = false;          // modules have no native binary
  bool stalls_absent = false;      // no device has the metrics of EU stalls
  bool stalls_no_library = false;  // the driver lacks a library for metrics
  bool stalls_denied = false;      // not everybody may sample
  bool stalls_busy = false;        // somebody else samples
  bool stalls_drop = false;        // at the first reading samples are missing
  bool stalls_lost = false;        // at the first reading the device is lost
  bool stalls_wrong = false;       // the first values are not what they should be
  bool stalls_foreign = false;     // each launch leaves 5 samples where no code of the program's is
  bool stalls_one_set = false;     // values of several devices can not be calculated
  bool stalls_say = false;         // "stream open", "stream closed" on standard output
  bool stalls_stuck = false;       // a reading does not come back
  bool lenient = false;            // a context or pool may go before what was made in it, which goes with it
};
const ZeFaults& ze_faults();

// Prints what the program, or who records it, has done wrong, and aborts.
[[noreturn]] void violation(const char* what);

constexpr uint64_t kRate = 19200000;  // cycles a second
constexpr uint32_t kKernelBits = 32;
constexpr uint64_t kNever = UINT64_MAX;

// Every handle points to one of these, which begin alike.
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

// Loaders from 1.24 on call what the handle itself leads to, where the driver says that it can.
const void* core_tables();

struct Object {
  const void* core = core_tables();
  const void* other_tables[3] = {};  // of parts of Level Zero that this driver does not have
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

// What was destroyed, under a lock of its own.
template <typename T>
struct Destroyed {
  std::mutex lock;
  std::vector<T*> objects;
  static Destroyed& all() {
    static auto* destroyed = new Destroyed;  // there at the process's end, too
    return *destroyed;
  }
};

// Objects stay, and are marked, so that a handle that was destroyed is noticed. `busy_until`: the device uses it.
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
  Device* whole;  // null: it is no part
};

struct Context : Object {
  static constexpr Kind kKind = Kind::context;
  uint32_t live = 0;  // objects in it
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
  uint64_t busy_until = 0;        // ns; by commands that signal it or wait for it
  uint64_t read_until = 0;        // ns; by those that copy its times, which may find it reset
  uint64_t start = 0;             // cycles
  uint64_t end = 0;
};

// When what was handed over so far is over.
struct Timeline {
  uint64_t free_at = 0;
};

enum class Action { work, reset, query };

struct Step {
  Action action;
  uint64_t cycles = 0;
  Event* signal = nullptr;
  std::vector<Event*> waits;
  std::vector<Event*> events;  // of reset and query
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
  Timeline timeline;  // of an immediate one
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
  uint64_t address = 0;  // of its code, on the device
  uint32_t live = 0;     // kernels of it
  std::vector<uint8_t> binary;
};

struct Kernel : Object {
  static constexpr Kind kKind = Kind::kernel;
  std::string name;
  uint64_t cycles;
  Module* module;
  uint64_t address = 0;  // 48 bits of it
};

struct Image : Object {
  static constexpr Kind kKind = Kind::image;
};

constexpr uint32_t kCopyOrdinal = 1;  // of the queue group that only copies

// The driver's extensions, by name; null: it has none of that name.
void* extension(const char* name);

uint64_t now_ns();
uint64_t cycles_at(uint64_t ns);     // of the device's counter, before it is cut to its bits
uint64_t begin_of(uint64_t cycles);  // the first ns of which cycles_at() says so

// Runs a step after what is before it.
void run(Timeline& timeline, const Step& step, Device& device);
// A kernel is over then, and was sampled meanwhile. Under the lock.
void sample_stalls(Device& device, const Kernel& kernel, uint64_t over);
void wait_until(uint64_t ns);
ze_result_t wait_for(const uint64_t& signaled_at, uint64_t timeout);

std::mutex& the_lock();

// With room for the entries of newer headers.
template <typename Table>
struct Wide {
  Table table;
  void* newer[64];
};

// What there is since: in a table that is large enough, of a loader that knows it so.
constexpr uint32_t kGettersVersion = ZE_MAKE_VERSION(1, 9);
constexpr uint32_t kNewerVersion = ZE_MAKE_VERSION(1, 17);
void fill_newer_lists(void** table, uint32_t version);
void fill_newer_queues(void** table, uint32_t version);
void fill_newer_pools(void** table, uint32_t version);
void fill_newer_events(void** table, uint32_t version);
void fill_exp(void** list_exp_table);

// Parts of the tables, in the files that hold the functions.
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

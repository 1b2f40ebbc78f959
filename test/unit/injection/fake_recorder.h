// Implements the recorder's side of wire/wire.h: a server that accepts injection libraries and reads their rings.
//
//   FakeRecorder recorder;
//   ... start a child with recorder.environment() ...
//   recorder.start();
//   ... wait for the child ...
//   recorder.stop();
//   recorder.sources()
//
// start() must come after fork(), so that the child is forked from a process with one thread.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "wire/wire.h"

namespace gpuprof::test {

struct StackRecord {
  uint32_t flags = 0;
  std::vector<uint64_t> words;
  std::vector<uint32_t> modules;
};

struct ModuleRecord {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  std::string path;
  std::vector<std::pair<uint64_t, std::string>> marks;  // file offset, and the bytes there

  bool operator==(const ModuleRecord&) const = default;
};

struct CodeRecord {
  uint32_t first_line = 0;
  uint32_t version = 0;
  std::string name;
  std::string file;
  std::string line_table;
};

struct Source {
  uint32_t id = 0;
  pid_t pid = 0;
  std::string backend;
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, std::string> devices;  // index -> name
  std::map<uint32_t, std::string> uuids;
  std::vector<gpuprof_gpu_op> ops;
  std::vector<gpuprof_launch> launch_records;
  std::vector<gpuprof_host_op> host_ops;
  std::vector<gpuprof_graph_node> graph_nodes;
  std::vector<gpuprof_call> calls;
  std::vector<gpuprof_range> ranges;
  std::vector<gpuprof_span> spans;
  std::vector<std::string> metas;
  std::map<uint64_t, StackRecord> stacks;
  uint64_t stack_records = 0;  // a stack may be sent more than once
  std::map<uint32_t, ModuleRecord> modules;
  uint64_t module_records = 0;
  uint64_t mappings_changed = 0;
  std::map<uint32_t, CodeRecord> codes;
  gpuprof_python_layout python = {};  // the last received layout
  uint64_t duplicate_names = 0;
  uint64_t bad_records = 0;
  uint64_t pads = 0;
  uint64_t launches = 0;
  uint64_t overhead_samples = 0;
  uint64_t overhead_ns = 0;
  uint64_t lost[GPUPROF_LOSS_KINDS] = {};
  uint64_t counts[GPUPROF_COUNTS] = {};
  uint32_t state = 0;
  uint32_t flushed = 0;
  std::string reason;

  [[nodiscard]] uint64_t all_lost() const {
    uint64_t sum = 0;
    for (uint64_t count : lost) {
      sum += count;
    }
    return sum;
  }
  [[nodiscard]] std::string name_of(const gpuprof_gpu_op& op) const {
    auto found = names.find(op.name_id);
    return found == names.end() ? std::string() : found->second;
  }
};

class FakeRecorder {
 public:
  struct Options {
    uint32_t control = GPUPROF_CONTROL_ENABLED;
    bool drain = true;           // read the rings while the target runs; if false, only at the end
    uint64_t drain_from_ns = 0;  // do not read them before this time
    bool beat = true;            // update the recorder's heartbeat in the shared memory
    uint64_t tail = 0;           // initial read position of the rings, as a faulty recorder might write it
    gpuprof_options wanted = {};
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;  // seals of the memory for a target
    uint32_t more_bytes = 0;                                // bytes by which the memory for a target is too large
    int more_files = 0;                                     // number of unexpected descriptors sent with the memory
  };

  FakeRecorder() : FakeRecorder(Options()) {}
  explicit FakeRecorder(Options options) : options_(options) {
    static std::atomic<int> serial{0};
    name_ = "gpuprof-test-" + std::to_string(getpid()) + "-" + std::to_string(serial++);
    listener_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data(), name_.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    listening_ =
        bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), bytes) == 0 && listen(listener_.get(), 16) == 0;
  }
  ~FakeRecorder() { stop(); }
  FakeRecorder(const FakeRecorder&) = delete;
  FakeRecorder& operator=(const FakeRecorder&) = delete;

  [[nodiscard]] bool listening() const { return listening_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> environment() const {
    return {{GPUPROF_ENV_SOCKET, name_}, {GPUPROF_ENV_TOKEN, kToken}, {GPUPROF_ENV_UID, std::to_string(geteuid())}};
  }

  void start() {
    running_ = true;
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    if (thread_.joinable()) {
      running_ = false;
      thread_.join();
    }
  }

  // Number of clients that have sent a hello. Valid after stop().
  [[nodiscard]] int hellos() const { return hellos_; }

  // Valid after stop().
  [[nodiscard]] std::vector<Source> sources() const {
    std::vector<Source> all;
    for (const auto& session : sessions_) {
      all.push_back(session->source);
    }
    return all;
  }

 private:
  static constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

  struct Session {
    Source source;
    gpuprof_segment* segment = nullptr;
    ~Session() { munmap(segment, GPUPROF_SEGMENT_BYTES); }
  };

  static uint64_t now_ns() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
  }

  void run() {
    while (running_) {
      pollfd wait = {listener_.get(), POLLIN, 0};
      poll(&wait, 1, 1);
      welcome_all();
      for (auto& session : sessions_) {
        if (options_.beat) {
          __atomic_store_n(&session->segment->heartbeat_ns, now_ns(), __ATOMIC_RELAXED);
        }
        if (options_.drain && now_ns() >= options_.drain_from_ns) {
          drain(*session);
        }
      }
    }
    for (auto& session : sessions_) {
      drain(*session);
      read_counters(*session);
    }
  }

  void welcome_all() {
    for (;;) {
      UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) {
        return;
      }
      gpuprof_hello hello = {};
      const timeval timeout = {10, 0};
      setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
      const ssize_t bytes = recv(client.get(), &hello, sizeof(hello), 0);
      hellos_ += bytes > 0 ? 1 : 0;
      if (bytes == static_cast<ssize_t>(sizeof(hello)) && hello.magic == GPUPROF_WIRE_MAGIC &&
          hello.version == GPUPROF_WIRE_VERSION && std::memcmp(hello.token, kToken, sizeof(hello.token)) == 0) {
        welcome(client.get(), hello);
      }
    }
  }

  void welcome(int client, const gpuprof_hello& hello) {
    auto session = std::make_unique<Session>();
    ucred peer = {};
    socklen_t peer_bytes = sizeof(peer);
    getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes);
    session->source.pid = peer.pid;
    session->source.id = static_cast<uint32_t>(sessions_.size()) + 1;
    session->source.python = hello.python;
    session->source.backend = std::string(hello.backend, strnlen(hello.backend, sizeof(hello.backend)));

    UniqueFd memory(memfd_create("gpuprof-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (ftruncate(memory.get(), GPUPROF_SEGMENT_BYTES + off_t{options_.more_bytes}) != 0 ||
        fcntl(memory.get(), F_ADD_SEALS, options_.seals) != 0) {
      return;
    }
    void* mapped = mmap(nullptr, GPUPROF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    session->segment = static_cast<gpuprof_segment*>(mapped);
    session->segment->magic = GPUPROF_WIRE_MAGIC;
    session->segment->version = GPUPROF_WIRE_VERSION;
    session->segment->source_id = session->source.id;
    session->segment->control = options_.control;
    session->segment->options = options_.wanted;
    session->segment->heartbeat_ns = options_.beat ? now_ns() : 0;
    for (gpuprof_ring& ring : session->segment->rings) {
      ring.tail = options_.tail;
    }
    if (send_welcome(client, session->source.id, memory.get(), options_.more_files)) {
      sessions_.push_back(std::move(session));
    }
  }

  static bool send_welcome(int client, uint32_t source, int memory, int more_files) {
    gpuprof_welcome reply = {GPUPROF_WIRE_MAGIC, GPUPROF_WIRE_VERSION, source, GPUPROF_SEGMENT_BYTES, 0};
    const std::vector<int> files(static_cast<size_t>(1 + more_files), memory);
    const size_t file_bytes = files.size() * sizeof(int);
    std::vector<uint64_t> control(CMSG_SPACE(file_bytes) / sizeof(uint64_t) + 1);
    iovec part = {&reply, sizeof(reply)};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(file_bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(file_bytes);
    std::memcpy(CMSG_DATA(header), files.data(), file_bytes);
    return sendmsg(client, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(reply));
  }

  void drain(Session& session) {
    if (options_.tail != 0) {
      return;
    }
    for (uint32_t i = 0; i < GPUPROF_RING_COUNT; ++i) {
      gpuprof_ring& ring = session.segment->rings[i];
      const auto* data = reinterpret_cast<const uint8_t*>(session.segment) + GPUPROF_SEGMENT_DATA_OFFSET +
                         size_t{i} * GPUPROF_RING_BYTES;
      const uint64_t head = __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE);
      uint64_t tail = ring.tail;
      while (tail < head) {
        const uint64_t offset = tail % GPUPROF_RING_BYTES;
        gpuprof_record record = {};
        std::memcpy(&record, data + offset, sizeof(record));
        if (record.bytes < sizeof(record) || record.bytes % 8 != 0 || record.bytes > head - tail ||
            offset + record.bytes > GPUPROF_RING_BYTES) {
          ++session.source.bad_records;
          tail = head;
          break;
        }
        decode(session.source, data + offset, record);
        tail += record.bytes;
      }
      __atomic_store_n(&ring.tail, tail, __ATOMIC_RELEASE);
    }
  }

  template <typename T>
  static T copy(const uint8_t* from) {
    T to;
    std::memcpy(&to, from, sizeof(to));
    return to;
  }

  static std::string text(const uint8_t* from, size_t header, uint32_t length, const gpuprof_record& record,
                          Source& source) {
    if (record.bytes < header + length) {
      ++source.bad_records;
      return {};
    }
    return {reinterpret_cast<const char*>(from) + header, length};
  }

  static void decode(Source& source, const uint8_t* from, const gpuprof_record& record) {
    switch (record.type) {
      case GPUPROF_RECORD_PAD:
        ++source.pads;
        break;
      case GPUPROF_RECORD_NAME: {
        const auto id = copy<uint32_t>(from + offsetof(gpuprof_name, id));
        const auto length = copy<uint32_t>(from + offsetof(gpuprof_name, length));
        const std::string name = text(from, sizeof(gpuprof_name), length, record, source);
        source.duplicate_names += source.names.emplace(id, name).second ? 0 : 1;
        break;
      }
      case GPUPROF_RECORD_DEVICE: {
        const auto device = copy<gpuprof_device>(from);
        source.devices[device.device] = source.names[device.name_id];
        if (device.uuid_id != 0) {
          source.uuids[device.device] = source.names[device.uuid_id];
        }
        break;
      }
      case GPUPROF_RECORD_GPU_OP:
        source.ops.push_back(copy<gpuprof_gpu_op>(from));
        break;
      case GPUPROF_RECORD_LAUNCH:
        source.launch_records.push_back(copy<gpuprof_launch>(from));
        break;
      case GPUPROF_RECORD_HOST_OP:
        source.host_ops.push_back(copy<gpuprof_host_op>(from));
        break;
      case GPUPROF_RECORD_GRAPH_NODE:
        source.graph_nodes.push_back(copy<gpuprof_graph_node>(from));
        break;
      case GPUPROF_RECORD_CALL:
        source.calls.push_back(copy<gpuprof_call>(from));
        break;
      case GPUPROF_RECORD_RANGE:
        source.ranges.push_back(copy<gpuprof_range>(from));
        break;
      case GPUPROF_RECORD_SPAN:
        source.spans.push_back(copy<gpuprof_span>(from));
        break;
      case GPUPROF_RECORD_META: {
        const auto length = copy<uint32_t>(from + offsetof(gpuprof_meta, length));
        source.metas.push_back(text(from, sizeof(gpuprof_meta), length, record, source));
        break;
      }
      case GPUPROF_RECORD_STACK:
        decode_stack(source, from, record);
        break;
      case GPUPROF_RECORD_CODE:
        decode_code(source, from, record);
        break;
      case GPUPROF_RECORD_MODULE:
        decode_module(source, from, record);
        break;
      case GPUPROF_RECORD_MAPPINGS:
        ++source.mappings_changed;
        break;
      case GPUPROF_RECORD_PYTHON:
        source.python = copy<gpuprof_python>(from).layout;
        break;
      default:
        ++source.bad_records;
    }
  }

  static void decode_stack(Source& source, const uint8_t* from, const gpuprof_record& record) {
    const auto id = copy<uint64_t>(from + offsetof(gpuprof_stack, stack));
    const auto count = copy<uint32_t>(from + offsetof(gpuprof_stack, count));
    StackRecord stack;
    stack.flags = copy<uint16_t>(from + offsetof(gpuprof_stack, flags));
    const auto modules = copy<uint16_t>(from + offsetof(gpuprof_stack, modules));
    if (id == 0 || count > GPUPROF_STACK_MAX_WORDS || modules > GPUPROF_STACK_MAX_MODULES ||
        record.bytes != sizeof(gpuprof_stack) + (size_t{count} + modules) * sizeof(uint64_t)) {
      ++source.bad_records;
      return;
    }
    stack.words.resize(count);
    std::memcpy(stack.words.data(), from + sizeof(gpuprof_stack), count * sizeof(uint64_t));
    for (uint32_t i = 0; i < modules; ++i) {
      const auto module = copy<uint64_t>(from + sizeof(gpuprof_stack) + (size_t{count} + i) * sizeof(uint64_t));
      stack.modules.push_back(static_cast<uint32_t>(module));
      source.bad_records +=
          source.modules.contains(stack.modules.back()) ? 0 : 1;  // the module must precede its stacks
    }
    ++source.stack_records;
    const auto [known, fresh] = source.stacks.emplace(id, stack);
    source.bad_records += fresh || (known->second.words == stack.words && known->second.flags == stack.flags) ? 0 : 1;
  }

  static void decode_module(Source& source, const uint8_t* from, const gpuprof_record& record) {
    const auto head = copy<gpuprof_module>(from);
    ModuleRecord module = {head.start, head.end, head.offset, {}, {}};
    module.path = text(from, sizeof(gpuprof_module), head.path_bytes, record, source);
    for (const gpuprof_module_mark& mark : head.marks) {
      if (mark.offset != UINT64_MAX) {
        module.marks.emplace_back(mark.offset,
                                  std::string(reinterpret_cast<const char*>(mark.bytes), sizeof(mark.bytes)));
      }
    }
    ++source.module_records;
    const auto [known, fresh] = source.modules.emplace(head.module, module);
    source.bad_records += fresh || known->second == module ? 0 : 1;
  }

  static void decode_code(Source& source, const uint8_t* from, const gpuprof_record& record) {
    alignas(gpuprof_code) uint8_t bytes[sizeof(gpuprof_code)];
    std::memcpy(bytes, from, sizeof(bytes));
    const auto* head = reinterpret_cast<const gpuprof_code*>(bytes);
    const std::string all =
        text(from, sizeof(gpuprof_code), head->name_bytes + head->file_bytes + head->line_table_bytes, record, source);
    if (all.empty() || head->id == 0) {
      ++source.bad_records;
      return;
    }
    CodeRecord code = {head->first_line, head->version, {}, {}, {}};
    code.name = all.substr(0, head->name_bytes);
    code.file = all.substr(head->name_bytes, head->file_bytes);
    code.line_table = all.substr(head->name_bytes + head->file_bytes);
    source.codes[head->id] = code;
  }

  static void read_counters(Session& session) {
    Source& source = session.source;
    const gpuprof_segment& segment = *session.segment;
    source.state = segment.state;
    source.flushed = segment.flushed;
    source.reason = std::string(segment.reason, strnlen(segment.reason, sizeof(segment.reason)));
    for (const gpuprof_ring& ring : segment.rings) {
      source.launches += ring.launches;
      source.overhead_samples += ring.overhead_samples;
      source.overhead_ns += ring.overhead_ns;
      for (size_t kind = 0; kind < GPUPROF_LOSS_KINDS; ++kind) {
        source.lost[kind] += ring.lost[kind];
      }
      for (size_t kind = 0; kind < GPUPROF_COUNTS; ++kind) {
        source.counts[kind] += ring.counts[kind];
      }
    }
  }

  Options options_;
  std::string name_;
  UniqueFd listener_;
  bool listening_ = false;
  std::atomic<bool> running_{false};
  std::thread thread_;
  int hellos_ = 0;                                  // owned by the thread until stop()
  std::vector<std::unique_ptr<Session>> sessions_;  // owned by the thread until stop()
};

}  // namespace gpuprof::test


#include "record/ipc/channel.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "catch.h"
#include "join_rig.h"
#include "shown.h"
#include "wire/wire.h"
#include "wire_bytes.h"

using gpuprof::UniqueFd;
using gpuprof::record::Channel;
using gpuprof::record::ChannelOptions;
using gpuprof::test::Rig;

namespace {

UniqueFd connect_to(const Channel& channel) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, channel.socket_name().data(), channel.socket_name().size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + channel.socket_name().size());
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  return socket;
}

void say_hello(const UniqueFd& socket, const std::string& token, const char* backend = "mock",
               const gpuprof_python_layout& python = {}) {
  gpuprof_hello hello{};
  hello.magic = GPUPROF_WIRE_MAGIC;
  hello.version = GPUPROF_WIRE_VERSION;
  std::memcpy(hello.token, token.data(), sizeof(hello.token));
  std::strcpy(hello.backend, backend);
  hello.python = python;
  REQUIRE(::send(socket.get(), &hello, sizeof(hello), 0) == sizeof(hello));
}

// A target in this process, which connects and maps its segment.
class FakeTarget {
 public:
  explicit FakeTarget(const Channel& channel, const char* backend = "mock", const gpuprof_python_layout& python = {})
      : socket_(connect_to(channel)) {
    say_hello(socket_, channel.token(), backend, python);
  }
  FakeTarget(const FakeTarget&) = delete;
  FakeTarget& operator=(const FakeTarget&) = delete;
  ~FakeTarget() {
    if (segment_ != nullptr) {
      ::munmap(segment_, GPUPROF_SEGMENT_BYTES);
    }
  }

  [[nodiscard]] bool is_welcome() const {
    pollfd readable{socket_.get(), POLLIN, 0};
    return ::poll(&readable, 1, 0) == 1;
  }

  gpuprof_segment& segment() {
    if (segment_ == nullptr) {
      gpuprof_welcome welcome{};
      iovec part{&welcome, sizeof(welcome)};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      REQUIRE(::recvmsg(socket_.get(), &message, 0) == sizeof(welcome));
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
      const UniqueFd file(fd);
      CHECK(::ftruncate(file.get(), 0) != 0);  // the memory is sealed
      void* memory = ::mmap(nullptr, GPUPROF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
      REQUIRE(memory != MAP_FAILED);
      segment_ = static_cast<gpuprof_segment*>(memory);
    }
    return *segment_;
  }

  void write(const std::vector<std::byte>& bytes) {
    gpuprof_ring& ring = segment().rings[0];
    const size_t at = GPUPROF_SEGMENT_DATA_OFFSET + ring.head % GPUPROF_RING_BYTES;
    std::memcpy(reinterpret_cast<std::byte*>(&segment()) + at, bytes.data(), bytes.size());
    ring.head += bytes.size();
  }

 private:
  UniqueFd socket_;
  gpuprof_segment* segment_ = nullptr;
};

std::unique_ptr<Channel> open(const ChannelOptions& options) {
  auto channel = Channel::open(options);
  REQUIRE(channel.ok());
  return std::move(*channel);
}

}  // namespace

TEST_CASE("a target finds the recorder's options in its segment") {
  const auto channel = open({.launch_records = true,
                             .calls = true,
                             .latency = true,
                             .whole_graphs = true,
                             .attached = true,
                             .nvtx_range = "step@torch"});
  Rig rig;
  FakeTarget target(*channel);
  channel->accept_all(rig.correlator);
  const gpuprof_segment& segment = target.segment();
  CHECK(segment.control == (GPUPROF_CONTROL_ENABLED | GPUPROF_CONTROL_LAUNCH_RECORDS | GPUPROF_CONTROL_CALLS));
  CHECK(segment.options.flags == (GPUPROF_OPTION_LATENCY | GPUPROF_OPTION_WHOLE_GRAPHS | GPUPROF_OPTION_ATTACHED));
  CHECK(std::string(segment.options.nvtx_range) == "step@torch");
}

TEST_CASE("only one library of a process samples its threads") {
  const auto channel = open({.cpu_period_ns = 1000});
  Rig rig;
  FakeTarget cuda(*channel, "cuda");
  channel->accept_all(rig.correlator);
  FakeTarget opencl(*channel, "opencl");
  channel->accept_all(rig.correlator);
  CHECK((cuda.segment().options.flags & GPUPROF_OPTION_CPU) != 0);
  CHECK((opencl.segment().options.flags & GPUPROF_OPTION_CPU) == 0);
}

TEST_CASE("the longest range name is terminated by NUL") {
  const auto channel = open({.nvtx_range = std::string(500, 'x')});
  Rig rig;
  FakeTarget target(*channel);
  channel->accept_all(rig.correlator);
  CHECK(std::string(target.segment().options.nvtx_range) == std::string(gpuprof::record::kMaxNvtxRange, 'x'));
}

TEST_CASE("switching recording on reaches connected and future processes") {
  const auto channel = open({.enabled = false, .calls = true});
  Rig rig;
  FakeTarget first(*channel, "one");
  channel->accept_all(rig.correlator);
  CHECK(first.segment().control == GPUPROF_CONTROL_CALLS);
  channel->set_enabled(true);
  CHECK(first.segment().control == (GPUPROF_CONTROL_ENABLED | GPUPROF_CONTROL_CALLS));
  FakeTarget second(*channel, "two");
  channel->accept_all(rig.correlator);
  CHECK(second.segment().control == (GPUPROF_CONTROL_ENABLED | GPUPROF_CONTROL_CALLS));
  channel->set_enabled(false);
  CHECK(first.segment().control == GPUPROF_CONTROL_CALLS);

  channel->request_retract();
  CHECK_FALSE(channel->all_retracted());
  channel->disable_all();
  CHECK(first.segment().control == GPUPROF_CONTROL_RETRACT);
  first.segment().state = GPUPROF_STATE_FINISHED;
  second.segment().state = GPUPROF_STATE_DISABLED;
  CHECK(channel->all_retracted());
}

// Accepts a target. Ends source 1, which the rig has opened by hand, so that the target's source is not mistaken for
// it.
static void accept_only(Channel& channel, Rig& rig) {
  rig.correlator.on_source_end(1);
  channel.accept_all(rig.correlator);
}

TEST_CASE("records and counters of all rings are received") {
  const auto channel = open({});
  Rig rig;
  FakeTarget target(*channel, "other");
  accept_only(*channel, rig);
  gpuprof::test::WireBytes wire;
  wire.name(1, "k").kernel(3, 5000, 5100, 1);
  target.write(wire.bytes());
  for (gpuprof_ring& ring : target.segment().rings) {
    ring.launches = 2;
    ring.counts[GPUPROF_COUNT_CAPTURED] = 1;
    ring.lost[GPUPROF_LOSS_RING_FULL] = 3;
  }
  channel->snapshot();
  CHECK(channel->drain(rig.correlator) == wire.bytes().size());
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_records == 1);
  CHECK(rig.correlator.totals().launches == 2 * GPUPROF_RING_COUNT);
  CHECK(rig.correlator.totals().lost.at("ring_full") == 3 * GPUPROF_RING_COUNT);
  rig.correlator.close_window(1'000'000);
  rig.correlator.finish();
  CHECK(rig.correlator.totals().coverage[gpuprof::profile::CoverageCount::captured] == GPUPROF_RING_COUNT);
}

TEST_CASE("a ring with more records than one piece is read to its end") {
  const auto channel = open({});
  Rig rig;
  FakeTarget target(*channel, "other");
  accept_only(*channel, rig);
  constexpr uint64_t kKernels = 20'000;
  gpuprof::test::WireBytes wire;
  wire.name(1, "k");
  for (uint64_t i = 1; i <= kKernels; ++i) {
    wire.kernel(i, 5000 + i, 5001 + i, 1);
  }
  target.write(wire.bytes());
  const gpuprof_ring& ring = target.segment().rings[0];
  channel->snapshot();
  CHECK(channel->drain(rig.correlator) == wire.bytes().size());
  CHECK(ring.tail == ring.head);
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_records == kKernels);
  CHECK(channel->decode_counts().malformed == 0);
}

TEST_CASE("a ring whose head goes backwards is not read again") {
  const auto channel = open({});
  Rig rig;
  FakeTarget target(*channel, "other");
  accept_only(*channel, rig);
  const auto poll_once = [&] {
    channel->snapshot();
    return channel->drain(rig.correlator);
  };
  gpuprof::test::WireBytes wire;
  wire.name(1, "k").kernel(3, 5000, 5100, 1);
  const size_t size = wire.bytes().size();
  target.write(wire.bytes());
  gpuprof_ring& ring = target.segment().rings[0];
  CHECK(poll_once() == size);
  CHECK(channel->decode_counts().malformed == 0);

  ring.head = 0;
  for (int again = 0; again < 3; ++again) {
    CHECK(poll_once() == 0);
    CHECK(ring.tail == size);
    CHECK(channel->decode_counts().malformed == 1);
  }
  ring.head = size;
  CHECK(poll_once() == 0);
  CHECK(channel->decode_counts().malformed == 1);

  gpuprof::test::WireBytes more;
  target.write(more.kernel(4, 6000, 6100, 1).bytes());
  CHECK(poll_once() == more.bytes().size());
  ring.head = 8;
  CHECK(poll_once() == 0);
  CHECK(channel->decode_counts().malformed == 2);

  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_records == 2);
}

TEST_CASE("a tail that the target decreases has no effect") {
  const auto channel = open({});
  Rig rig;
  FakeTarget target(*channel, "other");
  accept_only(*channel, rig);
  gpuprof::test::WireBytes wire;
  wire.name(1, "k").kernel(3, 5000, 5100, 1);
  target.write(wire.bytes());
  gpuprof_ring& ring = target.segment().rings[0];
  channel->snapshot();
  channel->drain(rig.correlator);
  ring.tail = 0;
  channel->snapshot();
  CHECK(channel->drain(rig.correlator) == 0);
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_records == 1);
  CHECK(channel->decode_counts().malformed == 0);
}

TEST_CASE("a head beyond the ring's capacity is counted once, and later records are read") {
  const auto channel = open({});
  Rig rig;
  FakeTarget target(*channel, "other");
  accept_only(*channel, rig);
  gpuprof_ring& ring = target.segment().rings[0];
  ring.head = 2 * GPUPROF_RING_BYTES;
  for (int again = 0; again < 2; ++again) {
    channel->snapshot();
    CHECK(channel->drain(rig.correlator) == 0);
    CHECK(ring.tail == 2 * GPUPROF_RING_BYTES);
    CHECK(channel->decode_counts().malformed == 1);
  }
  gpuprof::test::WireBytes wire;
  target.write(wire.name(1, "k").kernel(3, 5000, 5100, 1).bytes());
  channel->snapshot();
  CHECK(channel->drain(rig.correlator) == wire.bytes().size());
  rig.correlator.end_iteration(true);
  CHECK(rig.correlator.totals().gpu_records == 1);
}

TEST_CASE("targets of a duty cycle are told to look at the control bits often") {
  for (const bool duty_cycle : {false, true}) {
    const auto channel = open({.duty_cycle = duty_cycle});
    Rig rig;
    FakeTarget target(*channel);
    channel->accept_all(rig.correlator);
    CHECK(((target.segment().options.flags & GPUPROF_OPTION_WINDOWS) != 0) == duty_cycle);
  }
}

TEST_CASE("a process without the token is rejected") {
  const auto channel = open({});
  const auto other = open({});
  Rig rig;
  const UniqueFd socket = connect_to(*channel);
  say_hello(socket, other->token());
  channel->accept_all(rig.correlator);
  CHECK(channel->live_sources() == 0);
}

TEST_CASE("a process that is delayed before its hello is recorded") {
  const auto channel = open({});
  Rig rig;
  const UniqueFd silent = connect_to(*channel);
  for (int turn = 0; turn < 3; ++turn) {
    channel->accept_all(rig.correlator);
  }
  CHECK(channel->live_sources() == 0);
  FakeTarget other(*channel);  // the silent process must not delay this target
  channel->accept_all(rig.correlator);
  CHECK(channel->live_sources() == 1);

  say_hello(silent, channel->token(), "late");
  std::vector<pollfd> fds;
  channel->add_poll_fds(fds);
  CHECK(::poll(fds.data(), fds.size(), 0) == 1);
  channel->accept_all(rig.correlator);
  CHECK(channel->live_sources() == 2);
}

TEST_CASE("clients that connect and send nothing do not block others") {
  const auto channel = open({});
  Rig rig;
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(connect_to(*channel));
    channel->accept_all(rig.correlator);
  }
  FakeTarget target(*channel);
  channel->accept_all(rig.correlator);
  CHECK(channel->live_sources() == 1);
  std::vector<pollfd> fds;
  channel->add_poll_fds(fds);
  CHECK(fds.size() < 280);  // the channel has closed the oldest of the 300 connections
}

TEST_CASE("a live process that gave up in its handshake is counted") {
  Rig rig;
  const auto channel = open({.hold = true});
  {
    const FakeTarget target(*channel);
    channel->accept_all(rig.correlator);
  }
  CHECK(channel->refused() == 0);
  for (const auto source : channel->take_waiting()) {
    channel->release(source);
  }
  const auto begin = std::chrono::steady_clock::now();
  while (channel->live_sources() > 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) {
    channel->snapshot();
    channel->drain(rig.correlator);
  }
  CHECK(channel->live_sources() == 0);
  CHECK(channel->refused() == 1);
}

TEST_CASE("a process that never uses its segment is counted at the end") {
  Rig rig;
  const auto channel = open({});
  FakeTarget never(*channel);
  FakeTarget does(*channel, "other");
  channel->accept_all(rig.correlator);
  does.segment().state = GPUPROF_STATE_ACTIVE;
  CHECK(channel->refused() == 0);
  channel->count_unmapped();
  CHECK(channel->refused() == 1);
}

TEST_CASE("a process that executes a new program in its handshake is not counted") {
  Rig rig;
  const auto channel = open({});
  const FakeTarget before(*channel);
  channel->accept_all(rig.correlator);
  FakeTarget after(*channel);
  channel->accept_all(rig.correlator);
  after.segment().state = GPUPROF_STATE_ACTIVE;
  channel->snapshot();
  channel->drain(rig.correlator);
  channel->count_unmapped();
  CHECK(channel->refused() == 0);
  CHECK(channel->live_sources() == 1);
}

TEST_CASE("a process waits in its handshake until it is released") {
  Rig rig;
  auto channel = Channel::open({.hold = true});
  REQUIRE(channel);
  FakeTarget target(**channel);
  (*channel)->accept_all(rig.correlator);
  CHECK_FALSE(target.is_welcome());
  const auto held = (*channel)->take_waiting();
  REQUIRE(held.size() == 1);
  CHECK((*channel)->take_waiting().empty());
  (*channel)->snapshot();  // the channel still reads other processes
  (*channel)->drain(rig.correlator);
  CHECK_FALSE(target.is_welcome());
  (*channel)->release(held[0]);
  CHECK(target.is_welcome());
  CHECK(target.segment().source_id == held[0]);
  (*channel)->release(held[0]);  // a second release is harmless
  (*channel)->release(999);
}

TEST_CASE("processes are asked to walk their stacks, and send their Python layout") {
  Rig rig;
  auto channel = Channel::open({.stacks = true});
  REQUIRE(channel);
  gpuprof_python_layout python{};
  python.version = 0x030c0000;
  python.eval_begin = 0x1000;
  python.eval_end = 0x2000;
  FakeTarget target(**channel, "mock", python);
  python.eval_end = UINT64_MAX;
  FakeTarget liar(**channel, "liar", python);
  rig.correlator.take_process_events();
  (*channel)->accept_all(rig.correlator);
  CHECK((target.segment().options.flags & GPUPROF_OPTION_STACKS) != 0);
  CHECK((target.segment().control & GPUPROF_CONTROL_LAUNCH_RECORDS) != 0);
  size_t pythons = 0;
  for (const auto& events : rig.correlator.take_process_events()) {
    pythons += events.what == gpuprof::record::ProcessEvent::What::python ? 1 : 0;
  }
  CHECK(pythons == 1);
}

TEST_CASE("a process is rejected and counted if the memory is exhausted") {
  uint64_t used = 0;
  const auto channel = open({.memory = std::make_shared<gpuprof::record::MemoryBudget>([&used] { return used; })});
  Rig rig;
  FakeTarget first(*channel, "one");
  channel->accept_all(rig.correlator);
  CHECK(channel->live_sources() == 1);
  used = gpuprof::record::MemoryBudget::kFull;
  FakeTarget second(*channel, "two");
  channel->accept_all(rig.correlator);
  CHECK(channel->live_sources() == 1);
  CHECK(channel->refused() == 1);
  used = 0;
  FakeTarget third(*channel, "three");
  channel->accept_all(rig.correlator);
  CHECK(channel->live_sources() == 2);
}

TEST_CASE("only some of many rejected processes are reported") {
  const auto channel = open(
      {.memory = std::make_shared<gpuprof::record::MemoryBudget>([] { return gpuprof::record::MemoryBudget::kFull; })});
  Rig rig;
  const gpuprof::test::Stderr shown;
  for (int i = 0; i < 30; ++i) {
    const FakeTarget target(*channel);
    channel->accept_all(rig.correlator);
  }
  CHECK(channel->refused() == 30);
  const std::string text = shown.text();
  CHECK(gpuprof::test::count(text, "is not recorded") == 10);
  CHECK(gpuprof::test::count(text, "(later ones are not shown)") == 1);
}

TEST_CASE("only some of many processes that do not use their segment are reported") {
  const auto channel = open({});
  Rig rig;
  std::vector<std::unique_ptr<FakeTarget>> targets;
  for (int i = 0; i < 30; ++i) {
    targets.push_back(std::make_unique<FakeTarget>(*channel, ("mock" + std::to_string(i)).c_str()));
    channel->accept_all(rig.correlator);
  }
  const gpuprof::test::Stderr shown;
  channel->count_unmapped();
  CHECK(channel->refused() == 30);
  CHECK(gpuprof::test::count(shown.text(), "the recording ended before it was ready") == 10);
}

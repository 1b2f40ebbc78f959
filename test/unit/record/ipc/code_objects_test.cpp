#include "record/ipc/code_objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>

#include "base/process/packet.h"
#include "catch.h"
#include "ipc/code_objects.h"
#include "join_rig.h"
#include "record/ipc/channel.h"

using gpuprof::send_packet;
using gpuprof::UniqueFd;
using gpuprof::record::Channel;
using gpuprof::record::ChannelOptions;
using gpuprof::record::code_hash_of;
using gpuprof::record::CodeHash;
using gpuprof::record::CodeLimits;
using gpuprof::record::CodeObject;
using gpuprof::record::CodeObjects;
using gpuprof::record::CodeOffer;
using gpuprof::record::MemoryBudget;
using gpuprof::test::Rig;
namespace injection = gpuprof::injection;

namespace {

constexpr CodeLimits kLimits{.object_bytes = 4 << 20, .session_bytes = 6 << 20};
constexpr int kAll = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

std::string code_of(char letter, size_t bytes = 3'000'001) {
  std::string code(bytes, letter);
  for (size_t i = 0; i < code.size(); i += 4096) {
    code[i] = static_cast<char>(i / 4096);
  }
  return code;
}

CodeHash hash(const std::string& code) {
  gpuprof_code_hasher hasher{};
  gpuprof_code_hash_add(&hasher, code.data(), code.size());
  return code_hash_of(gpuprof_code_hash_end(&hasher));
}

CodeOffer offer_of(uint64_t module, const std::string& code) {
  return {.source = 1, .kind = GPUPROF_CODE_CUBIN, .module = module, .bytes = code.size(), .hash = hash(code)};
}

UniqueFd file_of(const std::string& code, int seals = kAll) {
  UniqueFd file(::memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::write(file.get(), code.data(), code.size()) == static_cast<ssize_t>(code.size()));
  REQUIRE((seals == 0 || ::fcntl(file.get(), F_ADD_SEALS, seals) == 0));
  return file;
}

// Offers a code object, and holds the target's end of the connection.
class Offered {
 public:
  Offered(CodeObjects& objects, const CodeOffer& offer, const CodeObjects::Owner& owner = {1, 1000}) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    end_.reset(ends[0]);
    objects.on_offer(owner, offer, UniqueFd(ends[1]));
  }
  [[nodiscard]] uint32_t answer() const {
    gpuprof_code_answer said{};
    CHECK(::recv(end_.get(), &said, sizeof(said), MSG_DONTWAIT) == sizeof(said));
    CHECK(said.magic == GPUPROF_CODE_MAGIC);
    return said.word;
  }
  void send(const UniqueFd& file) const {
    const gpuprof_code_file head{GPUPROF_CODE_MAGIC, 0};
    CHECK(send_packet(end_.get(), std::as_bytes(std::span(&head, 1)), file.get()));
  }
  void hang_up() { end_.reset(); }

 private:
  UniqueFd end_;
};

CodeObjects make_objects(const CodeLimits& limits = kLimits) {
  return {limits, std::make_shared<MemoryBudget>([] { return uint64_t{0}; })};
}

void check_kept(CodeObjects& objects, uint64_t module, const std::string& code) {
  const CodeObject* object = objects.find(1, module);
  REQUIRE(object != nullptr);
  CHECK(object->hash == hash(code));
  std::vector<char> bytes(code.size() + 1);
  REQUIRE(::pread(objects.file(*object), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(code.size()));
  CHECK(std::memcmp(bytes.data(), code.data(), code.size()) == 0);
}

// Forks a target that connects and runs `body` with its source id. The target exits with 0 if `body` returns true.
pid_t fork_target(const Channel& channel, const std::function<bool(const injection::Address&, uint32_t)>& body) {
  const pid_t pid = ::fork();
  if (pid != 0) {
    return pid;
  }
  ::alarm(60);
  const injection::Address address{channel.socket_name().c_str(), channel.token().c_str(),
                                   static_cast<int64_t>(::geteuid())};
  const int connection = injection::open_connection(address);
  gpuprof_hello hello{};
  hello.magic = GPUPROF_WIRE_MAGIC;
  hello.version = GPUPROF_WIRE_VERSION;
  std::memcpy(hello.token, address.token, sizeof(hello.token));
  std::strcpy(hello.backend, "mock");
  gpuprof_welcome welcome{};
  const bool welcomed = ::send(connection, &hello, sizeof(hello), 0) == sizeof(hello) &&
                        ::recv(connection, &welcome, sizeof(welcome), 0) == sizeof(welcome);
  ::_exit(welcomed && body(address, welcome.source_id) ? 0 : 1);
}

void poll_once(Channel& channel, Rig& rig) {
  channel.accept_all(rig.correlator);
  channel.snapshot();
  channel.drain(rig.correlator);
}

bool ends_well(Channel& channel, Rig& rig, pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    poll_once(channel, rig);
    ::usleep(500);
  }
  while (channel.live_sources() > 0) {
    poll_once(channel, rig);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::unique_ptr<Channel> open_channel(const CodeLimits& limits = kLimits) {
  ChannelOptions options;
  options.code = limits;
  auto channel = Channel::open(options);
  REQUIRE(channel.ok());
  return std::move(*channel);
}

}  // namespace

TEST_CASE("equal code of two processes is kept once") {
  const auto channel = open_channel();
  Rig rig;
  const std::string code = code_of('a');
  for (const uint64_t module : {7, 8}) {
    const pid_t pid = fork_target(*channel, [&](const injection::Address& address, uint32_t source) {
      return injection::send_code(address, source, {GPUPROF_CODE_CUBIN, module, code.data(), code.size()});
    });
    CHECK(ends_well(*channel, rig, pid));
  }
  CHECK(channel->code().size() == 1);
  check_kept(channel->code(), 7, code);
  CHECK(channel->code().find(2, 8) == channel->code().find(1, 7));
  CHECK(channel->code().find(1, 8) == nullptr);
}

TEST_CASE("code that was not requested is rejected, which is not a loss") {
  const auto channel = open_channel({});
  Rig rig;
  const pid_t pid = fork_target(*channel, [](const injection::Address& address, uint32_t source) {
    return !injection::send_code(address, source, {GPUPROF_CODE_CUBIN, 1, "code", 4});
  });
  CHECK(ends_well(*channel, rig, pid));
  CHECK(channel->code().size() == 0);
  CHECK(channel->code().refused(1) == 0);
}

TEST_CASE("code is accepted only from the process that is the source") {
  const auto channel = open_channel();
  Rig rig;
  const pid_t other = fork_target(*channel, [](const injection::Address&, uint32_t) { return ::pause() == 0; });
  while (channel->live_sources() == 0) {
    poll_once(*channel, rig);
  }
  const std::string token(32, '0');
  const pid_t pid = fork_target(*channel, [&](injection::Address address, uint32_t source) {
    const injection::Code code{GPUPROF_CODE_CUBIN, 1, "code", 4};
    const bool for_other = injection::send_code(address, source - 1, code);
    const bool for_nobody = injection::send_code(address, source + 1, code);
    address.token = token.c_str();
    return !for_other && !for_nobody && !injection::send_code(address, source, code);
  });
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    poll_once(*channel, rig);
  }
  CHECK(status == 0);
  CHECK(channel->code().size() == 0);
  CHECK(channel->code().refused(1) == 0);
  ::kill(other, SIGKILL);
  CHECK_FALSE(ends_well(*channel, rig, other));
}

TEST_CASE("a target continues if its recorder has ended") {
  auto channel = open_channel();
  const std::string name = channel->socket_name();
  const std::string token = channel->token();
  channel.reset();
  errno = 77;
  CHECK_FALSE(injection::send_code({name.c_str(), token.c_str(), static_cast<int64_t>(::geteuid())}, 1,
                                   {GPUPROF_CODE_ZEBIN, 1, "code", 4}));
  CHECK(errno == 77);
}

TEST_CASE("a target continues if it may not write a file of this size") {
  const auto channel = open_channel();
  Rig rig;
  const std::string code = code_of('a');
  const pid_t pid = fork_target(*channel, [&](const injection::Address& address, uint32_t source) {
    const rlimit limit{4096, 4096};
    return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           !injection::send_code(address, source, {GPUPROF_CODE_CUBIN, 1, code.data(), code.size()});
  });
  CHECK(ends_well(*channel, rig, pid));
  CHECK(channel->code().refused(1) == 1);
}

TEST_CASE("code that a source could not send is in its counters") {
  const auto channel = open_channel();
  Rig rig;
  const std::string code = code_of('a', kLimits.object_bytes + 1);
  const pid_t pid = fork_target(*channel, [&](const injection::Address& address, uint32_t source) {
    return !injection::send_code(address, source, {GPUPROF_CODE_CUBIN, 1, code.data(), code.size()});
  });
  CHECK(ends_well(*channel, rig, pid));
  CHECK(channel->code().refused(1) == 1);
}

TEST_CASE("a target killed after its offer leaves only a loss behind") {
  const auto channel = open_channel();
  Rig rig;
  const pid_t pid = fork_target(*channel, [&](const injection::Address& address, uint32_t source) {
    const int connection = injection::open_connection(address);
    const std::string code = code_of('a');
    const CodeHash said = hash(code);
    gpuprof_code_offer offer{GPUPROF_CODE_MAGIC, GPUPROF_WIRE_VERSION, {}, source, GPUPROF_CODE_CUBIN, 1,
                             code.size(),        {{said[0], said[1]}}};
    std::memcpy(offer.token, address.token, sizeof(offer.token));
    gpuprof_code_answer answer{};
    const bool asked = ::send(connection, &offer, sizeof(offer), 0) == sizeof(offer) &&
                       ::recv(connection, &answer, sizeof(answer), 0) == sizeof(answer) &&
                       answer.word == GPUPROF_CODE_SEND;
    return asked && ::kill(::getpid(), SIGKILL) == 0;
  });
  CHECK_FALSE(ends_well(*channel, rig, pid));
  CHECK(channel->code().refused(1) == 1);
  CHECK(channel->code().size() == 0);
  CHECK_FALSE(channel->code().expects(1));
}

TEST_CASE("only sealed files of the offered size and contents are accepted") {
  const std::string code = code_of('a');
  const std::string other = code_of('b');
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE, F_SEAL_SEAL, kAll}) {
    CodeObjects objects = make_objects();
    const Offered offered(objects, offer_of(1, code));
    CHECK(offered.answer() == GPUPROF_CODE_SEND);
    offered.send(file_of(code, kAll & ~missing));
    objects.take();
    CHECK(objects.refused(1) == 1);
    CHECK(objects.size() == 0);
  }
  for (const std::string& sent : {other, code + 'x', code.substr(1)}) {
    CodeObjects objects = make_objects();
    const Offered offered(objects, offer_of(1, code));
    offered.send(file_of(sent));
    objects.take();
    CHECK(objects.refused(1) == 1);
    CHECK(objects.find(1, 1) == nullptr);
  }
}

TEST_CASE("a descriptor that is not a file ends the transfer") {
  const std::string code = code_of('a');
  CodeObjects objects = make_objects();
  Offered nothing(objects, offer_of(1, code));
  objects.take();
  CHECK(objects.expects(1));
  CHECK(objects.refused(1) == 0);
  nothing.send({});
  objects.take();
  CHECK_FALSE(objects.expects(1));
  Offered hung_up(objects, offer_of(1, code));
  hung_up.hang_up();
  objects.take();
  CHECK(objects.refused(1) == 2);
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const UniqueFd read_end(pipe[0]);
  const UniqueFd write_end(pipe[1]);
  Offered of_pipe(objects, offer_of(1, code));
  of_pipe.send(read_end);
  objects.take();
  CHECK(objects.refused(1) == 3);
}

TEST_CASE("sizes are limited for each object and in sum, and failed transfers free their share") {
  CodeObjects objects = make_objects();
  CHECK(Offered(objects, offer_of(1, "")).answer() == GPUPROF_CODE_REFUSED);
  CodeOffer huge = offer_of(1, "x");
  for (const uint64_t bytes : {kLimits.object_bytes + 1, UINT64_MAX}) {
    huge.bytes = bytes;
    CHECK(Offered(objects, huge).answer() == GPUPROF_CODE_REFUSED);
  }
  CHECK(objects.refused(1) == 3);

  const std::string code = code_of('a', 4 << 20);
  const std::string second = code_of('b', 4 << 20);
  Offered first(objects, offer_of(1, code));
  CHECK(first.answer() == GPUPROF_CODE_SEND);
  CHECK(Offered(objects, offer_of(2, second)).answer() == GPUPROF_CODE_REFUSED);  // the first object is still pending
  first.hang_up();
  objects.take();
  const Offered again(objects, offer_of(2, second));
  CHECK(again.answer() == GPUPROF_CODE_SEND);
  again.send(file_of(second));
  objects.take();
  check_kept(objects, 2, second);
}

TEST_CASE("two concurrent transfers of equal code give one object") {
  CodeObjects objects = make_objects();
  const std::string code = code_of('a');
  const Offered first(objects, offer_of(1, code));
  const Offered second(objects, offer_of(2, code));
  second.send(file_of(code));
  first.send(file_of(code));
  objects.take();
  CHECK(objects.size() == 1);
  check_kept(objects, 1, code);
  check_kept(objects, 2, code);
  const Offered third(objects, offer_of(3, code_of('c')));  // the second transfer has ended, so its memory is free
  CHECK(third.answer() == GPUPROF_CODE_SEND);
}

TEST_CASE("equal code of two users is kept separately") {
  CodeObjects objects = make_objects();
  const std::string code = code_of('a', 100);
  const Offered first(objects, offer_of(1, code), {1, 1000});
  first.send(file_of(code));
  objects.take();
  CHECK(Offered(objects, offer_of(2, code), {2, 1001}).answer() == GPUPROF_CODE_SEND);
  CHECK(Offered(objects, offer_of(2, code), {3, 1000}).answer() == GPUPROF_CODE_HAVE_IT);
}

TEST_CASE("a large object is read in several poll iterations") {
  CodeObjects objects = make_objects({.object_bytes = 200 << 20, .session_bytes = 200 << 20});
  const std::string code = code_of('a', (100 << 20) + 5);
  const Offered offered(objects, offer_of(1, code));
  offered.send(file_of(code));
  objects.take();
  CHECK(objects.expects(1));
  CHECK(objects.find(1, 1) == nullptr);
  objects.take();
  check_kept(objects, 1, code);
}

TEST_CASE("new code is rejected if the session is short of memory") {
  CodeObjects objects(kLimits, [] {
    auto memory = std::make_shared<MemoryBudget>([] { return MemoryBudget::kLimit; });
    memory->look();
    return memory;
  }());
  CHECK(Offered(objects, offer_of(1, "code")).answer() == GPUPROF_CODE_REFUSED);
  CHECK(objects.refused(1) == 1);
}

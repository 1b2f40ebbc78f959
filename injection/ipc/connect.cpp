#include "ipc/connect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "wire/clock_offset.h"

namespace gpuprof::injection {
namespace {

constexpr time_t kTimeoutSeconds = GPUPROF_HANDSHAKE_WAIT_NS / 1000000000;

// Parses a decimal user id. Returns kNobody for any other text.
int64_t user_of(const char* text) {
  constexpr int64_t kNoUser = UINT32_MAX;  // (uid_t)-1
  int64_t user = 0;
  if (text == nullptr || *text == '\0') {
    return Address::kNobody;
  }
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') {
      return Address::kNobody;
    }
    user = user * 10 + (*text - '0');
    if (user >= kNoUser) {
      return Address::kNobody;
    }
  }
  return user;
}

bool open_socket(int* result) {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return false;
  }
  const timeval timeout = {kTimeoutSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  *result = fd;
  return true;
}

// The folder of this library, which has the recorder's socket. Stored, because a forked child must not ask the loader.
constinit char socket_folder[PATH_MAX] = {};

void find_socket_folder() {
  Dl_info info = {};
  if (socket_folder[0] != '\0' || dladdr(socket_folder, &info) == 0 || info.dli_fname == nullptr) {
    return;
  }
  const char* slash = strrchr(info.dli_fname, '/');
  const size_t length = slash == nullptr ? 0 : static_cast<size_t>(slash - info.dli_fname);
  if (length < sizeof(socket_folder)) {
    memcpy(socket_folder, info.dli_fname, length);
  }
}

// `name`: a path, or a NUL byte and an abstract name. `length` does not count a path's terminator.
bool connect_to(int fd, const char* name, size_t length) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name, length);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const uint64_t deadline = now_ns() + kTimeoutSeconds * 1000000000ULL;
  while (connect(fd, reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    if (errno == EISCONN) {
      return true;
    }
    if (errno != EINTR || now_ns() > deadline) {
      return false;
    }
  }
  return true;
}

// If the socket's path is too long for sockaddr_un, connects by the open folder. That needs /proc.
bool connect_in_folder(int fd) {
  char path[sizeof(sockaddr_un::sun_path)];
  const int whole = snprintf(path, sizeof(path), "%s/" GPUPROF_SOCKET_FILE, socket_folder);
  if (socket_folder[0] != '\0' && whole < static_cast<int>(sizeof(path))) {
    return connect_to(fd, path, static_cast<size_t>(whole));
  }
  const int folder = socket_folder[0] == '\0' ? -1 : open(socket_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    return false;
  }
  // /proc/self is empty if the main thread has ended.
  const int length = snprintf(path, sizeof(path), "/proc/thread-self/fd/%d/" GPUPROF_SOCKET_FILE, folder);
  const bool connected = connect_to(fd, path, static_cast<size_t>(length));
  close(folder);
  return connected;
}

bool connect_to_either(int fd, const char* name) {
  char abstract[sizeof(sockaddr_un::sun_path)] = {};
  const size_t length = strlen(name);
  if (length == 0 || length > sizeof(abstract) - 2) {
    return false;
  }
  memcpy(abstract + 1, name, length + 1);
  return connect_to(fd, abstract, length + 1) || connect_in_folder(fd);
}

// Checks the peer's user, because any user may listen at the recorder's name after the recorder has died. In a user
// namespace, the recorder may have another user id. So the target's own user is accepted too, who can inspect the
// target anyway. The overflow id is not accepted, because it represents all unmapped users.
bool is_recorder(int fd, int64_t user) {
  constexpr uid_t kUnknown = 65534;
  ucred peer = {};
  socklen_t bytes = sizeof(peer);
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || bytes != sizeof(peer) ||
      getresuid(&real, &effective, &saved) != 0) {
    return false;
  }
  const bool ours = peer.uid == real && peer.uid == effective && peer.uid == saved && peer.uid != kUnknown;
  return ours || int64_t{peer.uid} == user;
}

bool make_handshake(const Introduction& who, const char* token, gpuprof_hello* hello) {
  *hello = {};
  hello->magic = GPUPROF_WIRE_MAGIC;
  hello->version = GPUPROF_WIRE_VERSION;
  const size_t token_length = strlen(token);
  const size_t backend_length = strlen(who.backend);
  if (token_length != sizeof(hello->token) || backend_length >= sizeof(hello->backend)) {
    return false;
  }
  memcpy(hello->token, token, token_length);
  memcpy(hello->backend, who.backend, backend_length);
  hello->python = who.python;
  return true;
}

bool send_handshake(int fd, const gpuprof_hello& hello) {
  const uint64_t deadline = now_ns() + kTimeoutSeconds * 1000000000ULL;
  ssize_t sent = 0;
  do {
    sent = send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR && now_ns() < deadline);
  return sent == static_cast<ssize_t>(sizeof(hello));
}

// Receives the answer and its memfd. Returns the descriptor, or -1 on any error.
int receive_answer(int fd, gpuprof_welcome* welcome) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {welcome, sizeof(*welcome)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  // This is the length of exactly one descriptor. CMSG_SPACE could accept a second one, which would leak.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const uint64_t deadline = now_ns() + kTimeoutSeconds * 1000000000ULL;
  ssize_t received = 0;
  do {
    received = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR && now_ns() < deadline);
  if (received < 0) {
    return -1;
  }
  int memory = -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    memcpy(&memory, CMSG_DATA(header), sizeof(memory));
  }
  const bool sane = received == static_cast<ssize_t>(sizeof(*welcome)) && (message.msg_flags & MSG_CTRUNC) == 0 &&
                    welcome->magic == GPUPROF_WIRE_MAGIC && welcome->version == GPUPROF_WIRE_VERSION &&
                    welcome->source_id != 0 && welcome->segment_bytes == GPUPROF_SEGMENT_BYTES;
  if (!sane && memory >= 0) {
    close(memory);
    memory = -1;
  }
  return memory;
}

// Checks the seals: if the mapped file could shrink, an access would kill the target with SIGBUS.
bool is_sealed(int memory) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  struct stat info = {};
  const int seals = fcntl(memory, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals && fstat(memory, &info) == 0 && info.st_size == GPUPROF_SEGMENT_BYTES;
}

gpuprof_segment* map_segment(int memory, uint32_t source) {
  if (!is_sealed(memory)) {
    return nullptr;
  }
  void* address = mmap(nullptr, GPUPROF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (address == MAP_FAILED) {
    return nullptr;
  }
  auto* segment = static_cast<gpuprof_segment*>(address);
  if (segment->magic != GPUPROF_WIRE_MAGIC || segment->version != GPUPROF_WIRE_VERSION ||
      segment->source_id != source) {
    munmap(address, GPUPROF_SEGMENT_BYTES);
    return nullptr;
  }
  return segment;
}

// Sets the offset to the recorder's clock. A difference below 1 ms comes from the readings, not from a time namespace.
void adopt_clock(const gpuprof_welcome& welcome) {
  const int64_t offset = welcome.clock_offset_ns == 0 ? 0 : gpuprof_clock_offset() - welcome.clock_offset_ns;
  store_relaxed(&recorder_clock_offset, offset > -1000000 && offset < 1000000 ? int64_t{0} : offset);
}

bool connect_uninterrupted(const Introduction& who, const Address& address, Connection* connection) {
  find_socket_folder();
  gpuprof_hello hello;
  const bool introduced = address.token != nullptr && make_handshake(who, address.token, &hello);
  const int fd = introduced ? open_connection(address) : -1;
  if (fd < 0) {
    return false;
  }
  gpuprof_welcome welcome = {};
  const int memory = send_handshake(fd, hello) ? receive_answer(fd, &welcome) : -1;
  close(fd);
  if (memory < 0) {
    return false;
  }
  connection->segment = map_segment(memory, welcome.source_id);
  connection->source = welcome.source_id;
  adopt_clock(welcome);
  close(memory);
  return connection->segment != nullptr;
}

}  // namespace

int open_connection(const Address& address) {
  int fd = -1;
  if (address.socket == nullptr || !open_socket(&fd)) {
    return -1;
  }
  if (!connect_to_either(fd, address.socket) || !is_recorder(fd, address.user)) {
    close(fd);
    return -1;
  }
  return fd;
}

Address address_of_environment() {
  return {secure_getenv(GPUPROF_ENV_SOCKET), secure_getenv(GPUPROF_ENV_TOKEN), user_of(secure_getenv(GPUPROF_ENV_UID))};
}

bool connect_recorder(const Introduction& who, const Address& address, Connection* connection) {
  // All calls here are cancellation points. A cancelled thread of the target would leak a descriptor.
  int cancel = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  const bool connected = connect_uninterrupted(who, address, connection);
  pthread_setcancelstate(cancel, nullptr);
  return connected;
}

}  // namespace gpuprof::injection

#include "ipc/code_objects.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/keep_errno.h"

namespace gpuprof::injection {
namespace {

bool make_offer(const char* token, uint32_t source, const Code& code, gpuprof_code_offer* offer) {
  if (token == nullptr || strlen(token) != sizeof(offer->token)) {
    return false;
  }
  gpuprof_code_hasher hasher = {};
  gpuprof_code_hash_add(&hasher, code.bytes, code.size);
  *offer = {GPUPROF_CODE_MAGIC, GPUPROF_WIRE_VERSION, {}, source, code.kind, code.module, code.size, {}};
  memcpy(offer->token, token, sizeof(offer->token));
  offer->hash = gpuprof_code_hash_end(&hasher);
  return true;
}

bool write_whole(int file, const void* bytes, size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = write(file, at, size);
    if (written < 0 && errno != EINTR) {
      return false;
    }
    const size_t some = written < 0 ? 0 : static_cast<size_t>(written);
    at += some;
    size -= some;
  }
  return true;
}

// Checks RLIMIT_FSIZE, because a write beyond that limit would kill the target with SIGXFSZ.
bool may_write(size_t size) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && size <= limit.rlim_cur;
}

// Returns a sealed memfd with the code. Returns -1 if the code exceeds the file size limit, or if descriptors or memory
// are exhausted.
int make_file(const Code& code) {
  if (!may_write(code.size)) {
    return -1;
  }
  const int file = memfd_create("gpuprof-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) {
    return -1;
  }
  if (!write_whole(file, code.bytes, code.size) || fcntl(file, F_ADD_SEALS, GPUPROF_CODE_SEALS) != 0) {
    close(file);
    return -1;
  }
  return file;
}

// Returns the recorder's answer, or 0 if it is invalid or missing.
uint32_t answer_to(int connection, const gpuprof_code_offer& offer) {
  gpuprof_code_answer answer = {};
  if (send(connection, &offer, sizeof(offer), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(offer)) ||
      recv(connection, &answer, sizeof(answer), 0) != static_cast<ssize_t>(sizeof(answer)) ||
      answer.magic != GPUPROF_CODE_MAGIC) {
    return 0;
  }
  return answer.word;
}

bool send_file(int connection, int file) {
  gpuprof_code_file head = {GPUPROF_CODE_MAGIC, 0};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {&head, sizeof(head)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &file, sizeof(file));
  return sendmsg(connection, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(head));
}

bool send_bytes(int connection, const Code& code) {
  const int file = make_file(code);
  const bool sent = file >= 0 && send_file(connection, file);
  if (file >= 0) {
    close(file);
  }
  return sent;
}

bool send_code_uninterrupted(const Address& address, uint32_t source, const Code& code) {
  gpuprof_code_offer offer;  // hashes the code before connecting, because this takes time
  const int connection = make_offer(address.token, source, code, &offer) ? open_connection(address) : -1;
  if (connection < 0) {
    return false;
  }
  const uint32_t answer = answer_to(connection, offer);
  const bool there = answer == GPUPROF_CODE_HAVE_IT || (answer == GPUPROF_CODE_SEND && send_bytes(connection, code));
  close(connection);
  return there;
}

}  // namespace

bool send_code(const Address& address, uint32_t source, const Code& code) {
  const KeepErrno keep_errno;
  int cancel = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);  // All calls here are cancellation points.
  const bool there = send_code_uninterrupted(address, source, code);
  pthread_setcancelstate(cancel, nullptr);
  return there;
}

}  // namespace gpuprof::injection

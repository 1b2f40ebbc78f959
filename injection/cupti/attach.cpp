#include "cupti/attach.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/atomics.h"
#include "cupti/entry.h"
#include "cupti/flusher.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "runtime/emit.h"

namespace gpuprof::injection::cupti {
namespace {

struct Request {
  char socket[108];
  char token[33];
  uint32_t user;
};
Request request = {};  // of the one that has the session

void* run(void* /*unused*/) {
  bool recording = false;
  {
    const Guard guard;
    recording = start_attached("cupti", request.socket, request.token, request.user) && begin_recording();
    meta("nvtx.missing", "attached: a program looks for a tool for NVTX at its first range only");
  }
  // Not before: CUPTI makes threads of its own, which take over the name.
  prctl(PR_SET_NAME, "gpuprof-flush");
  if (recording) {
    flush_until_retracted();
  }
  leave_segment();
  leave_session();
  return nullptr;
}

}  // namespace
}  // namespace gpuprof::injection::cupti

extern "C" int gpuprof_attach(const char* socket, const char* token, unsigned user) {
  using namespace gpuprof::injection;
  using namespace gpuprof::injection::cupti;
  const KeepErrno keep_errno;
  if (load_relaxed(&session().forked) != 0) {
    return ECHILD;  // the child of a fork, where CUDA can not be used
  }
  if (strlen(socket) >= sizeof(request.socket) || strlen(token) >= sizeof(request.token)) {
    return EINVAL;
  }
  if (!take_session()) {
    return EBUSY;
  }
  strcpy(request.socket, socket);
  strcpy(request.token, token);
  request.user = user;
  if (!start_thread(run)) {
    leave_session();
    return EAGAIN;
  }
  return 0;
}

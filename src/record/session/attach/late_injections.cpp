#include "record/session/attach/late_injections.h"

#include <utility>

#include "record/attach/attach.h"
#include "record/attach/traced_identity.h"
#include "record/ipc/network_socket.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMaxLateProcesses = 256;
constexpr unsigned kMaxTries = 3;

}  // namespace

LateInjections::LateInjections(const backend::Backends& backends, std::string socket, std::string token)
    : backends_(backends), socket_(std::move(socket)), token_(std::move(token)) {}

LateInjections::~LateInjections() {
  stop_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool LateInjections::begin(pid_t pid) {
  if (thread_.joinable() || tries_.size() >= kMaxLateProcesses || tries_[pid] >= kMaxTries) {
    return false;
  }
  ++tries_[pid];
  // The kernel lets root trace everybody. So check that the process has no more rights than its user.
  auto guard = ProcessGuard::of_process(pid);
  if (!guard || guard->state() != ProcessGuard::State::same) {
    return false;
  }
  outcome_ = Outcome{.pid = pid, .injected = {}, .socket = {}};
  done_ = false;
  thread_ = std::thread([this, guard = std::make_shared<ProcessGuard>(std::move(*guard))] {
    inject(*guard);
    done_ = true;
  });
  return true;
}

void LateInjections::inject(ProcessGuard& guard) {
  auto who = TracedIdentity::of(static_cast<uint32_t>(guard.pid()));
  if (!who || guard.state() != ProcessGuard::State::same) {
    outcome_->injected = Error{"the process has ended, or has other rights now", ""};
    return;
  }
  if (!shares_network(guard.pid())) {
    auto socket = listen_in_network_of(guard, '\0' + socket_);
    if (!socket) {
      outcome_->injected = std::move(socket).error();
      return;
    }
    outcome_->socket = std::move(*socket);
  }
  const auto stop = [this, &who] { return stop_.load() || who->has_ended(); };
  auto injection = attach_by_injection(*who, backends_, {socket_, token_, stop});
  outcome_->injected = injection ? Status() : std::move(injection).error();
}

std::optional<LateInjections::Outcome> LateInjections::take() {
  if (!done_ || !thread_.joinable()) {
    return std::nullopt;
  }
  thread_.join();
  if (outcome_->injected) {
    tries_[outcome_->pid] = kMaxTries;
  }
  return std::exchange(outcome_, std::nullopt);
}

}  // namespace gpuprof::record

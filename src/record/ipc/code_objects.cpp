#include "record/ipc/code_objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/packet.h"

namespace gpuprof::record {
namespace {

// Time in which a target must send an offered file. It is longer than the time that the target waits for an answer.
constexpr uint64_t kSendNs = 5 * GPUPROF_HANDSHAKE_WAIT_NS;
// Limit on simultaneous transfers. Each holds two descriptors.
constexpr size_t kMaxTransfers = 64;
// Bytes that one take() reads. That takes about 30 ms, during which the rings are not read.
constexpr uint64_t kTurnBytes = uint64_t{64} << 20;
// Limit on objects that have a file of their own, and so a descriptor.
constexpr size_t kMaxFiles = 2048;
constexpr size_t kPieceBytes = size_t{1} << 20;  // a multiple of the hash's word size

bool answer(const UniqueFd& connection, gpuprof_code_word word) {
  const gpuprof_code_answer said{GPUPROF_CODE_MAGIC, word};
  return send_packet(connection.get(), std::as_bytes(std::span(&said, 1)), -1, MSG_DONTWAIT);
}

// Returns whether the file has the offered size and is sealed against changes.
bool is_sound(const UniqueFd& file, uint64_t bytes) {
  struct stat info {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  return seals >= 0 && (seals & GPUPROF_CODE_SEALS) == GPUPROF_CODE_SEALS && ::fstat(file.get(), &info) == 0 &&
         S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == bytes;
}

bool read_at(int fd, std::span<std::byte> bytes, uint64_t offset) {
  return ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes.size());
}

bool write_at(int fd, std::span<const std::byte> bytes, uint64_t offset) {
  return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

CodeObjects::CodeObjects(const CodeLimits& limits, std::shared_ptr<MemoryBudget> memory)
    : limits_(limits), memory_(std::move(memory)) {}

CodeObjects::Key CodeObjects::key_of(const Owner& owner, const CodeOffer& offer) {
  return {owner.user, offer.kind, offer.bytes, offer.hash};
}

void CodeObjects::refuse_stranger(const UniqueFd& connection) {
  answer(connection, GPUPROF_CODE_REFUSED);
}

void CodeObjects::refuse(const Owner& owner) {
  ++refused_[owner.source];
}

void CodeObjects::on_offer(const Owner& owner, const CodeOffer& offer, UniqueFd connection) {
  if (limits_.session_bytes == 0) {
    answer(connection, GPUPROF_CODE_REFUSED);  // the user wants no code, so this is not a loss
    return;
  }
  if (const auto known = objects_.find(key_of(owner, offer)); known != objects_.end()) {
    const bool linked = link(owner, offer.module, known->second);
    answer(connection, linked ? GPUPROF_CODE_HAVE_IT : GPUPROF_CODE_REFUSED);
    return;
  }
  if (!admits(offer) || !answer(connection, GPUPROF_CODE_SEND)) {
    refuse(owner);
    answer(connection, GPUPROF_CODE_REFUSED);
    return;
  }
  used_bytes_ += offer.bytes;
  transfers_.push_back({owner, offer, std::move(connection), monotonic_ns() + kSendNs, store_end_});
  store_end_ += offer.bytes;
}

// Returns whether the offer fits the limits. Creates the store if it is missing. A MemoryBudget does not count the
// store's memory.
bool CodeObjects::admits(const CodeOffer& offer) {
  if (offer.bytes == 0 || offer.bytes > limits_.object_bytes || offer.bytes > limits_.session_bytes - used_bytes_ ||
      transfers_.size() >= kMaxTransfers || !memory_->admit()) {
    return false;
  }
  if (!store_) {
    store_.reset(::memfd_create("gpuprof-code", MFD_CLOEXEC));
  }
  return static_cast<bool>(store_);
}

bool CodeObjects::link(const Owner& owner, uint64_t module, const CodeObject& object) {
  const std::pair key(owner.source, module);
  const auto found = modules_.find(key);
  if (found == modules_.end() && !memory_->admit()) {
    refuse(owner);
    return false;
  }
  modules_.insert_or_assign(key, &object);
  return true;
}

void CodeObjects::add_poll_fds(std::vector<pollfd>& fds) const {
  for (const Transfer& transfer : transfers_) {
    if (!transfer.file) {
      fds.push_back({transfer.connection.get(), POLLIN, 0});
    }
  }
}

void CodeObjects::take() {
  uint64_t turn_bytes = kTurnBytes;
  std::erase_if(transfers_, [&](Transfer& transfer) {
    const Progress progress = advance(transfer, turn_bytes);
    if (progress == Progress::refused) {
      log::debug("the transfer of a module's code failed");
      refuse(transfer.owner);
      used_bytes_ -= transfer.offer.bytes;
      release(transfer.offset, transfer.offer.bytes);
    }
    return progress != Progress::waits;
  });
}

CodeObjects::Progress CodeObjects::advance(Transfer& transfer, uint64_t& turn_bytes) {
  const Progress progress = transfer.file ? Progress::done : receive(transfer);
  return progress == Progress::done ? copy(transfer, turn_bytes) : progress;
}

CodeObjects::Progress CodeObjects::receive(Transfer& transfer) {
  gpuprof_code_file said{};
  Received received =
      receive_packet(transfer.connection.get(), std::as_writable_bytes(std::span(&said, 1)), MSG_DONTWAIT);
  if (received.bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
    return monotonic_ns() < transfer.until_ns ? Progress::waits : Progress::refused;
  }
  if (received.bytes != static_cast<ssize_t>(sizeof(said)) || said.magic != GPUPROF_CODE_MAGIC ||
      !is_sound(received.fd, transfer.offer.bytes)) {
    return Progress::refused;
  }
  transfer.connection.reset();
  transfer.file = std::move(received.fd);
  return Progress::done;
}

CodeObjects::Progress CodeObjects::copy(Transfer& transfer, uint64_t& turn_bytes) {
  piece_.resize(kPieceBytes);
  while (transfer.copied < transfer.offer.bytes) {
    if (turn_bytes < kPieceBytes) {
      return Progress::waits;
    }
    const uint64_t left = transfer.offer.bytes - transfer.copied;
    const std::span<std::byte> piece = std::span(piece_).first(std::min<uint64_t>(left, kPieceBytes));
    if (!read_at(transfer.file.get(), piece, transfer.copied) ||
        !write_at(store_.get(), piece, transfer.offset + transfer.copied)) {
      return Progress::refused;
    }
    gpuprof_code_hash_add(&transfer.hasher, piece.data(), piece.size());
    transfer.copied += piece.size();
    turn_bytes -= piece.size();
  }
  return finish(transfer);
}

CodeObjects::Progress CodeObjects::finish(Transfer& transfer) {
  const CodeOffer& offer = transfer.offer;
  const CodeHash hash = code_hash_of(gpuprof_code_hash_end(&transfer.hasher));
  if (hash != offer.hash) {
    return Progress::refused;
  }
  const auto [object, is_new] = objects_.try_emplace(
      key_of(transfer.owner, offer), CodeObject{offer.kind, hash, offer.bytes, transfer.offset, transfer.owner.user});
  if (!is_new) {
    used_bytes_ -= offer.bytes;  // another process has sent the same object during this transfer
    release(transfer.offset, offer.bytes);
  }
  link(transfer.owner, offer.module, object->second);
  return Progress::done;
}

void CodeObjects::release(uint64_t offset, uint64_t bytes) {
  ::fallocate(store_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

bool CodeObjects::expects(backend::SourceId source) const {
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [source](const Transfer& transfer) { return transfer.owner.source == source; });
}

uint64_t CodeObjects::refused(backend::SourceId source) const {
  const auto found = refused_.find(source);
  return found == refused_.end() ? 0 : found->second;
}

const CodeObject* CodeObjects::find(backend::SourceId source, uint64_t module) const {
  const auto found = modules_.find({source, module});
  return found == modules_.end() ? nullptr : found->second;
}

int CodeObjects::file(const CodeObject& object) {
  if (files_.size() >= kMaxFiles && !files_.contains(&object)) {
    return -1;
  }
  const auto [known, is_new] = files_.try_emplace(&object);
  if (!is_new) {
    return known->second.get();
  }
  UniqueFd file(::memfd_create("gpuprof-code", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  auto from = static_cast<off_t>(object.offset);
  for (uint64_t left = object.bytes; file && left > 0;) {
    const ssize_t moved = ::sendfile(file.get(), store_.get(), &from, left);
    if (moved <= 0) {
      return -1;
    }
    left -= static_cast<uint64_t>(moved);
  }
  if (file && ::fcntl(file.get(), F_ADD_SEALS, GPUPROF_CODE_SEALS) == 0) {
    release(object.offset, object.bytes);
    known->second = std::move(file);
  }
  return known->second.get();
}

}  // namespace gpuprof::record

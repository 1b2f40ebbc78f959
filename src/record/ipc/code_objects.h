// Stores the GPU code that targets send (wire/code.h). A process can send hundreds of megabytes, and several processes
// often send the same code. Each object is stored once, in a memfd of the recorder, within limits.
//
// Objects are identified by a hash that is not cryptographic, so an attacker could construct two objects with equal
// hashes. Therefore an object from one user's process never replaces an object of another user. Processes of the same
// user can change each other anyway.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "base/unique_fd.h"
#include "record/ipc/handshake.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

struct CodeLimits {
  uint64_t object_bytes = uint64_t{256} << 20;
  uint64_t session_bytes = 0;  // limit for all objects together; 0: code is refused
};

struct CodeObject {
  uint32_t kind = 0;  // enum gpuprof_code_kind
  CodeHash hash{};
  uint64_t bytes = 0;
  uint64_t offset = 0;  // position in the store
  uid_t user = 0;       // owner of the process that sent it
};

class CodeObjects {
 public:
  CodeObjects(const CodeLimits& limits, std::shared_ptr<MemoryBudget> memory);

  struct Owner {
    backend::SourceId source = 0;
    uid_t user = 0;
  };
  // Answers the offer at once. If the offer is accepted, later calls of take() read the code.
  void on_offer(const Owner& owner, const CodeOffer& offer, UniqueFd connection);
  static void refuse_stranger(const UniqueFd& connection);

  void add_poll_fds(std::vector<pollfd>& fds) const;
  // Reads code that has arrived, up to a limit of bytes per call.
  void take();

  // Returns whether code of this source is still being transferred.
  [[nodiscard]] bool expects(backend::SourceId source) const;
  [[nodiscard]] uint64_t refused(backend::SourceId source) const;

  [[nodiscard]] const CodeObject* find(backend::SourceId source, uint64_t module) const;
  // Returns a file that contains only the object, and that nobody can change; -1: it could not be made. Moves the
  // object there, so its bytes are in memory once.
  int file(const CodeObject& object);
  [[nodiscard]] size_t size() const { return objects_.size(); }

 private:
  struct Key {
    uid_t user;
    uint32_t kind;
    uint64_t bytes;
    CodeHash hash;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
  };
  struct Transfer {
    Owner owner;
    CodeOffer offer;
    UniqueFd connection;
    uint64_t until_ns = 0;  // the target must send the file before this time (monotonic)
    uint64_t offset = 0;    // position in the store
    UniqueFd file = {};     // invalid until the file has been received
    uint64_t copied = 0;
    gpuprof_code_hasher hasher = {};
  };
  enum class Progress : uint8_t { waits, done, refused };

  static Key key_of(const Owner& owner, const CodeOffer& offer);
  bool admits(const CodeOffer& offer);
  bool link(const Owner& owner, uint64_t module, const CodeObject& object);
  void refuse(const Owner& owner);
  Progress advance(Transfer& transfer, uint64_t& turn_bytes);
  static Progress receive(Transfer& transfer);
  Progress copy(Transfer& transfer, uint64_t& turn_bytes);
  Progress finish(Transfer& transfer);
  void release(uint64_t offset, uint64_t bytes);

  CodeLimits limits_;
  std::shared_ptr<MemoryBudget> memory_;
  UniqueFd store_;
  uint64_t store_end_ = 0;  // never shrinks, because released ranges become holes
  uint64_t used_bytes_ = 0;
  std::vector<Transfer> transfers_;
  std::map<Key, CodeObject> objects_;
  std::map<std::pair<backend::SourceId, uint64_t>, const CodeObject*> modules_;
  std::map<const CodeObject*, UniqueFd> files_;  // of moved objects
  std::map<backend::SourceId, uint64_t> refused_;
  std::vector<std::byte> piece_;
};

}  // namespace gpuprof::record

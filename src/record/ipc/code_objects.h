// GPU code that targets hand over (wire/code.h): hundreds of megabytes a process, often the same in each. Kept once, in
// a file in memory that is ours, within limits.
//
// Objects are told apart by their hash, which is no cryptographic one: somebody could make two that look alike. So an
// object that one user has sent is never taken for that of another user. Processes of one user can change each other
// anyway.
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
#include "record/ipc/mapped_code.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

struct CodeLimits {
  uint64_t object_bytes = uint64_t{256} << 20;
  uint64_t session_bytes = 0;  // of all objects together; 0: no code is wanted
};

struct CodeObject {
  uint32_t kind = 0;  // enum gpuprof_code_kind
  CodeHash hash{};    // of what has come, computed by us
  uint64_t bytes = 0;
  uint64_t offset = 0;  // of its bytes in our file
  uid_t user = 0;       // whose process sent it
};

class CodeObjects {
 public:
  CodeObjects(const CodeLimits& limits, std::shared_ptr<MemoryBudget> memory);

  // A source that is being recorded, and the user that its process runs as.
  struct Owner {
    backend::SourceId source = 0;
    uid_t user = 0;
  };
  // Answers at once. Code that has been asked for is waited for, and read, by take().
  void on_offer(const Owner& owner, const CodeOffer& offer, UniqueFd connection);
  // The answer to somebody who is no source.
  static void refuse_stranger(const UniqueFd& connection);

  // Descriptors whose readability means that take() has something to do.
  void add_poll_fds(std::vector<pollfd>& fds) const;
  // Reads of what has come, no more than a turn has time for.
  void take();

  // Whether something of this source is still on its way.
  [[nodiscard]] bool expects(backend::SourceId source) const;
  // Its objects that were not taken.
  [[nodiscard]] uint64_t refused(backend::SourceId source) const;

  // Null: the module's code has not come.
  [[nodiscard]] const CodeObject* find(backend::SourceId source, uint64_t module) const;
  // Its bytes; none where they can not be read.
  [[nodiscard]] std::vector<std::byte> read(const CodeObject& object) const;
  // The same without a copy. Both may be used for as long as this object lives.
  [[nodiscard]] MappedCode map(const CodeObject& object) const;
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
    uint64_t until_ns = 0;  // the file comes by then
    uint64_t offset = 0;    // in our file
    UniqueFd file = {};     // once it has come
    uint64_t copied = 0;
    gpuprof_code_hasher hasher = {};
  };
  enum class Progress : uint8_t { waits, done, refused };

  static Key key_of(const Owner& owner, const CodeOffer& offer);
  bool has_room(const CodeOffer& offer);
  bool link(const Owner& owner, uint64_t module, const CodeObject& object);
  void refuse(const Owner& owner);
  Progress advance(Transfer& transfer, uint64_t& turn_bytes);
  static Progress receive(Transfer& transfer);
  Progress copy(Transfer& transfer, uint64_t& turn_bytes);
  Progress finish(Transfer& transfer);
  void give_back(const Transfer& transfer);

  CodeLimits limits_;
  std::shared_ptr<MemoryBudget> memory_;
  UniqueFd store_;
  uint64_t store_end_ = 0;  // grows only: what is given back leaves a hole
  uint64_t used_bytes_ = 0;
  std::vector<Transfer> transfers_;
  std::map<Key, CodeObject> objects_;
  std::map<std::pair<backend::SourceId, uint64_t>, const CodeObject*> modules_;
  std::map<backend::SourceId, uint64_t> refused_;
  std::vector<std::byte> piece_;
};

}  // namespace gpuprof::record

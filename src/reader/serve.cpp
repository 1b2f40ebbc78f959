#include "reader/serve.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reader/fields.h"
#include "reader/message.h"
#include "reader/requests.h"
#include "reader/served_code.h"
#include "symbolize/elf/elf_functions.h"
#include "symbolize/elf/elf_module.h"
#include "unwind/table_maker.h"

namespace gpuprof::reader {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();
volatile std::sig_atomic_t seconds_left = kNoLimit;  // for the answer
volatile std::sig_atomic_t recorder = -1;            // the socket

// Called every second. Ends the process if the recorder was killed, or if an answer takes too long.
void look_at_recorder(int /*signal*/) {
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const int saved = errno;
  const bool has_ended = ::recvmsg(recorder, &message, MSG_PEEK | MSG_DONTWAIT) == 0;
  errno = saved;
  if (seconds_left != kNoLimit) {
    seconds_left = seconds_left - 1;
  }
  if (has_ended || seconds_left < 0) {
    ::_exit(1);
  }
}

constexpr size_t kMaxRequest = size_t{1} << 20;

using symbolize::ByteSource;
using symbolize::DebugFile;
using symbolize::ElfImage;
using symbolize::ElfModule;
using symbolize::MappedFile;
using symbolize::ReadingBudget;

// Asks the recorder for the files that ELF files name, because this process cannot open any.
class AskedFiles final : public symbolize::DebugFileOpener {
 public:
  explicit AskedFiles(int socket) : socket_(socket) {}

  DebugFile open(const std::string& path, bool in_target_root) override {
    DebugFile file =
        ask(Message().number(static_cast<uint64_t>(Reply::open)).text(path).number(in_target_root ? 1 : 0));
    file.path = path;
    file.in_target_root = in_target_root;
    return file;
  }
  DebugFile download(const std::string& build_id) override {
    return ask(Message().number(static_cast<uint64_t>(Reply::download)).text(build_id));
  }

 private:
  DebugFile ask(const Message& question) {
    DebugFile file;
    if (!send_message(socket_, question)) {
      return file;
    }
    if (auto reply = receive_message(socket_, kMaxRequest); reply) {
      file.ours = reply->message.number() != 0;
      file.fd = std::move(reply->fd);
    }
    return file;
  }

  int socket_;
};

class Server {
 public:
  Server(int socket, const ServeOptions& options)
      : socket_(socket), options_(options), files_(socket), code_(budget_) {}

  void run() {
    while (auto request = receive_message(socket_, kMaxRequest)) {
      Message fields = std::move(request->message);
      // A file that ends its reader must not renew the limits. So all readers together get at most twice the limits.
      budget_.set_limits(symbolize::ReadingLimits().halved(fields.number()));
      const auto what = static_cast<Ask>(fields.number());
      before_ = options_.memory();
      Message rest;
      seconds_left = options_.most_seconds;
      answer(what, fields, std::move(request->fd), rest);
      seconds_left = kNoLimit;
      Message reply;
      reply.number(static_cast<uint64_t>(Reply::answer)).number(options_.memory());
      if (!send_message(socket_, Message(reply.bytes() + rest.bytes()))) {
        return;
      }
    }
  }

 private:
  void answer(Ask what, Message& request, UniqueFd fd, Message& reply) {
    switch (what) {
      case Ask::names:
        room_ = request.number();
        return names(request, std::move(fd), reply);
      case Ask::symbols:
        return symbols(request, fd, reply);
      case Ask::table_source:
        return table_source(fd, reply);
      case Ask::table:
        return table(fd, reply);
      case Ask::code:
        room_ = request.number();
        return code_.open(request, fd, reply);
      case Ask::code_function:
        return code_.function(request, reply);
      case Ask::code_lines:
        room_ = request.number();
        return code_.lines(request, reply);
    }
  }

  void names(Message& request, UniqueFd fd, Message& reply) {
    const uint64_t id = request.number();
    const bool is_new = request.number() != 0;
    const std::string path(request.text());
    const bool ours = request.number() != 0;
    const uint64_t offset = request.number();
    const uint64_t mapping_offset = request.number();
    if (is_new) {
      auto file = std::make_shared<MappedFile>();
      file->path = path;
      file->fd = std::move(fd);
      symbolize::DebugSearch search;
      search.files = &files_;
      modules_[id] = ElfModule::of_file(std::move(file), ours, search, budget_);
    }
    const auto found = modules_.find(id);
    ElfModule* const module = found == modules_.end() ? nullptr : found->second.get();
    const auto vaddr = module == nullptr ? std::nullopt : module->vaddr_of(offset, mapping_offset);
    reply.number(module == nullptr ? 0 : 1);
    append_frames(reply, vaddr ? module->frames(*vaddr, &files_) : std::vector<symbolize::SymbolizedFrame>());
    append_left_out(reply, budget_.left_out());
  }

  static void symbols(Message& request, const UniqueFd& fd, Message& reply) {
    const uint64_t mapping_offset = request.number();
    std::vector<std::string_view> names(request.count(sizeof(uint64_t)));
    for (std::string_view& name : names) {
      name = request.text();
    }
    const auto image = ElfImage::parse(ByteSource::file(fd.get()));
    const auto searched = image ? symbolize::find_symbols(*image, names) : Error{"not an ELF file", ""};
    const auto found = searched ? *searched : std::vector<symbolize::ElfSymbol>();
    const auto mapped = image ? image->vaddr_of(mapping_offset, mapping_offset) : std::nullopt;
    reply.number(mapped ? 1 : 0).number(mapped.value_or(0)).number(found.size());
    for (const symbolize::ElfSymbol& symbol : found) {
      reply.number(symbol.wanted).number(symbol.vaddr).number(symbol.size);
      reply.number(symbol.code ? 1 : 0).number(symbol.code.value_or(0));
    }
  }

  static void table_source(const UniqueFd& fd, Message& reply) {
    const std::optional<unwind::TableInput> input = unwind::read_table_input(fd.get());
    reply.number(input ? 1 : 0);
    if (input) {
      reply.text({reinterpret_cast<const char*>(input->source.data()), input->source.size()});
      reply.text({reinterpret_cast<const char*>(input->segments.data()), input->segments.size() * sizeof(Elf64_Phdr)});
    }
  }

  static void table(const UniqueFd& fd, Message& reply) {
    const std::vector<uint8_t> bytes = unwind::make_table(fd.get());
    reply.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  // The recorder says how much memory all may still take. What this request has taken so far is no longer free.
  uint64_t room() const {
    const uint64_t now = options_.memory();
    const uint64_t taken = now > before_ ? now - before_ : 0;
    return taken < room_ ? room_ - taken : 0;
  }

  int socket_;
  const ServeOptions& options_;
  uint64_t room_ = 0;
  uint64_t before_ = 0;
  ReadingBudget budget_{{}, [this] { return room(); }};
  AskedFiles files_;
  std::unordered_map<uint64_t, std::unique_ptr<ElfModule>> modules_;
  ServedCode code_;
};

}  // namespace

void watch_recorder(int socket) {
  recorder = socket;
  struct sigaction action {};
  action.sa_handler = look_at_recorder;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval every_second{{1, 0}, {1, 0}};
  ::setitimer(ITIMER_REAL, &every_second, nullptr);
}

void serve(int socket, const ServeOptions& options) {
  Server(socket, options).run();
}

}  // namespace gpuprof::reader

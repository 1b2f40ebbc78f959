#include "reader/served_code.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "reader/fields.h"

namespace gpuprof::reader {
namespace {

// Maps the file for the life of this process. A shared mapping of a sealed file fails before Linux 6.7. The recorder
// passes only files that nobody can change or truncate.
std::span<const std::byte> map_file(const UniqueFd& fd) {
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_size <= 0) {
    return {};
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  return at == MAP_FAILED ? std::span<const std::byte>() : std::span(static_cast<const std::byte*>(at), size);
}

}  // namespace

void ServedCode::open_cubin(Code& code, std::span<const std::byte> bytes) {
  code.cubin = symbolize::CubinLines::open(bytes);
  if (!code.cubin) {
    return;
  }
  for (const symbolize::CubinFunction& function : code.cubin->functions()) {
    code.functions.try_emplace(function.name, &function);
    if (function.kernel) {
      code.kernels.insert_or_assign(function.section, function.name);
    }
  }
}

void ServedCode::open(Message& request, const UniqueFd& fd, Message& reply) {
  const uint64_t id = request.number();
  const bool is_cubin = request.number() != 0;
  const std::span<const std::byte> bytes = map_file(fd);
  Code& code = codes_[id];
  code = {};
  if (is_cubin) {
    open_cubin(code, bytes);
  } else {
    code.zebin = symbolize::Zebin::parse(bytes, budget_);
  }
  reply.number(code.cubin || code.zebin ? 1 : 0).text(code.cubin ? code.cubin->facts().architecture : std::string());
  reply.number(static_cast<uint64_t>(code.zebin ? code.zebin->platform() : symbolize::GpuPlatform::unknown));
}

ServedCode::Code* ServedCode::find(uint64_t id) {
  const auto found = codes_.find(id);
  return found == codes_.end() ? nullptr : &found->second;
}

CodeFunction ServedCode::describe(const Code& code, std::string_view name) {
  if (code.zebin) {
    const symbolize::Zebin::Kernel* const kernel = code.zebin->find(name);
    return kernel == nullptr ? CodeFunction()
                             : CodeFunction{.known = true,
                                            .has_lines = code.zebin->has_lines(),
                                            .kernel = std::string(name),
                                            .bytes = kernel->bytes,
                                            .offset = kernel->offset};
  }
  const auto found = code.functions.find(name);
  if (found == code.functions.end()) {
    return {};
  }
  const symbolize::CubinFunction& function = *found->second;
  const auto kernel = code.kernels.find(function.section);
  return {.known = true,
          .has_lines = code.cubin->has_lines(name),
          .kernel = std::string(function.kernel                ? name
                                : kernel != code.kernels.end() ? kernel->second
                                                               : std::string_view()),
          .symbol = function.symbol,
          .begin = function.begin,
          .bytes = function.size};
}

void ServedCode::function(Message& request, Message& reply) {
  const Code* const code = find(request.number());
  append_function(reply, code == nullptr ? CodeFunction() : describe(*code, request.text()));
}

void ServedCode::lines(Message& request, Message& reply) {
  Code* const code = find(request.number());
  const std::string_view name = request.text();
  const uint64_t offset = request.number();
  append_lines(reply, code == nullptr ? std::vector<symbolize::SourceFrame>()
                      : code->zebin   ? code->zebin->lines(name, offset)
                      : code->cubin   ? code->cubin->frames(name, offset)
                                      : std::vector<symbolize::SourceFrame>());
}

}  // namespace gpuprof::reader

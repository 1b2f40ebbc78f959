#include "cupti/probes/ptx_module.h"

namespace gpuprof::injection::cupti {
namespace {

std::string_view from(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// Returns the bytes of a type (.b32), or 0 if it is unknown.
uint64_t type_bytes(std::string_view type) {
  if (type.size() < 3 || type[0] != '.' || std::string_view("busf").find(type[1]) == std::string_view::npos) {
    return 0;
  }
  type.remove_prefix(2);
  return type == "8" ? 1 : type == "16" ? 2 : type == "32" ? 4 : type == "64" ? 8 : type == "128" ? 16 : 0;
}

// Returns the value of a decimal number below 2^31, or 0.
uint64_t small_number(std::string_view word) {
  uint64_t number = 0;
  for (const char c : word) {
    if (c < '0' || c > '9' || number > INT32_MAX / 10) {
      return 0;
    }
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

// Adds the bytes of a declaration like `.shared .align 4 .b8 name[16][8];`. Returns false if it is not understood.
bool add_shared(std::string_view declaration, uint64_t* total) {
  constexpr uint64_t kMost = uint64_t{1} << 31;
  PtxLexer lexer(declaration);
  uint64_t align = 0;
  uint64_t type = 0;
  uint64_t bytes = 0;  // size of the variable that is being read
  for (PtxToken token = lexer.next(); token.kind != PtxToken::end; token = lexer.next()) {
    if (token.is(".align")) {
      align = small_number(lexer.next().text);
    } else if (token.is(".v2") || token.is(".v4") || token.is(".v8")) {
      type = static_cast<uint64_t>(token.text[2] - '0') * type_bytes(lexer.next().text);
      bytes = type;
    } else if (token.is('[')) {
      bytes *= small_number(lexer.next().text);
      if (bytes == 0 || bytes > kMost || !lexer.next().is(']')) {
        return false;
      }
    } else if (token.is(',') || token.is(';')) {
      const uint64_t unit = align > 16 ? align : 16;
      if (bytes == 0 || unit > kMost) {
        return false;
      }
      *total += (bytes + unit - 1) / unit * unit;
      bytes = type;
    } else if (token.kind != PtxToken::word) {
      return false;
    } else if (token.text[0] == '.' && !token.is(".shared")) {
      type = type_bytes(token.text);
      bytes = type;
    }
  }
  return *total <= kMost;
}

// Instructions of sm_90 and later with operands in shared memory that are aligned to 128 to 1024 bytes.
bool has_large_operands(std::string_view opcode) {
  return opcode.starts_with("wgmma.") || opcode.starts_with("tcgen05.") || opcode.starts_with("cp.async.bulk.") ||
         opcode.starts_with("cp.reduce.async.bulk.");
}

struct BodyFacts {
  uint64_t shared_bytes = 0;
  size_t labels = 0;
  bool exits = false;
  bool is_known = true;
  bool large_operands = false;
};

// Reads a body. The lexer stands behind its first brace.
bool read_body(PtxLexer* lexer, BodyFacts* facts) {
  for (size_t depth = 1; depth != 0;) {
    const PtxStatement statement = next_statement(lexer);
    switch (statement.kind) {
      case PtxStatement::end:
      case PtxStatement::error:
        return false;
      case PtxStatement::open:
        ++depth;
        break;
      case PtxStatement::close:
        --depth;
        break;
      case PtxStatement::label:
        ++facts->labels;
        break;
      case PtxStatement::declaration:
        if (statement.opcode == ".shared" && !add_shared(statement.text, &facts->shared_bytes)) {
          facts->is_known = false;
        }
        break;
      case PtxStatement::source_line:
        break;
      case PtxStatement::instruction:
        facts->exits = facts->exits || statement.opcode == "exit";
        facts->large_operands = facts->large_operands || has_large_operands(statement.opcode);
        break;
    }
  }
  return true;
}

// Reads a parameter list. The lexer stands behind its first parenthesis.
bool read_parameters(PtxLexer* lexer, PtxKernel* kernel) {
  const char* const begin = lexer->position();
  bool any = false;
  for (PtxToken token = lexer->next(); !token.is(')'); token = lexer->next()) {
    if (token.kind == PtxToken::end || token.kind == PtxToken::error || token.is('{') || token.is('}') ||
        token.is('(') || token.is(';')) {
      return false;
    }
    any = true;
    kernel->params += token.is(',');
  }
  kernel->params += any;
  kernel->parameters = from(begin, lexer->position() - 1);
  return true;
}

// Reads the directives between the parameters and the body. Sets `has_body` to whether a body follows.
bool read_limits(PtxLexer* lexer, PtxToken token, PtxKernel* kernel, bool* has_body) {
  for (; !token.is('{') && !token.is(';'); token = lexer->next()) {
    if (token.is(".maxnreg") || token.is(".minnctapersm") || token.is(".maxnctapersm")) {
      kernel->limits_registers = true;
    } else if (token.is(".reqnctapercluster") || token.is(".explicitcluster") || token.is(".maxclusterrank") ||
               token.is(".blocksareclusters")) {
      kernel->has_cluster = true;
    } else if (token.is(".pragma")) {
      if (lexer->next().kind != PtxToken::string || !lexer->next().is(';')) {
        return false;
      }
    } else if (token.kind == PtxToken::word) {
      if (token.text[0] == '.' && !token.is(".maxntid") && !token.is(".reqntid") && !token.is(".noreturn")) {
        kernel->is_known = false;
      }
    } else if (!token.is(',')) {
      return false;
    }
  }
  *has_body = token.is('{');
  return true;
}

// Reads a kernel. The lexer stands behind `.entry`.
bool read_kernel(PtxLexer* lexer, PtxKernel* kernel, bool* has_body) {
  *kernel = {};
  kernel->is_known = true;
  const PtxToken name = lexer->next();
  if (name.kind != PtxToken::word) {
    return false;
  }
  kernel->name = name.text;
  const char* limits = lexer->position();
  PtxToken token = lexer->next();
  if (token.is('(')) {
    if (!read_parameters(lexer, kernel)) {
      return false;
    }
    limits = lexer->position();
    token = lexer->next();
  }
  if (!read_limits(lexer, token, kernel, has_body)) {
    return false;
  }
  if (!*has_body) {
    return true;
  }
  const char* const body = lexer->position() - 1;
  kernel->limits = from(limits, body);
  BodyFacts facts;
  if (!read_body(lexer, &facts)) {
    return false;
  }
  kernel->body = from(body, lexer->position());
  kernel->shared_bytes = facts.shared_bytes;
  kernel->labels = facts.labels;
  kernel->is_known = kernel->is_known && facts.is_known;
  kernel->large_operands = facts.large_operands;
  return true;
}

// Reads a device function. The lexer stands behind `.func`.
bool read_function(PtxLexer* lexer, PtxModule* module) {
  PtxToken token = lexer->next();
  for (; !token.is('{') && !token.is(';'); token = lexer->next()) {
    if (token.kind == PtxToken::end || token.kind == PtxToken::error || token.is('}')) {
      return false;
    }
    if (token.kind == PtxToken::word &&
        (token.text.starts_with("cudaLaunchDevice") || token.text.starts_with("cudaGetParameterBuffer") ||
         token.text.starts_with("__cudaCDP"))) {
      module->launches_kernels = true;
    }
  }
  if (token.is(';')) {
    return true;
  }
  BodyFacts facts;
  if (!read_body(lexer, &facts)) {
    return false;
  }
  module->shared_bytes += facts.shared_bytes;
  module->exits_in_function = module->exits_in_function || facts.exits;
  module->is_known = module->is_known && facts.is_known;
  module->large_operands = module->large_operands || facts.large_operands;
  return true;
}

// Reads a variable in shared memory. `declaration` begins with `.shared`, and the lexer stands behind it.
bool read_shared(PtxLexer* lexer, const char* declaration, PtxModule* module) {
  for (PtxToken token = lexer->next(); !token.is(';'); token = lexer->next()) {
    if (token.kind == PtxToken::end || token.kind == PtxToken::error) {
      return false;
    }
  }
  if (!add_shared(from(declaration, lexer->position()), &module->shared_bytes)) {
    module->is_known = false;
  }
  return true;
}

}  // namespace

PtxStep next_kernel(PtxLexer* lexer, PtxKernel* kernel, PtxModule* module) {
  size_t depth = 0;  // Sections and initial values have braces.
  bool is_extern = false;
  while (true) {
    const PtxToken token = lexer->next();
    bool good = true;
    if (token.kind == PtxToken::end) {
      return depth == 0 ? PtxStep::end : PtxStep::error;
    }
    if (token.is('{')) {
      ++depth;
    } else if (token.is('}')) {
      good = depth-- != 0;
    } else if (token.is(".entry")) {
      bool has_body = false;
      good = depth == 0 && read_kernel(lexer, kernel, &has_body);
      if (good && has_body) {
        return PtxStep::kernel;
      }
    } else if (token.is(".func")) {
      good = depth == 0 && read_function(lexer, module);
    } else if (token.is(".shared") && !is_extern) {
      good = depth == 0 && read_shared(lexer, token.text.data(), module);
    }
    if (!good || token.kind == PtxToken::error) {
      return PtxStep::error;
    }
    is_extern = token.is(".extern");
  }
}

}  // namespace gpuprof::injection::cupti

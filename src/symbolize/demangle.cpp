#include <libiberty/demangle.h>
#include <pthread.h>

#include <csetjmp>
#include <string>
#include <string_view>

#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMaxMangled = 32 << 10;
constexpr size_t kMaxDemangled = 64 << 10;
// libiberty rejects names longer than half its recursion limit, and names of matrix library templates are longer. For
// such names, gpuprof switches the limit off and runs the demangler on a stack that is large enough for any name of
// kMaxMangled bytes.
constexpr size_t kLimitedMangled = DEMANGLE_RECURSION_LIMIT / 2;
constexpr size_t kDeepStack = size_t{256} << 20;  // only touched pages use memory

enum class Language { cxx, rust };

struct Job {
  const char* mangled = nullptr;
  Language language = Language::cxx;
  int options = DMGL_PARAMS | DMGL_ANSI;
  std::string output;
  bool ok = false;
  std::jmp_buf full{};
};

// Substitutions let a short name stand for an exponentially long one. In their callback form the demanglers use no
// heap memory. So collect() can longjmp out of them when the output is full, without a leak.
void collect(const char* text, size_t size, void* opaque) {
  Job& job = *static_cast<Job*>(opaque);
  if (size > kMaxDemangled - job.output.size()) {
    std::longjmp(job.full, 1);
  }
  job.output.append(text, size);
}

void run(Job& job) {
  job.output.reserve(kMaxDemangled);
  if (setjmp(job.full) != 0) {  // NOLINT(cert-err52-cpp,modernize-avoid-setjmp-longjmp)
    job.ok = false;
    return;
  }
  const int done = job.language == Language::rust ? rust_demangle_callback(job.mangled, DMGL_ANSI, collect, &job)
                                                  : cplus_demangle_v3_callback(job.mangled, job.options, collect, &job);
  job.ok = done != 0 && !job.output.empty();
}

void* run_thread(void* opaque) {
  run(*static_cast<Job*>(opaque));
  return nullptr;
}

void run_on_deep_stack(Job& job) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return;
  }
  pthread_t thread{};
  if (pthread_attr_setstacksize(&attributes, kDeepStack) == 0 &&
      pthread_create(&thread, &attributes, run_thread, &job) == 0) {
    pthread_join(thread, nullptr);
  }
  pthread_attr_destroy(&attributes);
}

bool attempt(const std::string& mangled, Language language, std::string& output) {
  Job job;
  job.mangled = mangled.c_str();
  job.language = language;
  if (language == Language::cxx && mangled.size() >= kLimitedMangled) {
    job.options |= DMGL_NO_RECURSE_LIMIT;
    run_on_deep_stack(job);
  } else {
    run(job);
  }
  output = std::move(job.output);
  return job.ok;
}

// Rust's older scheme is an Itanium name whose last component is a hash: 17h and 16 hex digits.
bool looks_like_rust(std::string_view name) {
  return name.starts_with("_R") || (name.starts_with("_ZN") && name.find("17h") != std::string_view::npos);
}

}  // namespace

std::string demangle(std::string_view name) {
  if (name.size() < 3 || name.size() > kMaxMangled || name[0] != '_' || name.find('\0') != std::string_view::npos) {
    return std::string(name);
  }
  std::string mangled(name);
  std::string output;
  if (looks_like_rust(name) && attempt(mangled, Language::rust, output)) {
    output.shrink_to_fit();
    return output;
  }
  if (name.starts_with("_Z") && attempt(mangled, Language::cxx, output)) {
    output.shrink_to_fit();
    return output;
  }
  return mangled;
}

}  // namespace gpuprof::symbolize

// Sources in the recorder's own process that report known events of a real process: one round each time that recording
// is enabled. sources_test.py has the expected numbers.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace gpuprof::test {

// Reports launches with stacks, their work and samples. `drops`: more than a hundredth of the samples are dropped.
std::unique_ptr<backend::Backend> make_sampler(const std::string& folder, bool drops);

// Reports samples that have no launch, in the same GPU code as make_sampler(). `fails`: the source cannot be started.
std::unique_ptr<backend::Backend> make_second(const std::string& folder, bool fails);

}  // namespace gpuprof::test

// Sources in the recorder's own process that tell what is known beforehand, of a process that is really there: one
// round of it each time that recording is switched on. sources_test.py knows the numbers.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace gpuprof::test {

// Launches with stacks, their work and its samples. `drops`: some of these were dropped, more than a hundredth.
std::unique_ptr<backend::Backend> make_sampler(const std::string& folder, bool drops);

// Samples that no launch is known for, in the same GPU code. `fails`: it can not be started.
std::unique_ptr<backend::Backend> make_second(const std::string& folder, bool fails);

}  // namespace gpuprof::test

#include "compare/setup.h"

#include <algorithm>

namespace gpuprof::compare {

std::vector<KnownDriver> known_drivers(std::span<const RunFacts* const> runs) {
  std::vector<KnownDriver> drivers;
  for (const RunFacts* run : runs) {
    const bool told = std::any_of(drivers.begin(), drivers.end(),
                                  [run](const KnownDriver& known) { return known.name == run->driver; });
    if (!run->driver.empty() && !told) {
      drivers.push_back({.name = run->driver, .run = run});
    }
  }
  return drivers;
}

bool has_failed(const RunFacts& run) {
  return !run.exit_status.empty() && run.exit_status != "0" && !run.exit_status.starts_with("still running");
}

}  // namespace gpuprof::compare

// Finds out which parts of a rotated recording (`record --rotate`) a profile holds.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gpuprof::analyze {

struct Rotations {
  size_t recordings = 0;
  size_t files = 0;  // that the profile was merged from, if it was
  // One text for each recording that lacks a part: "--rotate, from 4s to 10s of it (missing: from 0s to 4s)".
  std::vector<std::string> incomplete;
};

// Reads the META lines `recording.rotation`.
Rotations rotations_of(const std::multimap<std::string, std::string>& meta);

}  // namespace gpuprof::analyze

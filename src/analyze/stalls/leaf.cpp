#include "analyze/stalls/leaf.h"

#include <algorithm>
#include <array>

namespace gpuprof::analyze {
namespace {

constexpr std::string_view kKernel = "kernel";
// Indexed by Leaf.
constexpr std::array<std::string_view, 5> kLeafWords = {"function", "line", "instruction", "offset", "stall"};

}  // namespace

Result<Leaves> parse_leaves(std::string_view list) {
  Leaves leaves;
  if (list == kKernel) {
    return leaves;
  }
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string_view wanted = list.substr(at, end - at);
    const auto* const known = std::find(kLeafWords.begin(), kLeafWords.end(), wanted);
    if (known == kLeafWords.end()) {
      return Error{
          wanted == kKernel
              ? "'kernel' cannot be combined with other values: it hides all frames below GPU kernels"
              : "'" + std::string(wanted) + "' is not one of kernel, function, line, instruction, offset and stall",
          "for example line,stall"};
    }
    const auto leaf = static_cast<Leaf>(known - kLeafWords.begin());
    if (has(leaves, leaf)) {
      return Error{"'" + std::string(wanted) + "' is listed twice", "list each name once"};
    }
    leaves.push_back(leaf);
    at = end + 1;
  }
  return leaves;
}

std::string leaf_words(const Leaves& leaves) {
  std::string words;
  for (const Leaf leaf : leaves) {
    words.append(words.empty() ? "" : ",").append(kLeafWords[static_cast<size_t>(leaf)]);
  }
  return words.empty() ? std::string(kKernel) : words;
}

bool has(const Leaves& leaves, Leaf leaf) {
  return std::find(leaves.begin(), leaves.end(), leaf) != leaves.end();
}

}  // namespace gpuprof::analyze

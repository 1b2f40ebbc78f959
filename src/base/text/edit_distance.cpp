#include "base/text/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace gpuprof {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last;
  std::vector<size_t> last;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::vector<std::string_view> nearest_words(std::string_view word, std::span<const std::string> words) {
  constexpr size_t kLongest = 32;
  constexpr size_t kMaxEditDistance = 2;
  std::vector<std::string_view> nearest;
  size_t fewest = kMaxEditDistance;
  for (const std::string& known : words) {
    const size_t needed = word.size() > kLongest ? word.size() : edit_distance(word, known);
    if (needed > fewest || needed >= word.size()) {
      continue;
    }
    if (needed < fewest) {
      nearest.clear();
    }
    fewest = needed;
    nearest.emplace_back(known);
  }
  return nearest;
}

}  // namespace gpuprof

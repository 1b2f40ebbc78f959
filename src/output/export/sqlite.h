// Exports a profile as an SQLite database with the schema of sqlite_schema.sql.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "analyze/paths/walk.h"
#include "base/result.h"

namespace gpuprof::output {

inline constexpr size_t kMostPages = 131'072;  // 512 MiB, as pages of 4 KiB

// Builds the database in memory and passes its bytes to `use`. Fails if the database needs more than `most_pages`.
Status with_sqlite(analyze::Walk& walk, size_t most_pages, const std::function<Status(std::string_view)>& use);

}  // namespace gpuprof::output

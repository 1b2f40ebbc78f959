// A profile as an SQLite database, by the schema of sqlite_schema.sql.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "analyze/paths/walk.h"
#include "base/result.h"

namespace gpuprof::output {

inline constexpr size_t kMostPages = 131'072;  // of 4 KiB

// Makes the database in memory, up to `most_pages` of it, and hands its bytes to `use`. The Error of one that would be
// larger says so.
Status with_sqlite(analyze::Walk& walk, size_t most_pages, const std::function<Status(std::string_view)>& use);

}  // namespace gpuprof::output

// A profile as an SQLite database, by the schema of sqlite_schema.sql.
#pragma once

#include <functional>
#include <string_view>

#include "analyze/walk.h"
#include "base/result.h"

namespace gpuprof::output {

// Makes the database in memory, up to 512 MiB of it, and hands its bytes to `use`.
Status with_sqlite(analyze::Walk& walk, const std::function<Status(std::string_view)>& use);

}  // namespace gpuprof::output

// Includes Catch2 v2 (Debian 12) or v3 (Ubuntu 24.04), whose headers have different names.
#pragma once

#ifdef GPUPROF_CATCH2_V3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

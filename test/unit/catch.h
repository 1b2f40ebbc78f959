// Catch2 v2 (Debian 12) and v3 (Ubuntu 24.04) under one name.
#pragma once

#ifdef GPUPROF_CATCH2_V3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

// RETURN_IF_ERROR(step()): hands the error of a Status or a Result to the caller. A Result that is a variable keeps its
// value where it has one.
#pragma once

#include <utility>

#include "base/result.h"

#define RETURN_IF_ERROR(result)                              \
  do {                                                       \
    if (auto&& checked_result = (result); !checked_result) { \
      return std::move(checked_result).error();              \
    }                                                        \
  } while (false)

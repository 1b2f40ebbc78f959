// RETURN_IF_ERROR(step()) returns the error of a Status or Result to the caller. Without an error, it does nothing.
#pragma once

#include <utility>

#include "base/result.h"

#define RETURN_IF_ERROR(result)                              \
  do {                                                       \
    if (auto&& checked_result = (result); !checked_result) { \
      return std::move(checked_result).error();              \
    }                                                        \
  } while (false)

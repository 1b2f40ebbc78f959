// Errors are values. A function that can fail returns a Result<T> or a Status, which the caller must check. main.cpp
// prints errors through log.h.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/exit_status.h"

namespace gpuprof {

struct Error {
  std::string message;           // one line without a full stop at its end
  std::string hint;              // what the user can do; may be empty
  int exit_code = kExitFailure;  // exit status of the command that this error ends
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return *std::get_if<T>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<T>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<T>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& {
    assert(!ok());
    return *std::get_if<Error>(&state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<Error>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& {
    assert(error_.has_value());
    return *error_;
  }
  Error&& error() && {
    assert(error_.has_value());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace gpuprof

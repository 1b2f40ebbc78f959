// The C++ target: virtual calls, exceptions, destructors during unwinding, coroutines, code at thread exit.
#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "target.h"

namespace {

// Puts a function on the shadow stack, and removes it however the function ends.
class Scope {
 public:
  explicit Scope(const char* function) : depth_(stack_enter(function)) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { stack_leave(depth_); }

 private:
  unsigned depth_;
};

}  // namespace

struct Shape {
  virtual ~Shape() = default;
  virtual void draw(int left) = 0;
};

struct Square : Shape {
  FRAME void draw(int left) override;
};

struct Base {
  virtual ~Base() = default;
  virtual void draw_all(int left) = 0;
  int padding = 0;
};

// For calls through the second base the compiler makes a thunk, which jumps and has no frame.
struct Both : Shape, Base {
  FRAME void draw(int left) override;
  FRAME void draw_all(int left) override;
};

void Square::draw(int left) {
  const Scope scope("Square::draw");
  if (left > 0) {
    draw(left - 1);
  } else {
    stack_launch("virtual");
  }
}

void Both::draw(int left) {
  const Scope scope("Both::draw");
  if (left > 0) {
    draw_all(left - 1);
  } else {
    stack_launch("virtual_thunk");
  }
}

void Both::draw_all(int left) {
  const Scope scope("Both::draw_all");
  draw(left);
}

FRAME void draw_shapes(Shape& shape, Base& base) {
  const Scope scope("draw_shapes");
  shape.draw(3);
  base.draw_all(4);
}

FRAME void throwing(int left) {
  const Scope scope("throwing");
  std::string text(static_cast<size_t>(left) * 10 + 40, 'x');  // the exception must destroy this string
  if (left > 0) {
    throwing(left - 1);
  } else {
    throw std::runtime_error(text);
  }
  stack_note("not_reached", left);
}

FRAME void catching(const char* kernel) {
  const unsigned depth = stack_enter("catching");
  try {
    throwing(20);
  } catch (const std::runtime_error&) {
    stack_leave(depth + 1);
    stack_launch(kernel);
  }
  stack_launch("after_catch");
  stack_leave(depth);
}

FRAME void in_catch_deep(int left) {
  const Scope scope("in_catch_deep");
  if (left > 0) {
    in_catch_deep(left - 1);
  } else {
    catching("catch_in_catch");
  }
}

FRAME void catching_again() {
  const unsigned depth = stack_enter("catching_again");
  try {
    try {
      throwing(5);
    } catch (...) {
      stack_leave(depth + 1);
      in_catch_deep(4);
      throw;
    }
  } catch (...) {
    stack_leave(depth + 1);
    stack_launch("rethrown");
  }
  stack_leave(depth);
}

// Launches while an exception propagates: the landing pad of the function that owns this object calls the destructor.
struct Launcher {
  explicit Launcher(const char* name) : kernel(name) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  FRAME ~Launcher();
  const char* kernel;
  unsigned depth = 0;
};

Launcher::~Launcher() {
  stack_leave(depth);  // removes from the shadow stack the functions that the exception has left
  const Scope scope("Launcher::~Launcher");
  stack_launch(kernel);
}

FRAME void unwound(const char* kernel, int left) {
  const unsigned depth = stack_enter("unwound");
  Launcher launcher(kernel);
  launcher.depth = depth + 1;
  throwing(left);
  stack_leave(depth);
}

FRAME void destructor_cases() {
  const unsigned depth = stack_enter("destructor_cases");
  try {
    unwound("destructor_in_unwinding", 6);
  } catch (const std::exception&) {
    stack_leave(depth + 1);
  }
  stack_leave(depth);
}

// A coroutine that suspends at each await. Once resumed, it runs on the stack of the function that resumes it.
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

static Task coroutine(int steps) {
  for (int i = 0; i < steps; ++i) {
    const unsigned depth = stack_enter(STACK_OTHERS);  // stands for resume()
    stack_enter("coroutine");
    stack_launch("coroutine");
    stack_leave(depth);
    co_await std::suspend_always();
  }
}

FRAME void resume_deep(std::coroutine_handle<> handle, int left) {
  const Scope scope("resume_deep");
  if (left > 0) {
    resume_deep(handle, left - 1);
  } else {
    handle.resume();
  }
}

FRAME void coroutine_cases() {
  const Scope scope("coroutine_cases");
  const Task task = coroutine(3);
  for (int depth = 0; !task.handle.done(); ++depth) {
    resume_deep(task.handle, depth);
  }
  task.handle.destroy();
}

struct LastOfThread {
  FRAME ~LastOfThread();
  const char* kernel = nullptr;
};

LastOfThread::~LastOfThread() {
  const Scope others(STACK_OTHERS);
  const Scope scope("LastOfThread::~LastOfThread");
  stack_launch(kernel);
}

static thread_local LastOfThread last_of_thread;

FRAME void in_thread(const char* kernel) {
  const Scope others(STACK_OTHERS);  // stands for the frames of std::thread
  const Scope scope("in_thread");
  last_of_thread.kernel = kernel;
  stack_launch("std_thread");
}

FRAME int through_function(const std::function<int(int)>& function, int left) {
  const Scope scope("through_function");
  return left > 0 ? through_function(function, left - 1) : function(left);
}

FRAME int called(int value) {
  const Scope others(STACK_OTHERS);  // stands for std::function's invoker
  const Scope scope("called");
  stack_launch("std_function");
  return value;
}

// Keeps many values in registers and on the stack, so that vectors need alignment.
FRAME double vectors(const std::vector<double>& values, int left) {
  const Scope scope("vectors");
  alignas(64) double sums[32] = {};
  for (size_t i = 0; i < values.size(); ++i) {
    sums[i % 32] += values[i] * left;
  }
  if (left > 0) {
    sums[1] += vectors(values, left - 1);
  } else {
    stack_launch("vectors");
  }
  return sums[0] + sums[1];
}

struct Global {
  FRAME Global();
  FRAME ~Global();
};

Global::Global() {
  const Scope others(STACK_OTHERS);
  const Scope scope("Global::Global");
  stack_launch("static_constructor");
}

Global::~Global() {
  const Scope others(STACK_OTHERS);
  const Scope scope("Global::~Global");
  stack_launch("static_destructor");
}

static const Global global;

int main() {
  const Scope scope("main");
  Square square;
  Both both;
  draw_shapes(square, both);
  catching("catch");
  catching_again();
  destructor_cases();
  coroutine_cases();
  std::thread(in_thread, "thread_local_destructor").join();
  through_function([](int value) { return called(value); }, 3);
  vectors(std::vector<double>(100, 1.0), 5);
  return 0;
}

// What a vendor's library gives to what all of them share: a new one is this struct, an entry point that calls
// begin_recording() (recording.h), and the vendor's callbacks, which call launch.h, work.h and ipc/emit.h.
#pragma once

namespace gpuprof::injection {

struct Vendor {
  const char* name;  // in the handshake, and before the keys of what all vendors tell

  // Before the connection is made, so that the recorder sees what this has loaded. Not where we are attached.
  void (*load)();
  // Connected: have the vendor's interface tell us of work. False: it can not, and disable() has been called.
  bool (*subscribe)(bool attached);
  // In the child of a fork, inside fork(). Null: nothing is to be done.
  void (*forked)();
  // The process ends. May wait, within bounds. Null: nothing is to be done.
  void (*exiting)();
  // The interface can be used in the child of a fork, where recording goes on.
  bool goes_on_in_children;

  // Of an interface that holds records back: service_thread.h has a thread for it. Null in all others.
  struct Flush {
    const char* library;        // as messages call it
    const char* pace_variable;  // of the environment: milliseconds; null: none
    // A call into the vendor's library: hands over what it holds. `last`: also what is unfinished.
    void (*flush)(bool last);
    void (*first_work)();            // the process has begun to use a GPU
    void (*set_recording)(bool on);  // what is not recorded costs the target nothing
    void (*totals)();                // tells what has been handed over
    void (*detach)();                // attached: nothing of the vendor's stays in the process
  };
  const Flush* flush;
};

}  // namespace gpuprof::injection

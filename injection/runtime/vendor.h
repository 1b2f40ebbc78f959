// Describes a vendor's library to the shared runtime. A new vendor needs this struct, an entry point that calls
// begin_recording() (recording.h), and callbacks that call launch.h, work.h and ipc/emit.h.
#pragma once

namespace gpuprof::injection {

struct Vendor {
  const char* name;  // backend name in the handshake; prefix of the META keys of the shared runtime

  // Loads libraries before the connection, so that the recorder sees them. Not called when attaching.
  void (*load)();
  // Subscribes to the interface once connected. On failure, calls disable() and returns false.
  bool (*subscribe)(bool attached);
  // Runs in a forked child, inside fork(). May be null.
  void (*forked)();
  // Runs when the process ends. May wait, with a limit. May be null.
  void (*exiting)();
  // true: recording continues in a forked child.
  bool works_in_forked_child;

  // Functions of an interface that buffers records; service_thread.h runs a thread for it. Null for other interfaces.
  struct Flush {
    const char* library;        // name of the vendor's library in messages
    const char* pace_variable;  // environment variable with the flush interval in milliseconds; may be null
    // Makes the vendor's library deliver what it holds. `last`: also unfinished records.
    void (*flush)(bool last);
    void (*first_work)();            // called when the process first uses a GPU
    void (*set_recording)(bool on);  // when off, recording must cost the target nothing
    void (*totals)();                // reports the number of delivered records
    void (*detach)();                // called only if attached: undoes all instrumentation of the process
  };
  const Flush* flush;
};

}  // namespace gpuprof::injection

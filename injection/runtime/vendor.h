// Describes a vendor's library to the shared runtime. A new vendor needs this struct, an entry point that calls
// begin_recording() (recording.h), and callbacks that call launch.h, work.h and ipc/emit.h.
#pragma once

namespace gpuprof::injection {

struct Vendor {
  // Name of the backend in the handshake; also the prefix of the META keys that the shared runtime writes.
  const char* name;

  // Loads libraries before the connection, so that the recorder sees their mappings. Not called when attaching.
  void (*load)();
  // Subscribes to the interface once connected. On failure, calls disable() and returns false.
  bool (*subscribe)(bool attached);
  // Runs in a forked child, inside fork(). May be null.
  void (*forked)();
  // Runs when the process ends. May wait, with a limit. May be null. Without a Flush, it runs twice, because recording
  // goes on: exit handlers that run later may launch work.
  void (*exiting)(bool last);
  bool works_in_forked_child;

  // Functions for an interface that buffers records, for which service_thread.h runs a thread. Null for other
  // interfaces.
  struct Flush {
    const char* library;        // name of the vendor's library in messages
    const char* pace_variable;  // environment variable with the flush interval in milliseconds; may be null
    // Makes the vendor's library deliver the records that it holds. `last`: also records of unfinished work.
    void (*flush)(bool last);
    void (*first_work)();  // called when the process first uses a GPU
    // Switches recording on or off; off must cost the target nothing. Returns whether recording is on. If it is not
    // although `on` is true, it is called again.
    bool (*set_recording)(bool on);
    // Called after set_recording(false) until it returns true. May be null.
    bool (*complete_pause)();
    // Called every few milliseconds while GPUPROF_CONTROL_UNWANTED is set. May be null.
    void (*note_unwanted)();
    void (*totals)();  // reports the number of delivered records
    void (*detach)();  // called only in an attached process; removes all instrumentation
  };
  const Flush* flush;
};

}  // namespace gpuprof::injection

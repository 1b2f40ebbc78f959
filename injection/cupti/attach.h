// The way in for `record -p`: the recorder makes a thread of the target call gpuprof_attach().
#pragma once

// Starts a thread of ours that connects to the recorder, which runs as `user`, finds CUPTI, subscribes, and stays until
// the recorder takes us out again or is gone. Returns at once: 0, or an errno (EBUSY: this process is being recorded).
extern "C" __attribute__((visibility("default"))) int gpuprof_attach(const char* socket, const char* token,
                                                                     unsigned user);

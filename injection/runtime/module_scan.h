// What has come into the process since the last look: an interpreter, libraries.
#pragma once

namespace gpuprof::injection {

// Off the launch path, now and then: takes the loader's lock.
void scan_modules();

// Around fork(), in the thread that calls it: its child could not give back the loader's lock.
void hold_off_module_scans();
void allow_module_scans();
void reset_module_scans();  // in the child

}  // namespace gpuprof::injection

// Finds what was loaded into the process since the last scan: a Python interpreter, libraries.
#pragma once

namespace gpuprof::injection {

// Scans, if no other thread does so now. Takes the loader's lock, so it must not run at a launch.
void scan_modules();
// Calls `also` at the end of the scan. It may take the loader's lock, too: fork() waits until the scan ends.
void scan_modules_and(void (*also)());

// Suspend and resume scans around fork(), on the forking thread. Otherwise a scan on another thread may hold the
// loader's lock, which nobody would release in the child.
void hold_off_module_scans();
void allow_module_scans();
void reset_module_scans();  // call it in a forked child

}  // namespace gpuprof::injection

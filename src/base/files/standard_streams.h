// The descriptors 0, 1 and 2, which a program may have been started without.
#pragma once

namespace gpuprof {

// Takes the numbers of those that are closed, before a file of ours gets them and is read as input or written to as
// output. Reading and writing them fails as it did, and a program that we start does not have them.
void hold_standard_streams();

}  // namespace gpuprof

// Finds the rank of a process in a parallel job in the variables that the job's launcher sets.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::record {

// The variables of Open MPI, PMIx, MPICH and Intel MPI, MVAPICH2, torchrun, and Slurm. If several are set, the first
// one counts, because Slurm may start torchrun.
inline constexpr std::string_view kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                      "MV2_COMM_WORLD_RANK",  "RANK",      "SLURM_PROCID"};

// Returns whether the value consists of 1 to 9 digits. A user may set the variables to anything.
bool is_rank(std::string_view value);

// Returns the rank from the text of /proc/PID/environ. Empty: the process has no rank.
std::string rank_of(std::string_view environment);

}  // namespace gpuprof::record

// The rank of a process in a parallel job, from its launcher's variables.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::record {

// Open MPI, PMIx, MPICH and Intel MPI, MVAPICH2, torchrun, Slurm. The first variable wins: Slurm may start torchrun.
inline constexpr std::string_view kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                      "MV2_COMM_WORLD_RANK",  "RANK",      "SLURM_PROCID"};

// Returns whether the value has only digits, at most 9. The variables may contain anything.
bool is_rank(std::string_view value);

// Returns the rank from the text of /proc/PID/environ (NAME=value, NUL-terminated); empty: no rank.
std::string rank_of(std::string_view environment);

}  // namespace gpuprof::record

// The rank of a process in a parallel job, as its launcher tells it.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::record {

// Open MPI, PMIx, MPICH and Intel MPI, MVAPICH2, torchrun, Slurm. A torchrun that Slurm has started knows better.
inline constexpr std::string_view kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                      "MV2_COMM_WORLD_RANK",  "RANK",      "SLURM_PROCID"};

// Digits only: the variables may hold anything.
bool is_rank(std::string_view value);

// Of an environment as /proc/PID/environ has it: NAME=value, each with a NUL behind it. Empty: none.
std::string rank_of(std::string_view environment);

}  // namespace gpuprof::record

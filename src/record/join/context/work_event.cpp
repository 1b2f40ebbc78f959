#include "record/join/context/work_event.h"

#include "wire/wire.h"

namespace gpuprof::record {
namespace {

constexpr profile::Op kGpuOps[GPUPROF_OPS] = {
    profile::Op::kernel,    profile::Op::copy_htod, profile::Op::copy_dtoh, profile::Op::copy_dtod,
    profile::Op::copy_htoh, profile::Op::copy_ptop, profile::Op::copy,      profile::Op::fill,
    profile::Op::other,     profile::Op::graph,
};
constexpr profile::Op kHostOps[GPUPROF_HOST_OPS] = {
    profile::Op::sync,      profile::Op::alloc,        profile::Op::free,         profile::Op::fault_gpu,
    profile::Op::fault_cpu, profile::Op::migrate_htod, profile::Op::migrate_dtoh, profile::Op::failed,
    profile::Op::cpu,       profile::Op::call,
};

}  // namespace

WorkEvent work_event(const backend::GpuOp& op) {
  return {
      .site = {.source = op.source,
               .correlation = op.correlation,
               .stream = op.stream,
               .graph_node = op.graph_node,
               .device = op.device,
               .name_id = op.name_id,
               .op = kGpuOps[op.op],
               .has_call = op.exec == 0 || op.correlation != 0},  // false: an unknown launch of the known graph `exec`
      .start_ns = op.start_ns,
      .end_ns = op.end_ns,
      .queued_ns = op.queued_ns,
      .submitted_ns = op.submitted_ns,
      .bytes = op.bytes,
      .more = op.more,
      .outside = op.outside};
}

WorkEvent work_event(const backend::HostOp& op) {
  return {.site = {.source = op.source,
                   .correlation = op.correlation,
                   .device = op.device,
                   .name_id = op.name_id,
                   .tid = op.tid,
                   .op = kHostOps[op.op],
                   .has_call = op.correlation != 0,
                   .is_host = true},
          .start_ns = op.start_ns,
          .end_ns = op.end_ns,
          .bytes = op.bytes,
          .count = op.count};
}

LaunchSite launch_site(const backend::Sample& sample) {
  return {.source = sample.source,
          .correlation = sample.correlation,
          .stream = sample.stream,
          .graph_node = sample.graph_node,
          .device = sample.device,
          .name_id = sample.name_id,
          .tid = sample.tid,
          .range = sample.range,
          .has_call = sample.correlation != 0,
          .is_sample = true};
}

}  // namespace gpuprof::record

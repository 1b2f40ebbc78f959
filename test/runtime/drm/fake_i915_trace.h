/* The tracepoint of i915 that gpuprof uses, with its real name and argument. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM i915

#if !defined(FAKE_I915_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define FAKE_I915_TRACE_H

#include <linux/tracepoint.h>

/* clang-format off */
TRACE_EVENT(i915_request_add,
  TP_PROTO(struct i915_request* rq),
  TP_ARGS(rq),
  TP_STRUCT__entry(__field(u64, ctx)),
  TP_fast_assign(__entry->ctx = rq->fence.context;),
  TP_printk("ctx=%llu", __entry->ctx)
);
/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE fake_i915_trace
#include <trace/define_trace.h>

/* Finds the mappings of a process and its files' unwind rules, as last read by the recorder, and checks them. */
#ifndef GPUPROF_MAPPINGS_H
#define GPUPROF_MAPPINGS_H

#include "walk.h"

#define EBUSY 16

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, GPUPROF_BPF_MAX_PROCESSES);
  __type(key, __u32); /* pid */
  __type(value, struct gpuprof_bpf_process);
} processes SEC(".maps");

/* The last unload of a process. Until the recorder reads the mappings again, its copy of them may name the wrong
 * files. */
struct unload {
  __u64 time_ns; /* when the unload ended; UNLOADING: in progress; 0: never */
  __u32 told;    /* 1: the recorder knows that the unload has ended */
  __u32 loading; /* 1: a load is in progress */
};
#define UNLOADING (~0ull)

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GPUPROF_BPF_MAX_PROCESSES);
  __type(key, __u32); /* pid */
  __type(value, struct unload);
} unloads SEC(".maps");

/* The template has only sizes. With BTF types, Linux 6.1 would reject the recorder's inner maps, which have none. */
struct inner_mappings {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_INNER_MAP);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct gpuprof_bpf_mapping));
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, GPUPROF_BPF_MAX_PROCESSES);
  __type(key, __u32); /* pid */
  __array(values, struct inner_mappings);
} mappings SEC(".maps");

struct inner_pool {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u64));
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, GPUPROF_BPF_MAX_POOLS);
  __type(key, __u32);
  __array(values, struct inner_pool);
} pools SEC(".maps");

static __always_inline int send_loader_event(__u32 pid) {
  struct gpuprof_bpf_loader* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
  if (!event) {
    return 0;
  }
  event->type = GPUPROF_BPF_LOADER;
  event->pid = pid;
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  return 1;
}

/* Returns whether the recorder read the mappings of the process before the process's last unload ended. */
static __always_inline int is_outdated(__u32 pid, const struct gpuprof_bpf_process* process) {
  struct unload* unload = bpf_map_lookup_elem(&unloads, &pid);
  if (!unload || unload->time_ns < process->read_ns) {
    return 0;
  }
  if (unload->time_ns != UNLOADING && !unload->told) { /* the earlier attempt failed, because the buffer was full */
    unload->told = send_loader_event(pid);
  }
  return 1;
}

enum mapped {
  MAPPED_OTHER = 0, /* another file, or no mapping */
  MAPPED_SAME = 1,
  MAPPED_ANONYMOUS = 2,
  MAPPED_UNKNOWN = 3 /* another thread is changing the mappings */
};

struct wanted_file {
  __u64 inode;
  __u64 offset; /* file offset of pc */
  __u64 pc;
  __u32 found; /* enum mapped */
  __u32 pad;
};

static long compare_file(struct task_struct* task, struct vm_area_struct* vma, struct wanted_file* wanted) {
  struct file* file = vma->vm_file;
  if (!file) {
    wanted->found = MAPPED_ANONYMOUS;
    return 0;
  }
  __u64 offset = wanted->pc - vma->vm_start + ((__u64)vma->vm_pgoff << (config.page_shift & 31));
  wanted->found = file->f_inode->i_ino == wanted->inode && offset == wanted->offset ? MAPPED_SAME : MAPPED_OTHER;
  return 0;
}

/* Checks whether the file at pc is still the file of the recorder's mapping (null: the recorder has no mapping
 * there). The recorder keeps the file open, so that no other file can get its inode number. */
static __noinline __u32 compare_mapping(const struct gpuprof_bpf_mapping* mapping, __u64 pc) {
  struct wanted_file wanted = {0, 0, pc, MAPPED_OTHER, 0};
  if (mapping) {
    wanted.inode = mapping->inode;
    wanted.offset = pc - mapping->begin + mapping->offset;
    if (!wanted.inode) {
      return mapping->gone ? MAPPED_OTHER : MAPPED_SAME; /* only the vdso has no inode */
    }
  }
  long result = 0;
  for (int i = 0; i < 4; ++i) {
    result = bpf_find_vma(bpf_get_current_task_btf(), pc, compare_file, &wanted, 0);
    if (result != -EBUSY) {
      break;
    }
  }
  return result == -EBUSY ? MAPPED_UNKNOWN : wanted.found;
}

/* Returns the rule at address `relative` in a file: the rule of the last row that begins at or before this address. */
static __noinline __u64 find_rule(const struct gpuprof_bpf_mapping* mapping, __u64 relative) {
  if (!mapping) { /* needed by the verifier */
    return GPUPROF_UNWIND_NONE;
  }
  __u32 page = relative >> GPUPROF_BPF_PAGE_SHIFT;
  if (relative >> 32 || page >= mapping->page_count) {
    return GPUPROF_UNWIND_NONE;
  }
  __u32 pool = mapping->pool;
  void* words = bpf_map_lookup_elem(&pools, &pool);
  if (!words) {
    return GPUPROF_UNWIND_NONE;
  }
  page += mapping->words_at;
  __u64* first = bpf_map_lookup_elem(words, &page);
  ++page;
  __u64* last = bpf_map_lookup_elem(words, &page);
  if (!first || !last) {
    return GPUPROF_UNWIND_NONE;
  }
  __u32 low = *first;
  __u32 high = *last;
  __u32 rows_at = mapping->words_at + mapping->page_count + 1;
  __u32 index = 0;
  for (__u32 i = 0; i < 14 && low < high; ++i) { /* a page has at most 4096 rows */
    __u32 middle = low + (high - low + 1) / 2;
    __u32 at = rows_at + middle;
    __u64* row = bpf_map_lookup_elem(words, &at);
    if (!row) {
      return GPUPROF_UNWIND_NONE;
    }
    if (*row >> 32 <= relative) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  index = rows_at + low;
  __u64* row = bpf_map_lookup_elem(words, &index);
  if (!row) {
    return GPUPROF_UNWIND_NONE;
  }
  index = mapping->rules_at + (__u32)*row;
  __u64* rule = bpf_map_lookup_elem(words, &index);
  return rule ? *rule : GPUPROF_UNWIND_NONE;
}

static __always_inline struct gpuprof_bpf_mappings* head_of(void* own) {
  __u32 first = 0;
  return own ? bpf_map_lookup_elem(own, &first) : 0;
}

/* Returns the mapping that contains pc. Returns null if the recorder has no mapping there. */
static __noinline struct gpuprof_bpf_mapping* find_mapping(struct slot* slot, __u64 pc) {
  if (!slot) { /* needed by the verifier */
    return 0;
  }
  __u32 pid = slot->walk.pid;
  void* own = bpf_map_lookup_elem(&mappings, &pid);
  struct gpuprof_bpf_mappings* head = head_of(own);
  if (!own || !head) {
    return 0;
  }
  __u32 low = 1;
  __u32 high = (__u32)head->count + 1;
  for (__u32 i = 0; i < 17 && low < high; ++i) {
    __u32 middle = low + (high - low) / 2;
    struct gpuprof_bpf_mapping* mapping = bpf_map_lookup_elem(own, &middle);
    if (!mapping) {
      return 0;
    }
    if (pc < mapping->begin) {
      high = middle;
    } else if (pc >= mapping->end) {
      low = middle + 1;
    } else {
      return mapping;
    }
  }
  return 0;
}

/* Selects the recorder's table of mappings for this walk. The table may be newer than the process entry, because the
 * recorder writes it first. */
static __always_inline void begin_mappings(struct slot* slot) {
  __u32 pid = slot->walk.pid;
  struct gpuprof_bpf_mappings* head = head_of(slot->process.number ? bpf_map_lookup_elem(&mappings, &pid) : 0);
  slot->stack.read_ns = 0;
  if (!head) {
    return;
  }
  slot->stack.read_ns = head->read_ns;
  slot->walk.id = mix(slot->walk.id, head->generation);
  if (head->number != slot->process.number) {
    slot->process.number = head->number;
    slot->process.read_ns = head->read_ns;
  }
}

#endif

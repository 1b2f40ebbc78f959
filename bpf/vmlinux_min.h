/* The kernel types that the programs use. Written by hand, so that a build needs no kernel's BTF. Layouts that may
 * differ between kernels are relocated at load (preserve_access_index). */
#ifndef GPUPROF_VMLINUX_MIN_H
#define GPUPROF_VMLINUX_MIN_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef signed short __s16;
typedef unsigned int __u32;
typedef signed int __s32;
typedef unsigned long long __u64;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

enum {
  BPF_ANY = 0,
  BPF_NOEXIST = 1,
};
enum {
  BPF_RB_NO_WAKEUP = 1,
};
enum {
  BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};
enum bpf_map_type {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_LPM_TRIE = 11,
  BPF_MAP_TYPE_RINGBUF = 27,
  BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
  BPF_MAP_TYPE_HASH_OF_MAPS = 13,
  BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
  BPF_F_NO_PREALLOC = 1,
  BPF_F_MMAPABLE = 1 << 10,
  BPF_F_INNER_MAP = 1 << 12,
};

struct ns_common {
  unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
  struct ns_common ns;
} __attribute__((preserve_access_index));

struct upid {
  int nr;
  struct pid_namespace* ns;
} __attribute__((preserve_access_index));

struct pid {
  unsigned int level;
  struct upid numbers[1];
} __attribute__((preserve_access_index));

struct mm_struct;

struct cfs_bandwidth {
  __u64 throttled_time; /* ns, summed over the CPUs */
} __attribute__((preserve_access_index));

struct task_group {
  struct task_group* parent;
  struct cfs_bandwidth cfs_bandwidth;
} __attribute__((preserve_access_index));

struct task_struct {
  struct mm_struct* mm;
  int tgid;
  unsigned int flags;
  unsigned in_iowait : 1;
  struct task_group* sched_task_group;
  struct task_struct* real_parent;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  __u64 start_boottime;
  __u64 self_exec_id;
} __attribute__((preserve_access_index));

struct bpf_raw_tracepoint_args {
  __u64 args[0];
};

struct inode {
  unsigned long i_ino;
} __attribute__((preserve_access_index));

struct file {
  struct inode* f_inode;
  void* private_data;
} __attribute__((preserve_access_index));

struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_end;
  unsigned long vm_pgoff;
  struct file* vm_file;
} __attribute__((preserve_access_index));

struct bpf_pidns_info {
  __u32 pid;
  __u32 tgid;
};

#include "registers_arch.h"

#endif

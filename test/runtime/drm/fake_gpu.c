/* A GPU without hardware: two rings, each behind a real drm_gpu_scheduler. A ring takes up to four jobs and runs them
 * in order; a timer ends each job. Tests compare gpuprof's times with the times that this driver measures. */
#include "fake_gpu.h"

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define FAKE_SCHEDULER
#include "fake_kernel.h"

#ifdef FAKE_XE
#include <uapi/drm/xe_drm.h>
#define DRIVER "xe"
#define NODE "fake_xe"
#define CLIENTS_BEFORE 1000 /* client ids are larger, so that they differ from the driver's own numbers */
#define RING_NAMES \
  { "rcs3", "ccs12" } /* engine class and queue number */
#else
#define DRIVER "fakegpu"
#define NODE "fake_gpu"
#define CLIENTS_BEFORE 0
#define RING_NAMES \
  { "gfx", "copy0" }
#endif

#define CREDITS 4

struct ring {
  struct drm_gpu_scheduler scheduler;
  struct hrtimer timer;
  spinlock_t lock;       /* protects the members below */
  struct list_head jobs; /* jobs in the hardware; the first one runs */
  u64 started_ns;
  u64 done;
  u64 busy_ns;
  u64 fence_context;
  atomic64_t fence_seqno;
};

struct job {
  struct drm_sched_job base;
  struct list_head link;
  struct dma_fence* fence;
  struct ring* ring;
  u64 duration_ns;
  bool by_worker;
  bool no_fence;
};

struct client {
  struct drm_file file; /* as in real drivers, file->private_data points here; only fields that gpuprof reads are set */
  struct drm_sched_entity entities[FAKE_GPU_RINGS];
  u64 number;
  u32 queues;
};

struct hardware_fence {
  struct dma_fence base;
  spinlock_t lock;
};

struct late_submit {
  struct work_struct work;
  struct client* client;
  struct fake_gpu_submit submit;
  int result;
};

static struct ring rings[FAKE_GPU_RINGS];
static const char* const ring_names[FAKE_GPU_RINGS] = RING_NAMES;
static struct platform_device* device;
static atomic64_t last_client = ATOMIC64_INIT(CLIENTS_BEFORE);
static atomic_t in_flight = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(all_done);

static const char* fence_name(struct dma_fence* fence) {
  return "fake_gpu";
}

static const struct dma_fence_ops fence_ops = {
    .get_driver_name = fence_name,
    .get_timeline_name = fence_name,
};

/* The caller holds the ring's lock. A job begins when the previous one ends. */
static void start_first(struct ring* ring, u64 now) {
  struct job* job = list_first_entry_or_null(&ring->jobs, struct job, link);
  if (job) {
    ring->started_ns = now;
    hrtimer_start(&ring->timer, ns_to_ktime(job->duration_ns), HRTIMER_MODE_REL);
  }
}

static enum hrtimer_restart job_is_over(struct hrtimer* timer) {
  struct ring* ring = container_of(timer, struct ring, timer);
  struct dma_fence* fence;
  struct job* job;
  u64 now = ktime_get_ns();
  unsigned long flags;

  spin_lock_irqsave(&ring->lock, flags);
  job = list_first_entry(&ring->jobs, struct job, link);
  list_del(&job->link);
  fence = job->fence;
  if (!job->by_worker) {
    ring->busy_ns += now - ring->started_ns;
    ++ring->done;
  }
  start_first(ring, now);
  spin_unlock_irqrestore(&ring->lock, flags);

  dma_fence_signal(fence); /* the scheduler then frees the job */
  dma_fence_put(fence);
  return HRTIMER_NORESTART;
}

static struct dma_fence* run_job(struct drm_sched_job* base) {
  struct job* job = container_of(base, struct job, base);
  struct ring* ring = job->ring;
  struct hardware_fence* fence;
  unsigned long flags;

  if (job->no_fence) {
    return NULL;
  }
  fence = kzalloc(sizeof(*fence), GFP_KERNEL);
  if (!fence) {
    return ERR_PTR(-ENOMEM);
  }
  spin_lock_init(&fence->lock);
  dma_fence_init(&fence->base, &fence_ops, &fence->lock, ring->fence_context, atomic64_inc_return(&ring->fence_seqno));
  job->fence = dma_fence_get(&fence->base);

  spin_lock_irqsave(&ring->lock, flags);
  list_add_tail(&job->link, &ring->jobs);
  if (list_is_singular(&ring->jobs)) {
    start_first(ring, ktime_get_ns());
  }
  spin_unlock_irqrestore(&ring->lock, flags);
  return &fence->base;
}

static enum drm_gpu_sched_stat job_timed_out(struct drm_sched_job* base) {
  return NOTHING_HAS_HUNG;
}

static void free_job(struct drm_sched_job* base) {
  drm_sched_job_cleanup(base);
  kfree(container_of(base, struct job, base));
  if (atomic_dec_and_test(&in_flight)) {
    wake_up_all(&all_done);
  }
}

static const struct drm_sched_backend_ops scheduler_ops = {
    .run_job = run_job,
    .timedout_job = job_timed_out,
    .free_job = free_job,
};

static int queue_job(struct client* client, const struct fake_gpu_submit* submit) {
  struct job* job = kzalloc(sizeof(*job), GFP_KERNEL);
  int error;

  if (!job) {
    return -ENOMEM;
  }
  job->ring = &rings[submit->ring];
  job->duration_ns = submit->duration_ns;
  job->by_worker = submit->by_worker == 1;
  job->no_fence = submit->by_worker == FAKE_GPU_NO_FENCE;
  error = make_job(&job->base, &client->entities[submit->ring], client, client->number);
  if (error) {
    kfree(job);
    return error;
  }
  atomic_inc(&in_flight);
  drm_sched_job_arm(&job->base);
  drm_sched_entity_push_job(&job->base);
  return 0;
}

static void submit_late(struct work_struct* work) {
  struct late_submit* late = container_of(work, struct late_submit, work);
  late->result = queue_job(late->client, &late->submit);
}

static int submit_from(struct client* client, const void __user* from) {
  struct late_submit late = {.client = client};

  if (copy_from_user(&late.submit, from, sizeof(late.submit))) {
    return -EFAULT;
  }
  if (late.submit.ring >= FAKE_GPU_RINGS) {
    return -EINVAL;
  }
  if (late.submit.own) {
    struct fake_gpu_submit own = {.ring = 1 - late.submit.ring, .duration_ns = late.submit.own * 1000000ull};
    int error = queue_job(client, &own);
    if (error) {
      return error;
    }
  }
  if (late.submit.by_worker != 1) {
    return queue_job(client, &late.submit);
  }
  INIT_WORK_ONSTACK(&late.work, submit_late);
  schedule_work(&late.work);
  flush_work(&late.work);
  destroy_work_on_stack(&late.work);
  return late.result;
}

#ifdef FAKE_XE
#include "fake_xe_calls.h"
#include "fake_xe_stalls.h"
#else
static int submit_job(struct client* client, const void __user* from) {
  return submit_from(client, from);
}

static int bind_memory(struct client* client, const void __user* from) {
  return -ENOTTY;
}

static int bind_list(struct client* client, const void __user* from) {
  return -ENOTTY;
}

static int find_object(struct client* client, void __user* from) {
  return -ENOTTY;
}

static int end_object(struct client* client, const void __user* from) {
  return -ENOTTY;
}

static void end_client(struct client* client) {}

static int push_stalls(const void __user* from) {
  return -ENOTTY;
}

static int wait_idle(struct client* client) {
  return wait_event_interruptible(all_done, atomic_read(&in_flight) == 0);
}

static int start_stalls(struct device* parent) {
  return 0;
}

static void begin_client(struct client* client) {}

static int on_mmap(struct file* file, struct vm_area_struct* area) {
  return -ENODEV;
}

static int create_queue(struct client* client, void __user* from) {
  return -ENOTTY;
}
#endif

static int tell_truth(void __user* to) {
  struct fake_gpu_truth truth;
  unsigned long flags;

  if (copy_from_user(&truth, to, sizeof(truth))) {
    return -EFAULT;
  }
  if (truth.ring >= FAKE_GPU_RINGS) {
    return -EINVAL;
  }
  spin_lock_irqsave(&rings[truth.ring].lock, flags);
  truth.jobs = rings[truth.ring].done;
  truth.busy_ns = rings[truth.ring].busy_ns;
  spin_unlock_irqrestore(&rings[truth.ring].lock, flags);
  return copy_to_user(to, &truth, sizeof(truth)) ? -EFAULT : 0;
}

static long on_ioctl(struct file* file, unsigned int command, unsigned long argument) {
  switch (command) {
    case FAKE_GPU_SUBMIT:
      return submit_job(file->private_data, (const void __user*)argument);
    case FAKE_GPU_WAIT:
      return wait_idle(file->private_data);
    case FAKE_GPU_TRUTH:
      return tell_truth((void __user*)argument);
    case FAKE_GPU_CREATE_QUEUE:
      return create_queue(file->private_data, (void __user*)argument);
    case FAKE_GPU_BIND:
      return bind_memory(file->private_data, (const void __user*)argument);
    case FAKE_GPU_BINDS:
      return bind_list(file->private_data, (const void __user*)argument);
    case FAKE_GPU_STALLS:
      return push_stalls((const void __user*)argument);
    case FAKE_GPU_GONE:
      return end_object(file->private_data, (const void __user*)argument);
    case FAKE_GPU_OBJECT:
      return find_object(file->private_data, (void __user*)argument);
    default:
      return -ENOTTY;
  }
}

static int on_open(struct inode* inode, struct file* file) {
  struct client* client = kzalloc(sizeof(*client), GFP_KERNEL);
  int i;

  if (!client) {
    return -ENOMEM;
  }
  for (i = 0; i < FAKE_GPU_RINGS; ++i) {
    struct drm_gpu_scheduler* scheduler = &rings[i].scheduler;
    int error = drm_sched_entity_init(&client->entities[i], DRM_SCHED_PRIORITY_NORMAL, &scheduler, 1, NULL);
    if (error) {
      while (--i >= 0) {
        drm_sched_entity_destroy(&client->entities[i]);
      }
      kfree(client);
      return error;
    }
  }
  client->number = atomic64_inc_return(&last_client);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
  client->file.client_id = client->number;
#endif
  begin_client(client);
  file->private_data = client;
  return 0;
}

static int on_release(struct inode* inode, struct file* file) {
  struct client* client = file->private_data;
  int i;

  end_client(client);
  for (i = 0; i < FAKE_GPU_RINGS; ++i) {
    drm_sched_entity_destroy(&client->entities[i]);
  }
  wait_event(all_done, atomic_read(&in_flight) == 0);
  kfree(client);
  return 0;
}

static void show_fdinfo(struct seq_file* out, struct file* file) {
  const struct client* client = file->private_data;
  seq_printf(out, "drm-driver:\t" DRIVER "\ndrm-client-id:\t%llu\n", client->number);
}

static const struct file_operations file_ops = {
    .owner = THIS_MODULE,
    .open = on_open,
    .release = on_release,
    .unlocked_ioctl = on_ioctl,
    .mmap = on_mmap,
    .show_fdinfo = show_fdinfo,
};

static struct miscdevice node = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = NODE,
    .nodename = "dri/" NODE,
    .fops = &file_ops,
};

static struct platform_driver driver = {
    .driver = {.name = DRIVER},
};

static int start_ring(struct ring* ring, const char* name) {
  spin_lock_init(&ring->lock);
  INIT_LIST_HEAD(&ring->jobs);
  make_timer(&ring->timer, job_is_over);
  ring->fence_context = dma_fence_context_alloc(1);
  return make_scheduler(&ring->scheduler, &scheduler_ops, CREDITS, name, &device->dev);
}

static int __init fake_gpu_init(void) {
  int error = platform_driver_register(&driver);
  int i;

  if (error) {
    return error;
  }
  device = platform_device_register_simple(DRIVER, 0, NULL, 0);
  if (IS_ERR(device)) {
    platform_driver_unregister(&driver);
    return PTR_ERR(device);
  }
  for (i = 0; i < FAKE_GPU_RINGS; ++i) {
    error = start_ring(&rings[i], ring_names[i]);
    if (error) {
      return error; /* no cleanup: the virtual machine is discarded */
    }
  }
  error = start_stalls(&device->dev);
  return error ? error : misc_register(&node);
}

module_init(fake_gpu_init); /* no exit function: the virtual machine is discarded */
MODULE_DESCRIPTION("A GPU without hardware, for the tests of gpuprof");
MODULE_LICENSE("Dual MIT/GPL");

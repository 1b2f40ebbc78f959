/* The parts of i915 that gpuprof observes, without hardware: its tracepoint, the function that submits a request to the
 * hardware, and their structs. Each of the two engines holds up to two requests and runs them in order; a timer ends
 * them. Tests compare gpuprof's times with the times that this driver measures. */
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <linux/dma-fence.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <uapi/drm/i915_drm.h>

#include "fake_gpu.h"
#include "fake_kernel.h"

#define ENGINES FAKE_GPU_RINGS
#define SLOTS 2

struct drm_i915_private {
  struct drm_device drm;
};

struct intel_engine_cs {
  unsigned long reserved; /* moves the fields below, so that guessed offsets fail */
  char name[8];
  struct hrtimer timer;
  spinlock_t lock;           /* protects the members below */
  struct list_head requests; /* unfinished requests; the first ones are in the hardware */
  unsigned int submitted;
  u64 started_ns;
  u64 done;
  u64 busy_ns;
  u64 fence_context;
  u64 last_seqno;
};

struct i915_request {
  struct dma_fence fence;
  struct drm_i915_private* i915;
  struct intel_engine_cs* engine;
  struct list_head link;
  u64 duration_ns;
  bool by_worker;
  bool submitted;
};

#define CREATE_TRACE_POINTS
#include "fake_i915_trace.h"

struct late_submit {
  struct work_struct work;
  struct fake_gpu_submit submit;
  int result;
};

static struct drm_i915_private card;
static struct intel_engine_cs engines[ENGINES];
static const char* const engine_names[ENGINES] = {"rcs0", "bcs0"};
static struct platform_device* device;
static atomic_t in_flight = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(all_done);

static const char* fence_name(struct dma_fence* fence) {
  return "i915";
}

static const struct dma_fence_ops fence_ops = {
    .get_driver_name = fence_name,
    .get_timeline_name = fence_name,
};

/* As in the real driver, this function is not inlined, so that it can be probed. The caller holds the engine's lock. */
bool __i915_request_submit(struct i915_request* request);
noinline bool __i915_request_submit(struct i915_request* request) {
  request->submitted = true;
  ++request->engine->submitted;
  barrier();
  return true;
}

/* The caller holds the engine's lock. */
static void submit_more(struct intel_engine_cs* engine) {
  struct i915_request* request;

  list_for_each_entry(request, &engine->requests, link) {
    if (engine->submitted >= SLOTS) {
      return;
    }
    if (!request->submitted) {
      __i915_request_submit(request);
    }
  }
}

/* The caller holds the engine's lock. A request begins when the previous one ends. */
static void start_first(struct intel_engine_cs* engine, u64 now) {
  struct i915_request* request = list_first_entry_or_null(&engine->requests, struct i915_request, link);
  if (request) {
    engine->started_ns = now;
    hrtimer_start(&engine->timer, ns_to_ktime(request->duration_ns), HRTIMER_MODE_REL);
  }
}

static enum hrtimer_restart request_is_over(struct hrtimer* timer) {
  struct intel_engine_cs* engine = container_of(timer, struct intel_engine_cs, timer);
  struct i915_request* request;
  u64 now = ktime_get_ns();
  unsigned long flags;

  spin_lock_irqsave(&engine->lock, flags);
  request = list_first_entry(&engine->requests, struct i915_request, link);
  list_del(&request->link);
  --engine->submitted;
  if (!request->by_worker) {
    engine->busy_ns += now - engine->started_ns;
    ++engine->done;
  }
  start_first(engine, now);
  submit_more(engine);
  spin_unlock_irqrestore(&engine->lock, flags);

  dma_fence_signal(&request->fence);
  dma_fence_put(&request->fence);
  if (atomic_dec_and_test(&in_flight)) {
    wake_up_all(&all_done);
  }
  return HRTIMER_NORESTART;
}

static int add_request(const struct fake_gpu_submit* submit) {
  struct intel_engine_cs* engine = &engines[submit->ring];
  struct i915_request* request = kzalloc(sizeof(*request), GFP_KERNEL);
  unsigned long flags;

  if (!request) {
    return -ENOMEM;
  }
  request->i915 = &card;
  request->engine = engine;
  request->duration_ns = submit->duration_ns;
  request->by_worker = submit->by_worker;
  atomic_inc(&in_flight);
  spin_lock_irqsave(&engine->lock, flags);
  dma_fence_init(&request->fence, &fence_ops, &engine->lock, engine->fence_context, ++engine->last_seqno);
  spin_unlock_irqrestore(&engine->lock, flags);
  trace_i915_request_add(request);
  spin_lock_irqsave(&engine->lock, flags);
  list_add_tail(&request->link, &engine->requests);
  if (list_is_singular(&engine->requests)) {
    start_first(engine, ktime_get_ns());
  }
  submit_more(engine);
  spin_unlock_irqrestore(&engine->lock, flags);
  return 0;
}

static void submit_late(struct work_struct* work) {
  struct late_submit* late = container_of(work, struct late_submit, work);
  late->result = add_request(&late->submit);
}

/* An open file of the device. Each of its objects is at an address, and may hold a batch. */
struct client {
  struct drm_file file; /* only fields that gpuprof reads are set */
  struct drm_i915_gem_exec_object2 objects[FAKE_GPU_OBJECTS];
  u32 count;
  bool relocates;
  /* By an object's number: its GPU address and its address in the process. */
  u64 placed[FAKE_GPU_OBJECTS];
  u64 memory[FAKE_GPU_OBJECTS];
};

#define PLACED (1ull << 7) /* i915 marks an object that it placed elsewhere by such a flag in the address */

/* Places the objects of a call, and writes their addresses as the relocations say. */
static int place_objects(const struct client* client, struct drm_i915_gem_exec_object2* objects) {
  u32 i, j;

  for (i = 0; i < client->count; ++i) {
    const struct drm_i915_gem_relocation_entry __user* entries = u64_to_user_ptr(objects[i].relocs_ptr);
    objects[i].offset = client->placed[objects[i].handle] | PLACED;
    for (j = 0; j < objects[i].relocation_count; ++j) {
      struct drm_i915_gem_relocation_entry entry;
      u64 address;
      if (copy_from_user(&entry, &entries[j], sizeof(entry)) || entry.target_handle >= FAKE_GPU_OBJECTS) {
        return -EFAULT;
      }
      address = client->placed[entry.target_handle] + (int)entry.delta;
      if (copy_to_user(u64_to_user_ptr(client->memory[objects[i].handle] + entry.offset), &address, sizeof(address))) {
        return -EFAULT;
      }
    }
  }
  return 0;
}

/* This function has the name and arguments of the real one. `buffers_ptr` points to the fake driver's own data. */
int i915_gem_do_execbuffer(struct drm_device* dev, struct drm_file* file, struct drm_i915_gem_execbuffer2* args,
                           struct drm_i915_gem_exec_object2* exec);
noinline int i915_gem_do_execbuffer(struct drm_device* dev, struct drm_file* file,
                                    struct drm_i915_gem_execbuffer2* args, struct drm_i915_gem_exec_object2* exec) {
  const void __user* from = u64_to_user_ptr(args->buffers_ptr);
  struct late_submit late = {};

  if (copy_from_user(&late.submit, from, sizeof(late.submit))) {
    return -EFAULT;
  }
  if (late.submit.ring >= ENGINES) {
    return -EINVAL;
  }
  if (place_objects(container_of(file, struct client, file), exec)) {
    return -EFAULT;
  }
  if (!late.submit.by_worker) {
    return add_request(&late.submit);
  }
  INIT_WORK_ONSTACK(&late.work, submit_late);
  schedule_work(&late.work);
  flush_work(&late.work);
  destroy_work_on_stack(&late.work);
  return late.result;
}

/* Submits the batch at the given address. Ring 0 has the batch's object first in the list, other rings have it last. */
static int submit_request(struct file* file, const void __user* from) {
  struct client* client = file->private_data;
  struct fake_gpu_submit submit;
  struct drm_i915_gem_execbuffer2 args = {.buffers_ptr = (u64)from, .buffer_count = client->count};
  struct drm_i915_gem_exec_object2* objects = client->objects;
  u32 i;

  if (copy_from_user(&submit, from, sizeof(submit))) {
    return -EFAULT;
  }
  for (i = 0; i < client->count; ++i) {
    if ((submit.batch & ~0xffffull) == client->placed[objects[i].handle]) {
      swap(objects[i], objects[submit.ring == 0 ? 0 : client->count - 1]);
      break;
    }
  }
  for (i = 0; i < client->count; ++i) {
    objects[i].offset = client->relocates ? 0 : client->placed[objects[i].handle];
  }
  args.flags = submit.ring == 0 ? I915_EXEC_BATCH_FIRST : 0;
  args.batch_start_offset = submit.batch & 0xffff;
  i915_execbuffer2_set_context_id(args, submit.queue);
  return i915_gem_do_execbuffer(&card.drm, &client->file, &args, objects);
}

/* Functions marked REAL have the names and arguments of i915's functions. */
#define REAL __attribute__((noipa))
int i915_gem_context_create_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
REAL int i915_gem_context_create_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  return data ? 0 : -EINVAL;
}
int i915_gem_context_setparam_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
REAL int i915_gem_context_setparam_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  return data ? 0 : -EINVAL;
}
int i915_gem_mmap_offset_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
REAL int i915_gem_mmap_offset_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  struct drm_i915_gem_mmap_offset* found = data;
  found->offset = (u64)found->handle << 32;
  return 0;
}
int i915_gem_mmap_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
REAL int i915_gem_mmap_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  return data ? 0 : -EINVAL;
}
int i915_gem_userptr_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
REAL int i915_gem_userptr_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  return data ? 0 : -EINVAL;
}
void i915_driver_postclose(struct drm_device* dev, struct drm_file* file);
REAL void i915_driver_postclose(struct drm_device* dev, struct drm_file* file) {
  barrier();
}

int i915_gem_mmap(struct file* file, struct vm_area_struct* area);
REAL int i915_gem_mmap(struct file* file, struct vm_area_struct* area) {
  void* memory = vmalloc_user(area->vm_end - area->vm_start); /* never freed: the virtual machine is discarded */
  area->vm_pgoff = 0;
  return memory ? remap_vmalloc_range(area, memory, 0) : -ENOMEM;
}

static int on_mmap(struct file* file, struct vm_area_struct* area) {
  return i915_gem_mmap(file, area);
}

/* Adds an object at an address. Its memory is that of the process, or missing. If the object's number is odd, the
 * driver maps it. */
static int bind_memory(struct client* client, const void __user* from) {
  struct fake_gpu_bind wanted;
  struct drm_i915_gem_exec_object2* object;

  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  if (client->count >= FAKE_GPU_OBJECTS || wanted.object >= FAKE_GPU_OBJECTS) {
    return -ENOSPC;
  }
  object = &client->objects[client->count++];
  object->handle = wanted.object;
  client->placed[wanted.object] = wanted.address;
  client->memory[wanted.object] = wanted.memory;
  if (wanted.memory && wanted.object % 2) {
    struct drm_i915_gem_mmap made = {.handle = wanted.object, .size = wanted.bytes, .addr_ptr = wanted.memory};
    return i915_gem_mmap_ioctl(&card.drm, &made, &client->file);
  }
  if (wanted.memory) {
    struct drm_i915_gem_userptr made = {.user_ptr = wanted.memory, .user_size = wanted.bytes, .handle = wanted.object};
    return i915_gem_userptr_ioctl(&card.drm, &made, &client->file);
  }
  return 0;
}

static int set_relocations(struct client* client, const void __user* from) {
  struct fake_gpu_relocations wanted;
  u32 i;

  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  for (i = 0; i < client->count; ++i) {
    if (client->objects[i].handle == wanted.object) {
      client->objects[i].relocation_count = wanted.count;
      client->objects[i].relocs_ptr = wanted.entries;
      client->relocates = wanted.count != 0;
    }
  }
  return 0;
}

static int find_object(struct client* client, void __user* from) {
  struct fake_gpu_object wanted;
  struct drm_i915_gem_mmap_offset found = {};
  int error;

  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  found.handle = wanted.object;
  error = i915_gem_mmap_offset_ioctl(&card.drm, &found, &client->file);
  wanted.offset = found.offset;
  return error ? error : copy_to_user(from, &wanted, sizeof(wanted)) ? -EFAULT : 0;
}

/* Gives a VM to a context, when the context is created or later. */
static int set_vm(struct client* client, const void __user* from) {
  struct fake_gpu_context wanted;

  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  if (wanted.extensions) {
    struct drm_i915_gem_context_create_ext made = {
        .ctx_id = wanted.context, .flags = I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS, .extensions = wanted.extensions};
    return i915_gem_context_create_ioctl(&card.drm, &made, &client->file);
  } else {
    struct drm_i915_gem_context_param set = {
        .ctx_id = wanted.context, .param = I915_CONTEXT_PARAM_VM, .value = wanted.vm};
    return i915_gem_context_setparam_ioctl(&card.drm, &set, &client->file);
  }
}

static int on_open(struct inode* inode, struct file* file) {
  file->private_data = kzalloc(sizeof(struct client), GFP_KERNEL);
  return file->private_data ? 0 : -ENOMEM;
}

static int on_release(struct inode* inode, struct file* file) {
  struct client* client = file->private_data;
  i915_driver_postclose(&card.drm, &client->file);
  kfree(file->private_data);
  return 0;
}

static int tell_truth(void __user* to) {
  struct fake_gpu_truth truth;
  unsigned long flags;

  if (copy_from_user(&truth, to, sizeof(truth))) {
    return -EFAULT;
  }
  if (truth.ring >= ENGINES) {
    return -EINVAL;
  }
  spin_lock_irqsave(&engines[truth.ring].lock, flags);
  truth.jobs = engines[truth.ring].done;
  truth.busy_ns = engines[truth.ring].busy_ns;
  spin_unlock_irqrestore(&engines[truth.ring].lock, flags);
  return copy_to_user(to, &truth, sizeof(truth)) ? -EFAULT : 0;
}

static long on_ioctl(struct file* file, unsigned int command, unsigned long argument) {
  switch (command) {
    case FAKE_GPU_SUBMIT:
      return submit_request(file, (const void __user*)argument);
    case FAKE_GPU_WAIT:
      return wait_event_interruptible(all_done, atomic_read(&in_flight) == 0);
    case FAKE_GPU_TRUTH:
      return tell_truth((void __user*)argument);
    case FAKE_GPU_BIND:
      return bind_memory(file->private_data, (const void __user*)argument);
    case FAKE_GPU_RELOCATE:
      return set_relocations(file->private_data, (const void __user*)argument);
    case FAKE_GPU_OBJECT:
      return find_object(file->private_data, (void __user*)argument);
    case FAKE_GPU_CONTEXT:
      return set_vm(file->private_data, (const void __user*)argument);
    default:
      return -ENOTTY;
  }
}

static const struct file_operations file_ops = {
    .owner = THIS_MODULE,
    .open = on_open,
    .release = on_release,
    .unlocked_ioctl = on_ioctl,
    .mmap = on_mmap,
};

static struct miscdevice node = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "fake_i915",
    .fops = &file_ops,
};

static struct platform_driver driver = {
    .driver = {.name = "i915"},
};

static int __init fake_i915_init(void) {
  int error = platform_driver_register(&driver);
  int i;

  if (error) {
    return error;
  }
  device = platform_device_register_simple("i915", 0, NULL, 0);
  if (IS_ERR(device)) {
    platform_driver_unregister(&driver);
    return PTR_ERR(device);
  }
  card.drm.dev = &device->dev;
  for (i = 0; i < ENGINES; ++i) {
    strscpy(engines[i].name, engine_names[i], sizeof(engines[i].name));
    spin_lock_init(&engines[i].lock);
    INIT_LIST_HEAD(&engines[i].requests);
    make_timer(&engines[i].timer, request_is_over);
    engines[i].fence_context = dma_fence_context_alloc(1);
  }
  return misc_register(&node);
}

module_init(fake_i915_init); /* no exit function: the virtual machine is discarded */
MODULE_DESCRIPTION("i915 without hardware, for the tests of gpuprof");
MODULE_LICENSE("Dual MIT/GPL");

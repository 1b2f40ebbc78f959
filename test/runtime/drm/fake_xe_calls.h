/* The functions of xe that gpuprof probes: exec queues, VMs, binds, objects. They do only what the fake GPU needs.
 * Included by fake_gpu.c. */
/* noipa: the compiler must pass even arguments that the function does not read, because gpuprof's probes read them. */
#define TAKES_ALL __attribute__((noipa))

/* Functions with TAKES_ALL have names and arguments of xe. `syncs` points to the fake driver's own data. */
int xe_exec_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
TAKES_ALL int xe_exec_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  const struct drm_xe_exec* exec = data;
  return submit_from(container_of(file, struct client, file), u64_to_user_ptr(exec->syncs));
}

int xe_exec_queue_create_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
TAKES_ALL int xe_exec_queue_create_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  struct drm_xe_exec_queue_create* create = data;
  create->exec_queue_id = ++container_of(file, struct client, file)->queues;
  return create->vm_id != 0 ? 0 : -EINVAL;
}

int xe_vm_bind_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
TAKES_ALL int xe_vm_bind_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  const struct drm_xe_vm_bind* bind = data;
  return bind->vm_id != 0 ? 0 : -EINVAL;
}

int xe_vm_destroy_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
TAKES_ALL int xe_vm_destroy_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  const struct drm_xe_vm_destroy* gone = data;
  return gone->vm_id != 0 ? 0 : -EINVAL;
}

int xe_exec_queue_destroy_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
TAKES_ALL int xe_exec_queue_destroy_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  const struct drm_xe_exec_queue_destroy* gone = data;
  return gone->pad == 0 ? 0 : -EINVAL;
}

void xe_file_close(struct drm_device* dev, struct drm_file* file);
TAKES_ALL void xe_file_close(struct drm_device* dev, struct drm_file* file) {
  barrier();
}

int xe_gem_mmap_offset_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
TAKES_ALL int xe_gem_mmap_offset_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  struct drm_xe_gem_mmap_offset* found = data;
  found->offset = (u64)found->handle << 32;
  return found->handle != 0 ? 0 : -EINVAL;
}

int xe_wait_user_fence_ioctl(struct drm_device* dev, void* data, struct drm_file* file);
TAKES_ALL int xe_wait_user_fence_ioctl(struct drm_device* dev, void* data, struct drm_file* file) {
  return wait_event_interruptible(all_done, atomic_read(&in_flight) == 0);
}

static int bind_memory(struct client* client, const void __user* from) {
  struct fake_gpu_bind wanted;
  struct drm_xe_vm_bind bind = {.num_binds = 1};

  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  bind.vm_id = wanted.vm;
  bind.bind.op = wanted.object   ? wanted.bytes ? DRM_XE_VM_BIND_OP_MAP : DRM_XE_VM_BIND_OP_UNMAP_ALL
                 : wanted.memory ? DRM_XE_VM_BIND_OP_MAP_USERPTR
                                 : DRM_XE_VM_BIND_OP_UNMAP;
  bind.bind.obj = wanted.object;
  bind.bind.addr = wanted.address;
  bind.bind.range = wanted.bytes;
  bind.bind.userptr = wanted.memory;
  return xe_vm_bind_ioctl(NULL, &bind, &client->file);
}

static int bind_list(struct client* client, const void __user* from) {
  struct fake_gpu_binds wanted;
  struct drm_xe_vm_bind bind = {};

  BUILD_BUG_ON(sizeof(struct fake_gpu_bind_op) != sizeof(struct drm_xe_vm_bind_op));
  BUILD_BUG_ON(offsetof(struct fake_gpu_bind_op, memory) != offsetof(struct drm_xe_vm_bind_op, userptr));
  BUILD_BUG_ON(offsetof(struct fake_gpu_bind_op, address) != offsetof(struct drm_xe_vm_bind_op, addr));
  BUILD_BUG_ON(offsetof(struct fake_gpu_bind_op, flags) != offsetof(struct drm_xe_vm_bind_op, flags));
  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  bind.vm_id = wanted.vm;
  bind.num_binds = wanted.count;
  if (wanted.count == 1) {
    if (copy_from_user(&bind.bind, u64_to_user_ptr(wanted.ops), sizeof(bind.bind))) {
      return -EFAULT;
    }
  } else {
    bind.vector_of_binds = wanted.ops;
  }
  return xe_vm_bind_ioctl(NULL, &bind, &client->file);
}

/* Destroys a VM or an exec queue, or deletes an object's handle as real drivers do. The deletion fails, because the DRM
 * core has no such object. */
static int end_object(struct client* client, const void __user* from) {
  struct fake_gpu_gone gone;
  struct drm_xe_vm_destroy vm = {};
  struct drm_xe_exec_queue_destroy queue = {};

  if (copy_from_user(&gone, from, sizeof(gone))) {
    return -EFAULT;
  }
  if (gone.object) {
    return drm_gem_handle_delete(&client->file, gone.object) == -EINVAL ? 0 : -EFAULT;
  }
  if (gone.queue) {
    queue.exec_queue_id = gone.queue;
    return xe_exec_queue_destroy_ioctl(NULL, &queue, &client->file);
  }
  vm.vm_id = gone.vm;
  return xe_vm_destroy_ioctl(NULL, &vm, &client->file);
}

static void end_client(struct client* client) {
  xe_file_close(NULL, &client->file);
}

static int find_object(struct client* client, void __user* from) {
  struct fake_gpu_object wanted;
  struct drm_xe_gem_mmap_offset found = {};
  int error;

  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  found.handle = wanted.object;
  error = xe_gem_mmap_offset_ioctl(NULL, &found, &client->file);
  wanted.offset = found.offset;
  return error ? error : copy_to_user(from, &wanted, sizeof(wanted)) ? -EFAULT : 0;
}

static int submit_job(struct client* client, const void __user* from) {
  struct fake_gpu_submit submit;
  struct drm_xe_exec exec = {.syncs = (u64)from, .num_batch_buffer = 1};

  if (copy_from_user(&submit, from, sizeof(submit))) {
    return -EFAULT;
  }
  exec.address = submit.batch;
  exec.exec_queue_id = submit.queue;
  return xe_exec_ioctl(NULL, &exec, &client->file);
}

static int create_queue(struct client* client, void __user* from) {
  struct fake_gpu_create_queue wanted;
  struct drm_xe_exec_queue_create create = {};
  int error;

  if (copy_from_user(&wanted, from, sizeof(wanted))) {
    return -EFAULT;
  }
  create.vm_id = wanted.vm;
  create.instances = (u64)from + offsetof(struct fake_gpu_create_queue, queue) + 2;
  error = xe_exec_queue_create_ioctl(NULL, &create, &client->file);
  wanted.queue = create.exec_queue_id;
  return error ? error : copy_to_user(from, &wanted, sizeof(wanted)) ? -EFAULT : 0;
}
static int wait_idle(struct client* client) {
  return xe_wait_user_fence_ioctl(NULL, NULL, &client->file);
}

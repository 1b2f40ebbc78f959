/* EU stall sampling of xe without hardware: a render node that answers its queries, and streams of the samples that a
 * program has pushed. The interface is that of Linux 6.15, which headers of older kernels lack. */
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <linux/anon_inodes.h>
#include <linux/vmalloc.h>

#define QUERY_EU_STALL 10
#define TYPE_EU_STALL 1
#define PROPERTY_GT 1
#define PROPERTY_RATE 2
#define RECORD_BYTES 64
#define STREAM_BYTES (1 << 16)

struct eu_stall_answer {
  u64 extensions;
  u64 capabilities;
  u64 record_bytes;
  u64 buffer_bytes;
  u64 reserved[5];
  u64 rates;
  u64 rate[7];
};

struct gt_answer {
  struct drm_xe_query_gt_list head;
  struct drm_xe_gt gt[FAKE_GPU_GTS + 1];
};

struct stall_stream {
  spinlock_t lock;
  bool is_open;
  bool enabled;
  bool dropped;
  bool reset;
  size_t bytes;
  u8 records[STREAM_BYTES];
};

static struct stall_stream stall_streams[FAKE_GPU_GTS];
static struct drm_device* render;
static bool paranoid;
module_param(paranoid, bool, 0644); /* if set, sampling is denied */

static ssize_t read_stalls(struct file* file, char __user* to, size_t size, loff_t* offset) {
  struct stall_stream* stream = file->private_data;
  u8* records;
  size_t bytes;
  ssize_t result = -EAGAIN;

  if (size < RECORD_BYTES || !stream->enabled) {
    return -EINVAL;
  }
  records = kmalloc(STREAM_BYTES, GFP_KERNEL);
  if (!records) {
    return -ENOMEM;
  }
  spin_lock(&stream->lock);
  bytes = min(rounddown(size, RECORD_BYTES), stream->bytes);
  if (stream->dropped) { /* the loss is reported before the next records */
    stream->dropped = false;
    result = -EIO;
  } else if (bytes) {
    memcpy(records, stream->records, bytes);
    memmove(stream->records, stream->records + bytes, stream->bytes - bytes);
    stream->bytes -= bytes;
    result = bytes;
  } else if (stream->reset) {
    result = -ENODEV;
  }
  spin_unlock(&stream->lock);
  if (result > 0 && copy_to_user(to, records, bytes)) {
    result = -EFAULT;
  }
  kfree(records);
  return result;
}

static long control_stalls(struct file* file, unsigned int command, unsigned long argument) {
  struct stall_stream* stream = file->private_data;
  if (command != DRM_XE_OBSERVATION_IOCTL_ENABLE) {
    return -EINVAL;
  }
  stream->enabled = true;
  return 0;
}

static int close_stalls(struct inode* inode, struct file* file) {
  struct stall_stream* stream = file->private_data;
  spin_lock(&stream->lock);
  stream->is_open = stream->enabled = stream->reset = stream->dropped = false;
  stream->bytes = 0;
  spin_unlock(&stream->lock);
  return 0;
}

static const struct file_operations stall_ops = {
    .owner = THIS_MODULE,
    .read = read_stalls,
    .unlocked_ioctl = control_stalls,
    .release = close_stalls,
};

/* `properties` is the address of a list in the caller's memory. */
static int open_stalls(u64 properties) {
  u64 gt = FAKE_GPU_GTS;
  u64 rate = 0;
  int i;
  int fd;

  for (i = 0; i < 8 && properties; ++i) {
    struct drm_xe_ext_set_property property;
    if (copy_from_user(&property, u64_to_user_ptr(properties), sizeof(property))) {
      return -EFAULT;
    }
    if (property.property == PROPERTY_GT) {
      gt = property.value;
    } else if (property.property == PROPERTY_RATE) {
      rate = property.value;
    }
    properties = property.base.next_extension;
  }
  if (gt >= FAKE_GPU_GTS || rate == 0 || rate % 251 != 0 || rate / 251 > 7) {
    return -EINVAL;
  }
  if (paranoid) {
    return -EACCES;
  }
  if (stall_streams[gt].is_open) {
    return -EBUSY;
  }
  fd = anon_inode_getfd("[xe_eu_stall]", &stall_ops, &stall_streams[gt], O_CLOEXEC);
  stall_streams[gt].is_open = fd >= 0;
  return fd;
}

static int on_observation(struct drm_device* dev, void* data, struct drm_file* file) {
  const struct drm_xe_observation_param* wanted = data;
  return wanted->observation_type == TYPE_EU_STALL && wanted->observation_op == DRM_XE_OBSERVATION_OP_STREAM_OPEN
             ? open_stalls(wanted->param)
             : -EINVAL;
}

static int answer(struct drm_xe_device_query* query, const void* from, size_t bytes) {
  if (query->size == 0) {
    query->size = bytes;
    return 0;
  }
  return query->size != bytes ? -EINVAL : copy_to_user(u64_to_user_ptr(query->data), from, bytes) ? -EFAULT : 0;
}

/* Answers the queries of a GPU with two GTs of Xe2, and one GT for media. */
static int on_query(struct drm_device* dev, void* data, struct drm_file* file) {
  struct drm_xe_device_query* query = data;
  struct eu_stall_answer stalls = {
      .capabilities = 1, .record_bytes = RECORD_BYTES, .buffer_bytes = 512 << 10, .rates = 7};
  struct gt_answer gts = {.head.num_gt = FAKE_GPU_GTS + 1};
  int i;

  for (i = 0; i < 7; ++i) {
    stalls.rate[i] = 251 * (i + 1);
  }
  for (i = 0; i <= FAKE_GPU_GTS; ++i) {
    gts.gt[i].type = i < FAKE_GPU_GTS ? DRM_XE_QUERY_GT_TYPE_MAIN : DRM_XE_QUERY_GT_TYPE_MEDIA;
    gts.gt[i].gt_id = i;
    gts.gt[i].ip_ver_major = 20;
  }
  switch (query->query) {
    case DRM_XE_DEVICE_QUERY_GT_LIST:
      return answer(query, &gts, sizeof(gts));
    case QUERY_EU_STALL:
      return answer(query, &stalls, sizeof(stalls));
    default:
      return -EINVAL;
  }
}

static int push_stalls(const void __user* from) {
  struct fake_gpu_stalls pushed;
  struct stall_stream* stream;
  int error = 0;
  u32 i;

  if (copy_from_user(&pushed, from, sizeof(pushed))) {
    return -EFAULT;
  }
  if (pushed.gt >= FAKE_GPU_GTS) {
    return -EINVAL;
  }
  stream = &stall_streams[pushed.gt];
  spin_lock(&stream->lock);
  if (!stream->enabled) {
    error = -ENOLINK; /* no stream is open */
  } else if (pushed.what == FAKE_GPU_DROP) {
    stream->dropped = true;
  } else if (pushed.what == FAKE_GPU_RESET) {
    stream->reset = true;
  }
  for (i = 0; !error && pushed.what == FAKE_GPU_RECORDS && i < pushed.times; ++i) {
    if (stream->bytes + RECORD_BYTES > STREAM_BYTES) {
      error = -ENOSPC;
      break;
    }
    memcpy(stream->records + stream->bytes, pushed.record, RECORD_BYTES);
    stream->bytes += RECORD_BYTES;
  }
  spin_unlock(&stream->lock);
  return error;
}

static const struct drm_ioctl_desc stall_ioctls[] = {
    DRM_IOCTL_DEF_DRV(XE_DEVICE_QUERY, on_query, DRM_RENDER_ALLOW),
    DRM_IOCTL_DEF_DRV(XE_OBSERVATION, on_observation, DRM_RENDER_ALLOW),
};

DEFINE_DRM_GEM_FOPS(render_ops);

static const struct drm_driver render_driver = {
    .driver_features = DRIVER_GEM | DRIVER_RENDER,
    .fops = &render_ops,
    .ioctls = stall_ioctls,
    .num_ioctls = ARRAY_SIZE(stall_ioctls),
    .name = "xe",
    .desc = "stalls without hardware",
    .major = 1,
};

/* Calls drm_gem_mmap() first, as real drivers do. That call fails, because the DRM core has no such object. */
static int on_mmap(struct file* file, struct vm_area_struct* area) {
  size_t bytes = area->vm_end - area->vm_start;
  void* memory;

  if (drm_gem_mmap(file, area) == 0) {
    return -EINVAL;
  }
  area->vm_pgoff = 0;
  memory = vmalloc_user(bytes); /* never freed: the virtual machine is discarded */
  return memory ? remap_vmalloc_range(area, memory, 0) : -ENOMEM;
}

static void begin_client(struct client* client) {
  client->file.minor = render->render;
  idr_init(&client->file.object_idr);
  spin_lock_init(&client->file.table_lock);
}

static int start_stalls(struct device* parent) {
  int i;

  render = drm_dev_alloc(&render_driver, parent);
  if (IS_ERR(render)) {
    return PTR_ERR(render);
  }
  for (i = 0; i < FAKE_GPU_GTS; ++i) {
    spin_lock_init(&stall_streams[i].lock);
  }
  return drm_dev_register(render, 0);
}

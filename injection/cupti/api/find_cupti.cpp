#include "cupti/api/find_cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "wire/wire.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr int kMajors[] = {13, 12};
constexpr size_t kMaxFolders = 64;

// Relative paths to CUPTI from a folder with CUDA libraries. Each way of packaging CUDA has its own path.
constexpr const char* kSiblings[] = {"",
                                     "/../../cuda_cupti/lib",
                                     "/../../cu13/lib",
                                     "/../../nvidia/cuda_cupti/lib",
                                     "/../../nvidia/cu13/lib",
                                     "/../extras/CUPTI/lib64",
                                     "/../../../extras/CUPTI/lib64"};
constexpr const char* kInToolkit[] = {"/lib64",
                                      "/lib",
                                      "/extras/CUPTI/lib64",
                                      "/targets/x86_64-linux/lib",
                                      "/targets/sbsa-linux/lib",
                                      "/targets/aarch64-linux/lib"};
constexpr const char* kToolkits[] = {"/usr/local/cuda", "/usr/local/cuda-[0-9]*", "/opt/cuda", "/opt/nvidia/cuda",
                                     "/opt/nvidia/hpc_sdk/Linux_*/*/cuda/*"};
constexpr const char* kPythonPrefixes[] = {"/usr/local", "/usr", "/opt/*", "/root/.local", "/opt/conda/envs/*"};

// If one of these libraries is mapped, its folder or its site-packages folder may contain the matching libcupti.
constexpr const char* kCudaLibraries[] = {"libcudart",     "libcublas",   "libnvrtc", "libcudnn",
                                          "libtorch_cuda", "libc10_cuda", "libcufft", "libnccl"};

struct Mapped {
  char cupti[PATH_MAX];
  int runtime_major;  // major version of the mapped libcudart; 0 if no libcudart is mapped
  size_t folders;
  char folder[kMaxFolders][PATH_MAX];
};

bool starts_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

int major_of(const char* file) {
  const char* version = strstr(file, ".so.");
  return version == nullptr ? 0 : atoi(version + 4);
}

void add_folder(Mapped* mapped, const char* path, size_t length) {
  if (mapped->folders == kMaxFolders || length >= PATH_MAX) {
    return;
  }
  char* folder = mapped->folder[mapped->folders];
  memcpy(folder, path, length);
  folder[length] = '\0';
  for (size_t i = 0; i < mapped->folders; ++i) {
    if (strcmp(mapped->folder[i], folder) == 0) {
      return;
    }
  }
  ++mapped->folders;
}

// If `path` lies anywhere below a site-packages folder, adds the folders of NVIDIA's packages there.
void add_packages(Mapped* mapped, const char* path) {
  for (const char* name : {"/site-packages/", "/dist-packages/"}) {
    const char* found = strstr(path, name);
    if (found == nullptr) {
      continue;
    }
    char folder[PATH_MAX];
    const int prefix = static_cast<int>(found - path + static_cast<ptrdiff_t>(strlen(name)));
    for (const char* package : {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"}) {
      const int length = snprintf(folder, sizeof(folder), "%.*s%s", prefix, path, package);
      if (length > 0 && length < static_cast<int>(sizeof(folder)) && access(folder, R_OK) == 0) {
        add_folder(mapped, folder, static_cast<size_t>(length));
      }
    }
  }
}

int collect_mapped(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* mapped = static_cast<Mapped*>(data);
  const char* path = info->dlpi_name;
  if (path == nullptr || path[0] != '/' || strlen(path) >= PATH_MAX) {
    return 0;
  }
  const char* file = strrchr(path, '/') + 1;
  if (starts_with(file, "libcupti.so")) {
    strcpy(mapped->cupti, path);
    return 0;
  }
  if (starts_with(file, "libcudart.so.")) {
    mapped->runtime_major = major_of(file);
  }
  for (const char* name : kCudaLibraries) {
    if (starts_with(file, name)) {
      add_folder(mapped, path, static_cast<size_t>(file - path - 1));
      break;
    }
  }
  add_packages(mapped, path);
  return 0;
}

bool open_library(Library* library, const char* path, int flags) {
  library->handle = dlopen(path, flags);
  if (library->handle == nullptr) {
    return false;
  }
  snprintf(library->path, sizeof(library->path), "%s", path);
  if (link_map* map = nullptr;
      dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr && map->l_name[0] != '\0') {
    snprintf(library->path, sizeof(library->path), "%s", map->l_name);
  }
  return true;
}

bool open_in_folder(Library* library, const char* folder, int major) {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof(path), "%s/libcupti.so.%d", folder, major);
  return length > 0 && length < static_cast<int>(sizeof(path)) && access(path, R_OK) == 0 &&
         open_library(library, path, RTLD_NOW | RTLD_LOCAL);
}

bool open_by_pattern(Library* library, const char* pattern, const char* below, int major) {
  char full[PATH_MAX];
  const int length = snprintf(full, sizeof(full), "%s%s", pattern, below);
  if (length <= 0 || length >= static_cast<int>(sizeof(full))) {
    return false;
  }
  glob_t found = {};
  bool opened = false;
  if (glob(full, 0, nullptr, &found) == 0) {
    // Starts with the newest version, because glob sorts by name.
    for (size_t i = found.gl_pathc; i > 0 && !opened; --i) {
      opened = open_in_folder(library, found.gl_pathv[i - 1], major);
    }
  }
  globfree(&found);
  return opened;
}

bool open_from_variable(Library* library, const char* list, const int* majors, size_t count) {
  char item[PATH_MAX];
  while (list != nullptr && *list != '\0') {
    const size_t length = strcspn(list, ":");
    if (length > 0 && length < sizeof(item)) {
      memcpy(item, list, length);
      item[length] = '\0';
      for (size_t i = 0; i < count; ++i) {
        if (open_in_folder(library, item, majors[i])) {
          return true;
        }
      }
      if (strstr(item, ".so") != nullptr && open_library(library, item, RTLD_NOW | RTLD_LOCAL)) {
        return true;
      }
    }
    list += length + (list[length] == ':' ? 1 : 0);
  }
  return false;
}

bool open_near_mapped(Library* library, const Mapped& mapped, int major) {
  char folder[PATH_MAX];
  for (size_t i = 0; i < mapped.folders; ++i) {
    for (const char* sibling : kSiblings) {
      const int length = snprintf(folder, sizeof(folder), "%s%s", mapped.folder[i], sibling);
      if (length > 0 && length < static_cast<int>(sizeof(folder)) && open_in_folder(library, folder, major)) {
        return true;
      }
    }
  }
  return false;
}

bool open_in_toolkits(Library* library, int major) {
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"}) {
    const char* root = secure_getenv(variable);
    for (const char* below : kInToolkit) {
      if (root != nullptr && open_by_pattern(library, root, below, major)) {
        return true;
      }
    }
  }
  for (const char* root : kToolkits) {
    for (const char* below : kInToolkit) {
      if (open_by_pattern(library, root, below, major)) {
        return true;
      }
    }
  }
  return false;
}

bool open_in_python(Library* library, int major) {
  const char* packages[] = {
      "/lib/python3*/site-packages/nvidia/cu13/lib", "/lib/python3*/dist-packages/nvidia/cu13/lib",
      "/lib/python3*/site-packages/nvidia/cuda_cupti/lib", "/lib/python3*/dist-packages/nvidia/cuda_cupti/lib", "/lib"};
  for (const char* package : packages) {
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      const char* root = secure_getenv(variable);
      if (root != nullptr && open_by_pattern(library, root, package, major)) {
        return true;
      }
    }
    for (const char* root : kPythonPrefixes) {
      if (open_by_pattern(library, root, package, major)) {
        return true;
      }
    }
  }
  return false;
}

// Chooses CUDA major versions to try, best first: the mapped runtime's, then the newest that the driver supports.
size_t choose_majors(const Mapped& mapped, int driver_version, int* majors) {
  size_t count = 0;
  const int driver_major = driver_version / 1000;
  for (const int major : kMajors) {
    if (major == mapped.runtime_major) {
      majors[count++] = major;
    }
  }
  for (const int major : kMajors) {
    if (major != mapped.runtime_major && (driver_major == 0 || major <= driver_major)) {
      majors[count++] = major;
    }
  }
  return count;
}

bool search(Library* library, const Mapped& mapped, int driver_version) {
  int majors[sizeof(kMajors) / sizeof(kMajors[0])] = {};
  const size_t count = choose_majors(mapped, driver_version, majors);
  if (mapped.cupti[0] != '\0' && open_library(library, mapped.cupti, RTLD_NOW | RTLD_NOLOAD)) {
    return true;
  }
  if (open_from_variable(library, secure_getenv(GPUPROF_ENV_CUPTI_PATH), majors, count)) {
    return true;
  }
  for (size_t i = 0; i < count; ++i) {
    char soname[32];
    snprintf(soname, sizeof(soname), "libcupti.so.%d", majors[i]);
    if (open_near_mapped(library, mapped, majors[i]) || open_library(library, soname, RTLD_NOW | RTLD_LOCAL) ||
        open_in_toolkits(library, majors[i]) || open_in_python(library, majors[i])) {
      return true;
    }
  }
  return false;
}

}  // namespace

Library find_cupti(int driver_version) {
  Library library;
  // Allocated, because it is too large for the stack of a thread of the target.
  auto* mapped = static_cast<Mapped*>(calloc(1, sizeof(Mapped)));
  if (mapped == nullptr) {
    return library;
  }
  dl_iterate_phdr(collect_mapped, mapped);
  if (!search(&library, *mapped, driver_version)) {
    library.handle = nullptr;
  }
  free(mapped);
  return library;
}

}  // namespace gpuprof::injection::cupti

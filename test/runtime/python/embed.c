/* Loads Python as a private library and starts it twice. Walks before, during, between and after the two runs:
 *   embed LIBPYTHON PROBE
 * Prints "== <name>" and the walk's text (probe.cpp) for each. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Object Object;
typedef Object* (*Function)(Object*, Object*);

/* The layout of PyMethodDef, unchanged since Python 2. */
struct Method {
  const char* name;
  Function function;
  int flags;
  const char* doc;
};

static void* python;
static int (*probe_walk)(const char*, int);
static const char* (*probe_text)(const char*);
static void* (*save_thread)(void);
static void (*restore_thread)(void*);
static Object* (*make_number)(long);

static void* find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "embed: no %s\n", name);
    exit(1);
  }
  return found;
}

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "embed: %s\n", dlerror());
    exit(1);
  }
  return library;
}

static void walk(const char* name) {
  probe_walk(name, 0);
  printf("== %s\n%s", name, probe_text(name));
}

static Object* walk_released(Object* self, Object* arguments) {
  (void)self;
  (void)arguments;
  void* thread = save_thread();
  walk("released");
  restore_thread(thread);
  return make_number(0);
}

static Object* walk_held(Object* self, Object* arguments) {
  (void)self;
  (void)arguments;
  walk("held");
  return make_number(0);
}

static struct Method methods[] = {{"walk_released", walk_released, 4 /* METH_NOARGS */, NULL},
                                  {"walk_held", walk_held, 4, NULL}};

static void run_python(void) {
  void (*initialize)(int) = find(python, "Py_InitializeEx");
  int (*finalize)(void) = find(python, "Py_FinalizeEx");
  Object* (*add_module)(const char*) = find(python, "PyImport_AddModule");
  Object* (*make_function)(struct Method*, Object*, Object*) = find(python, "PyCFunction_NewEx");
  int (*set_attribute)(Object*, const char*, Object*) = find(python, "PyObject_SetAttrString");
  int (*run)(const char*, void*) = find(python, "PyRun_SimpleStringFlags");
  initialize(0);
  for (int i = 0; i < 2; ++i) {
    set_attribute(add_module("__main__"), methods[i].name, make_function(&methods[i], NULL, NULL));
  }
  if (run("def inner():\n  walk_released()\n  walk_held()\n\ndef outer():\n  sorted([1], key=lambda _: "
          "inner())\nouter()\n",
          NULL) != 0) {
    exit(1);
  }
  walk("beside");
  finalize();
}

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  void* probe = open_library(argv[2]);
  probe_walk = (int (*)(const char*, int))find(probe, "probe_walk");
  probe_text = (const char* (*)(const char*))find(probe, "probe_text");
  walk("without");
  python = open_library(argv[1]);
  save_thread = (void* (*)(void))find(python, "PyEval_SaveThread");
  restore_thread = (void (*)(void*))find(python, "PyEval_RestoreThread");
  make_number = (Object * (*)(long)) find(python, "PyLong_FromLong");
  walk("loaded");
  run_python();
  walk("between");
  run_python();
  dlclose(python);
  walk("after");
  return 0;
}

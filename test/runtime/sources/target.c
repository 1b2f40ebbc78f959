/* The process that the scripted sources report: writes its pid and the addresses of its functions, then waits.
 * usage: sources_target FOLDER FILE      waits until FOLDER/FILE exists */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void submit_step(void) {
  __asm__ volatile("nop; nop; nop; nop; nop");
}
__attribute__((noinline)) void copy_back(void) {
  __asm__ volatile("nop; nop; nop; nop; nop; nop");
}
__attribute__((noinline)) void evaluate(void) {
  __asm__ volatile("nop; nop; nop; nop; nop; nop; nop");
}
__attribute__((noinline)) void run_model(void) {
  __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

static int say_ready(const char* folder) {
  char made[4096];
  char name[4096];
  snprintf(made, sizeof made, "%s/ready.new", folder);
  snprintf(name, sizeof name, "%s/ready", folder);
  FILE* file = fopen(made, "w");
  if (file == NULL) {
    return -1;
  }
  fprintf(file, "%d %d %lu %lu %lu %lu\n", (int)getpid(), (int)getppid(), (unsigned long)submit_step,
          (unsigned long)copy_back, (unsigned long)evaluate, (unsigned long)run_model);
  return fclose(file) != 0 ? -1 : rename(made, name);
}

int main(int argc, char** argv) {
  if (argc != 3 || say_ready(argv[1]) != 0) {
    return 2;
  }
  char awaited[4096];
  snprintf(awaited, sizeof awaited, "%s/%s", argv[1], argv[2]);
  const struct timespec pause = {0, 2000000};
  for (int i = 0; i < 30000 && access(awaited, F_OK) != 0; ++i) {
    nanosleep(&pause, NULL);
  }
  return access(awaited, F_OK) == 0 ? 0 : 3;
}

/*
 * enter: takes over the settings of another user, then becomes that user's program, in one process.
 *
 *   enter [OPTION]... -- PROGRAM [ARGUMENT]...     127 = PROGRAM could not be run
 *
 *   --status         descriptor 3 gets the reason if PROGRAM cannot be run, and is closed when PROGRAM runs
 *   --close-from N   closes the descriptors from N on (Linux 5.9); default: 3, with --status 4
 *   --oom N          score for the kernel's choice of a process to kill
 *   --nice N         priority
 *   --pipes N        descriptors from N to 2 become pipes of that user; see streams.h
 *   --merge          descriptor 2 is the same stream as 1; with --pipes
 *   --umask OCTAL
 *   --root FOLDER    root folder, before the ids change; PROGRAM and all other folders are looked for in there
 *   --gid N --uid N  ids, without any other group
 *   --nproc N        limit of processes and threads of that user; set last, so that it never refuses this process itself
 *   --fsize BYTES    the largest file that it may write
 *   --cwd FOLDER     working folder, entered as that user
 *   --filter         seccomp filter of filter.h, for PROGRAM and all that it starts
 *
 * The process that starts a program waits until the kernel has opened the program's file. The owner of a file may delay that
 * (a lease), and may stop a process that already has its user id. sandboxd has one thread, so it waits for this file only, which
 * no policy owns. The wait for PROGRAM happens in here, where it delays one call.
 *
 * filter.h and the compiled files are written by `node infra/payload/native/main.ts`.
 */
#include "kernel.h"
#include "filter.h"
#include "streams.h"

enum { WRITE_ONLY = 1, SET_FLAGS = 2, CLOSE_ON_EXEC = 1, FILE_SIZE = 1, NPROC = 6, NO_NEW_PRIVILEGES = 38, SECCOMP = 22, FILTER = 2 };
enum { STATUS = 3 };

/* What could not be done, and the kernel's reason as a decimal number: `folder 2`, `program 13`, `process 1`. */
static void refuse(int reports, const char *what, word error) {
  char text[32];
  char *end = text + sizeof text, *at = end;
  for (word rest = -error; rest > 0; rest /= 10) *--at = '0' + rest % 10;
  *--at = ' ';
  for (word left = length(what); left > 0; left--) *--at = what[left - 1];
  if (reports) call(sys_write, STATUS, (word)at, end - at, 0);
  for (;;) call(sys_exit_group, 127, 0, 0, 0);
}

/* A file that the kernel takes for no program is a script for the shell, as execvp(3) has it. `argv` has room for one more in front. */
static word run(const char *path, char **argv, char **envp) {
  word error = call(sys_execve, (word)path, (word)argv, (word)envp, 0);
  if (error != NO_EXEC_FORMAT) return error;
  char *name = argv[0], *before = argv[-1];
  argv[-1] = "/bin/sh";
  argv[0] = (char *)path;
  error = call(sys_execve, (word)argv[-1], (word)(argv - 1), (word)envp, 0);
  argv[-1] = before;
  argv[0] = name;
  return error;
}

static const char *pathOf(char **envp) {
  for (; *envp != 0; envp++)
    if ((*envp)[0] == 'P' && (*envp)[1] == 'A' && (*envp)[2] == 'T' && (*envp)[3] == 'H' && (*envp)[4] == '=') return *envp + 5;
  return "/bin:/usr/bin";
}

static int mayBeElsewhere(word error) {
  return error == NOT_FOUND || error == NO_ACCESS || error == NOT_A_FOLDER || error == NO_DEVICE || error == STALE ||
         error == TIMED_OUT;
}

/* Returns why there is no program of this name in any folder of the PATH that could be run. */
static word search(char **argv, char **envp) {
  char path[LONGEST_PATH + LONGEST_NAME + 2];
  word size = length(argv[0]), reason = NOT_FOUND;
  if (size == 0) return NOT_FOUND;
  if (size > LONGEST_NAME) return NAME_TOO_LONG;
  for (const char *folder = pathOf(envp);; folder++) {
    word at = 0;
    for (; *folder != 0 && *folder != ':'; folder++) {
      if (at <= LONGEST_PATH) path[at] = *folder;
      at++;
    }
    if (at < LONGEST_PATH) {
      if (at > 0) path[at++] = '/';
      for (word each = 0; each <= size; each++) path[at + each] = argv[0][each];
      word error = run(path, argv, envp);
      if (!mayBeElsewhere(error)) return error;
      if (error == NO_ACCESS) reason = error;
    }
    if (*folder == 0) return reason;
  }
}

static word become(char **argv, char **envp) {
  for (const char *each = argv[0]; *each != 0; each++)
    if (*each == '/') return run(argv[0], argv, envp);
  return search(argv, envp);
}

/* A sandbox without /proc, or with one that cannot be written, keeps the score that it has. */
static void score(const char *text) {
  word file = call(sys_openat, CURRENT_FOLDER, (word)"/proc/self/oom_score_adj", WRITE_ONLY, 0);
  if (file < 0) return;
  call(sys_write, file, (word)text, length(text), 0);
  call(sys_close, file, 0, 0, 0);
}

static word install(void) {
  struct { unsigned short count; const struct instruction *first; } program = { sizeof filter / sizeof *filter, filter };
  word error = call(sys_prctl, NO_NEW_PRIVILEGES, 1, 0, 0);
  return error < 0 ? error : call(sys_prctl, SECCOMP, FILTER, (word)&program, 0);
}

struct options {
  char *root, *cwd, *score;
  word uid, gid, processes, fileBytes, closeFrom, pipesFrom, niceness;
  int reports, filtered, merges;
};

/* Returns the arguments from `--` on, or null if they are not understood. */
static char **read(char **argv, struct options *into) {
  for (char **at = argv + 1; at[0] != 0; at++) {
    if (same(at[0], "--")) return at[1] == 0 ? 0 : at;
    if (same(at[0], "--status")) { into->reports = 1; continue; }
    if (same(at[0], "--filter")) { into->filtered = 1; continue; }
    if (same(at[0], "--merge")) { into->merges = 1; continue; }
    char *option = *at++;
    if (*at == 0) return 0;
    if (same(option, "--close-from")) into->closeFrom = number(*at, 10);
    else if (same(option, "--oom")) into->score = *at;
    else if (same(option, "--nice")) into->niceness = number(*at, 10);
    else if (same(option, "--pipes")) into->pipesFrom = number(*at, 10);
    else if (same(option, "--umask")) call(sys_umask, number(*at, 8), 0, 0, 0);
    else if (same(option, "--gid")) into->gid = number(*at, 10);
    else if (same(option, "--uid")) into->uid = number(*at, 10);
    else if (same(option, "--nproc")) into->processes = number(*at, 10);
    else if (same(option, "--fsize")) into->fileBytes = number(*at, 10);
    else if (same(option, "--root")) into->root = *at;
    else if (same(option, "--cwd")) into->cwd = *at;
    else return 0;
  }
  return 0;
}

/* The group before the user, who may not change groups any more. */
static word changeIds(word uid, word gid) {
  word error = 0;
  if (gid >= 0) error = call(sys_setgroups, 0, 0, 0, 0);
  if (gid >= 0 && error >= 0) error = call(sys_setgid, gid, 0, 0, 0);
  if (uid >= 0 && error >= 0) error = call(sys_setuid, uid, 0, 0, 0);
  return error;
}

/* As container engines start programs. What is inheritable has no effect without a file that asks for it. */
static void inheritNothing(void) {
  unsigned int sets[BOTH_SETS];
  if (capabilities(sys_capget, sets) < 0) return;
  sets[INHERITABLE] = sets[OF_SETS + INHERITABLE] = 0;
  capabilities(sys_capset, sets);
}

/* A working folder outside of a root would be a way out of it. */
static word changeRoot(const char *root) {
  word error = call(sys_chroot, (word)root, 0, 0, 0);
  return error < 0 ? error : call(sys_chdir, (word)"/", 0, 0, 0);
}

static word limit(word resource, word most) {
  word limits[2] = { most, most };
  return call(sys_prlimit64, 0, resource, (word)limits, 0);
}

/* The carrier keeps the settings of this process until here: ids, priority and score. */
static word openPipes(const struct options *wanted, char **argv) {
  struct streams streams = { wanted->pipesFrom, wanted->merges ? 1 : 2, { { 0 } } };
  word error = makePipes(&streams, wanted->uid);
  if (error < 0) return error;
  word forked = forkCarrier(argv);
  if (forked == 1) {
    if (wanted->reports) call(sys_close, STATUS, 0, 0, 0);
    beCarrier(&streams);
  }
  error = forked < 0 ? forked : usePipes(&streams);
  return error >= 0 && wanted->merges ? call(sys_dup3, 1, 2, 0, 0) : error;
}

__attribute__((noreturn, used)) void start(word *stack) {
  char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1;
  struct options wanted = { 0, 0, 0, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0 };
  char **rest = read(argv, &wanted);
  if (rest == 0) refuse(wanted.reports, "process", INVALID);
  if (wanted.reports) call(sys_fcntl, STATUS, SET_FLAGS, CLOSE_ON_EXEC, 0);
  if (wanted.closeFrom < 0) wanted.closeFrom = wanted.reports ? STATUS + 1 : STATUS;
  call(sys_close_range, wanted.closeFrom, -1, 0, 0);
  word error = wanted.pipesFrom < 0 ? 0 : openPipes(&wanted, argv);
  if (wanted.score != 0) score(wanted.score);
  if (wanted.niceness != 0) call(sys_setpriority, 0, 0, wanted.niceness, 0);
  if (error >= 0 && wanted.root != 0) error = changeRoot(wanted.root);
  if (error >= 0) error = changeIds(wanted.uid, wanted.gid);
  inheritNothing();
  if (error >= 0 && wanted.fileBytes >= 0) error = limit(FILE_SIZE, wanted.fileBytes);
  if (error >= 0 && wanted.processes >= 0) error = limit(NPROC, wanted.processes);
  if (error >= 0 && wanted.filtered) error = install();
  if (error < 0) refuse(wanted.reports, "process", error);
  if (wanted.cwd != 0) error = call(sys_chdir, (word)wanted.cwd, 0, 0, 0);
  if (error < 0) refuse(wanted.reports, "folder", error);
  refuse(wanted.reports, "program", become(rest + 1, envp));
  __builtin_unreachable();
}

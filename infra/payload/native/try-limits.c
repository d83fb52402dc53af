/*
 * try-limits: tells which limits that a user shares with others of this machine are used up.
 *
 *   try-limits UID GID     -1 -1 = as the user that starts it
 *
 * The kernel counts some things for each user of the machine, or for the machine as a whole. Where two sandboxes have one user, one of them
 * can take all of it, and a program of the other fails for no reason of its own. So this takes one of each as that user, and gives it
 * back. For each byte on descriptor 0 it writes a letter for each thing that was refused for want of room, and a line feed:
 *
 *   i  inotify instance        w  inotify watch          e  epoll watch          p  pipe of the usual size
 *   s  timer, that is, a pending signal                  f  file that is sent over a socket
 *   q  message queue           m  locked shared memory   t  pseudo terminal, of the machine
 *
 * What the kernel refuses for another reason, or does not know, is not used up. Between two requests the program has the ids that it was
 * started with, so that the user cannot signal it; during one the user can, which hurts only itself.
 */
#include "kernel.h"

enum { REQUESTS = 0, ANSWERS = 1, NO_ROOM = -28, TRY_AGAIN = -11, TOO_MANY_OPEN = -24, FILE_TABLE_FULL = -23, NO_MEMORY = -12,
  TOO_MANY_REFERENCES = -109 };
enum { CLOSE_ON_EXEC = 02000000, CREATE = 0100, READ_WRITE = 02, NO_TERMINAL = 0400, IN_OPEN = 0x20, EPOLL_ADD = 1, PIPE_SIZE = 1032, USUAL_PIPE = 65536,
  MONOTONIC = 1, UNIX = 1, DATAGRAM = 2, SOCKET_LEVEL = 1, RIGHTS = 1, SHM_LOCK = 11, SHM_REMOVE = 0, SHM_BYTES = 4096, OWNER_ONLY = 0600,
  MEMLOCK = 8 };

#if defined(__x86_64__)
enum { sys_shmget = 29, sys_shmctl = 31, sys_sendmsg = 46, sys_socketpair = 53, sys_getuid = 102, sys_timer_create = 222,
  sys_timer_delete = 226, sys_epoll_ctl = 233, sys_mq_open = 240, sys_mq_unlink = 241, sys_inotify_add_watch = 254, sys_epoll_create1 = 291,
  sys_pipe2 = 293, sys_inotify_init1 = 294 };
#elif defined(__aarch64__)
enum { sys_epoll_create1 = 20, sys_epoll_ctl = 21, sys_inotify_init1 = 26, sys_inotify_add_watch = 27, sys_pipe2 = 59,
  sys_timer_create = 107, sys_timer_delete = 111, sys_getuid = 174, sys_mq_open = 180, sys_mq_unlink = 181, sys_shmget = 194, sys_shmctl = 195,
  sys_socketpair = 199, sys_sendmsg = 211 };
#endif

static char found[16];
static word count;

static void note(char letter, int isUsedUp) {
  if (isUsedUp) found[count++] = letter;
}

static void drop(word file) {
  if (file >= 0) call(sys_close, file, 0, 0, 0);
}

/* Returns the instance, to be closed after the answer: the kernel waits for the end of its watches. */
static word tryInotify(void) {
  word instance = call(sys_inotify_init1, CLOSE_ON_EXEC, 0, 0, 0);
  note('i', instance == TOO_MANY_OPEN);
  if (instance >= 0) note('w', call(sys_inotify_add_watch, instance, (word)"/", IN_OPEN, 0) == NO_ROOM);
  return instance;
}

static void tryPipe(int ends[2]) {
  word error = call(sys_pipe2, (word)ends, CLOSE_ON_EXEC, 0, 0);
  if (error < 0) ends[0] = ends[1] = -1;
  note('p', error == FILE_TABLE_FULL || (error >= 0 && call(sys_fcntl, ends[0], PIPE_SIZE, 0, 0) < USUAL_PIPE));
}

static void tryEpoll(int file) {
  struct { unsigned int events; unsigned long data; } event = { 1, 0 };
  word epoll = call(sys_epoll_create1, CLOSE_ON_EXEC, 0, 0, 0);
  if (epoll >= 0) note('e', call(sys_epoll_ctl, epoll, EPOLL_ADD, file, (word)&event) == NO_ROOM);
  drop(epoll);
}

static void tryTimer(void) {
  int timer = -1;
  word error = call(sys_timer_create, MONOTONIC, 0, (word)&timer, 0);
  note('s', error == TRY_AGAIN);
  if (error >= 0) call(sys_timer_delete, timer, 0, 0, 0);
}

/* The kernel's `msghdr` with one file. */
static void trySending(int file) {
  struct { unsigned long size; int level, kind, file; } control = { 20, SOCKET_LEVEL, RIGHTS, file };
  char byte = 0;
  struct { char *at; unsigned long size; } bytes = { &byte, 1 };
  struct { void *name; unsigned int nameSize; void *parts; unsigned long partCount; void *control; unsigned long controlSize; int flags; }
    message = { 0, 0, &bytes, 1, &control, sizeof control, 0 };
  int ends[2];
  if (call(sys_socketpair, UNIX, DATAGRAM | CLOSE_ON_EXEC, 0, (word)ends) < 0) return;
  note('f', call(sys_sendmsg, ends[0], (word)&message, 0, 0) == TOO_MANY_REFERENCES);
  drop(ends[0]), drop(ends[1]);
}

/*
 * A queue outlives its process. If the user ends this one between opening and removing, the next look removes what was left, so that
 * at most one is. Hence a name by the user.
 */
static void tryQueue(void) {
  char name[24] = "try-limits-", *at = name + 11;
  for (word rest = call(sys_getuid, 0, 0, 0, 0); rest > 0; rest /= 10) *at++ = '0' + rest % 10;
  call(sys_mq_unlink, (word)name, 0, 0, 0);
  word queue = call(sys_mq_open, (word)name, CREATE | READ_WRITE | CLOSE_ON_EXEC, OWNER_ONLY, 0);
  note('q', queue == TOO_MANY_OPEN);
  if (queue >= 0) call(sys_mq_unlink, (word)name, 0, 0, 0);
  drop(queue);
}

/* Where a process may lock nothing at all, nothing is used up. */
static void tryLock(void) {
  word most[2] = { 0, 0 };
  if (call(sys_prlimit64, 0, MEMLOCK, 0, (word)most) < 0 || (unsigned long)most[0] < SHM_BYTES) return;
  word memory = call(sys_shmget, 0, SHM_BYTES, CREATE | OWNER_ONLY, 0);
  if (memory < 0) return;
  note('m', call(sys_shmctl, memory, SHM_LOCK, 0, 0) == NO_MEMORY);
  call(sys_shmctl, memory, SHM_REMOVE, 0, 0);
}

static void tryTerminal(void) {
  word terminal = call(sys_openat, CURRENT_FOLDER, (word)"/dev/ptmx", READ_WRITE | NO_TERMINAL | CLOSE_ON_EXEC, 0);
  note('t', terminal == NO_ROOM);
  drop(terminal);
}

/* Returns what is to be closed after the answer. */
static word tryAll(void) {
  int ends[2];
  count = 0;
  word instance = tryInotify();
  tryPipe(ends);
  if (ends[0] >= 0) tryEpoll(ends[0]), trySending(ends[0]);
  drop(ends[0]), drop(ends[1]);
  tryTimer();
  tryQueue();
  tryLock();
  tryTerminal();
  found[count++] = '\n';
  return instance;
}

/* The group first: a user may not change it. The saved id stays, to come back by. */
static word become(word uid, word gid) {
  word error = call(sys_setresgid, gid, gid, -1, 0);
  return error < 0 ? error : call(sys_setresuid, uid, uid, -1, 0);
}

static word comeBack(void) {
  word error = call(sys_setresuid, 0, 0, -1, 0);
  return error < 0 ? error : call(sys_setresgid, 0, 0, -1, 0);
}

__attribute__((noreturn)) static void leave(word code) {
  for (;;) call(sys_exit_group, code, 0, 0, 0);
}

__attribute__((noreturn, used)) void start(word *stack) {
  char **argv = (char **)(stack + 1), byte;
  if (stack[0] != 3) leave(2);
  word uid = number(argv[1], 10), gid = number(argv[2], 10);
  if (uid >= 0) call(sys_setgroups, 0, 0, 0, 0);
  while (call(sys_read, REQUESTS, (word)&byte, 1, 0) == 1) {
    if (uid >= 0 && become(uid, gid) < 0) leave(3);
    word instance = tryAll();
    if (uid >= 0 && comeBack() < 0) leave(3);
    if (call(sys_write, ANSWERS, (word)found, count, 0) != count) leave(1);
    drop(instance);
  }
  leave(0);
}

/*
 * limit-sockets: starts a program, and limits how many sockets it and all that it starts have at the same time.
 *
 *   limit-sockets MOST PROGRAM [ARGUMENT]...     ends as PROGRAM ends; 127 = PROGRAM could not be run
 *
 *   MOST     sockets of a network namespace, as /proc/net/sockstat counts them: UNIX sockets too
 *   PROGRAM  its path
 *
 * What a socket has received or holds back may be charged to no one: answers of netlink, a datagram that is not finished (MSG_MORE),
 * and on cgroup v1 what each TCP socket may have beyond every limit. That is up to 64 KiB each, and the kernel has no limit for the
 * number of sockets. So a seccomp filter asks this process before a call makes a socket of such a family or connects one. If there
 * are too many, the call fails with ENOBUFS. connect is asked for because the other side of a connection is a new socket, accepted
 * or not.
 *
 * Most answers are "go on" or an error. They depend on the call's number and family only, which no thread of the program can change
 * meanwhile. Calls that were let through and have not made their socket yet are not counted: one a thread.
 *
 * A netlink socket is made here and handed over, with a small buffer for what it receives. It would have 208 KiB by default, which
 * is one number for the whole machine. That the program cannot enlarge it (SO_RCVBUF) is a rule of the other filters.
 *
 * sockets-filter.h and the compiled files are written by `node infra/payload/native/main.ts`.
 */
#include "kernel.h"
#include "sockets-filter.h"

enum { NO_BUFFERS = -105, PARENT_DEATH_SIGNAL = 1, KILL = 9, CLONE_FILES = 0x400, CLONE_VFORK = 0x4000, CHILD = 17, LOWEST = 0,
  DUPLICATE = 0, STANDARD_ERROR = 2, FIRST_OTHER = 3 };
enum { ADD_FILTER = 1, NEW_LISTENER = 8, WAIT_KILLABLE = 32, GO_ON = 1, READABLE = 1 };
enum { RECEIVE = 0xc0502100, ANSWER = 0xc0182101, HAND_OVER = 0x40182103 };
enum { NETLINK = 16, NETWORK_NAMESPACE = 0x40000000, SOCKET_LEVEL = 1, RECEIVE_BUFFER = 8, CLOSE_ON_EXEC = 02000000 };

/* One answer of the kernel has up to 32 KiB, and one is taken while this is not full. The kernel doubles it for its own overhead. */
enum { NETLINK_BYTES = 16 * 1024 };

/* 200 ms on a busy machine. */
enum { LOOKS = 10, LOOK_EVERY_NS = 20000000 };

#if defined(__x86_64__)
enum { sys_ioctl = 16, sys_getpid = 39, sys_socket = 41, sys_setsockopt = 54, sys_clone = 56, sys_wait4 = 61, sys_getppid = 110, sys_ppoll = 271, sys_setns = 308,
  sys_seccomp = 317, sys_pidfd_open = 434 };
#elif defined(__aarch64__)
enum { sys_ioctl = 29, sys_ppoll = 73, sys_getpid = 172, sys_getppid = 173, sys_socket = 198, sys_setsockopt = 208, sys_clone = 220, sys_wait4 = 260, sys_setns = 268,
  sys_seccomp = 277, sys_pidfd_open = 434 };
#endif

/* The kernel's `seccomp_notif` and `seccomp_notif_resp`. */
struct question {
  unsigned long id;
  unsigned int process, flags;
  int call;
  unsigned int architecture;
  unsigned long instruction, arguments[6];
};
struct answer {
  unsigned long id;
  long value;
  int error;
  unsigned int flags;
};
struct handed {
  unsigned long id;
  unsigned int flags, file, wanted, fileFlags;
};
struct polled {
  int file;
  short wanted, seen;
};

__attribute__((noreturn)) static void end(word code) {
  for (;;) call(sys_exit_group, code, 0, 0, 0);
}

__attribute__((noreturn)) static void refuse(const char *why) {
  call(sys_write, STANDARD_ERROR, (word)why, length(why), 0);
  end(127);
}

/* Opens a file of /proc/PROCESS. */
static word processFile(unsigned int process, const char *name) {
  char path[48], digits[12];
  char *at = path, *digit = digits;
  for (const char *each = "/proc/"; *each != 0;) *at++ = *each++;
  do *digit++ = '0' + process % 10, process /= 10;
  while (process > 0);
  while (digit > digits) *at++ = *--digit;
  while ((*at++ = *name++) != 0);
  return call(sys_openat, CURRENT_FOLDER, (word)path, CLOSE_ON_EXEC, 0);
}

/* Its first line is `sockets: used N`. A negative number if it cannot be read. */
static word socketsOf(unsigned int process) {
  char text[64];
  word file = processFile(process, "/net/sockstat");
  if (file < 0) return file;
  word size = call(sys_read, file, (word)text, sizeof text - 1, 0);
  call(sys_close, file, 0, 0, 0);
  if (size < 0) return size;
  text[size] = 0;
  const char *at = text;
  while (*at != 0 && (*at < '0' || *at > '9')) at++;
  return *at == 0 ? -1 : number(at, 10);
}

/* A netlink socket of the process's network. */
static word netlinkSocket(unsigned int process, word type) {
  int bytes = NETLINK_BYTES;
  word network = processFile(process, "/ns/net");
  if (network < 0) return network;
  word error = call(sys_setns, network, NETWORK_NAMESPACE, 0, 0);
  call(sys_close, network, 0, 0, 0);
  if (error < 0) return error;
  word socket = call(sys_socket, NETLINK, type | CLOSE_ON_EXEC, 0, 0);
  if (socket >= 0) call5(sys_setsockopt, socket, SOCKET_LEVEL, RECEIVE_BUFFER, (word)&bytes, sizeof bytes);
  return socket;
}

/* Returns its number in the process that asked, or why it has none. */
static word handOver(word listener, const struct question *asked) {
  word socket = netlinkSocket(asked->process, asked->arguments[1]);
  if (socket < 0) return socket;
  struct handed handed = { asked->id, 0, socket, 0, asked->arguments[1] & CLOSE_ON_EXEC };
  word given = call(sys_ioctl, listener, HAND_OVER, (word)&handed, 0);
  call(sys_close, socket, 0, 0, 0);
  return given;
}

/* Whether there is room for one more. The kernel counts a closed socket of netlink for some 30 ms longer: so this waits, but not again
 * for each call of a program that has been refused. */
static int hasRoom(unsigned int process, word most, int *patience) {
  for (;;) {
    word count = socketsOf(process);
    if (count < 0) return 0;
    if (count < most) return *patience = LOOKS;
    if (*patience == 0) return 0;
    long pause[2] = { 0, LOOK_EVERY_NS };
    call(sys_ppoll, 0, 0, (word)pause, 0);
    --*patience;
  }
}

static void answerOne(word listener, word most, int *patience) {
  struct question asked;
  for (word at = 0; at < (word)sizeof asked; at++) ((char *)&asked)[at] = 0;
  if (call(sys_ioctl, listener, RECEIVE, (word)&asked, 0) < 0) return;
  struct answer answer = { asked.id, 0, 0, 0 };
  if (!hasRoom(asked.process, most, patience)) answer.error = NO_BUFFERS;
  else if (asked.call == sys_socket && (int)asked.arguments[0] == NETLINK) {
    word given = handOver(listener, &asked);
    if (given < 0) answer.error = given;
    else answer.value = given;
  } else answer.flags = GO_ON;
  call(sys_ioctl, listener, ANSWER, (word)&answer, 0);
}

/* Until the program has ended; returns as a shell tells of its end. */
static word answerAll(word listener, word program, word most) {
  struct polled files[2] = { { listener, READABLE, 0 }, { call(sys_pidfd_open, program, 0, 0, 0), READABLE, 0 } };
  int patience = LOOKS;
  while ((files[1].seen & READABLE) == 0) {
    if (call(sys_ppoll, (word)files, 2, 0, 0) < 0) continue;
    if (files[0].seen & READABLE) answerOne(listener, most, &patience);
    else if (files[0].seen != 0) files[0].file = -1;
  }
  int status = 0;
  call(sys_wait4, program, (word)&status, 0, 0);
  return (status & 0x7f) == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f);
}

/* The listener gets the lowest free number. A kernel before 5.19 may let a signal interrupt a call that waits for its answer. */
static word install(void) {
  struct { unsigned short count; const struct instruction *first; } program = { sizeof sockets / sizeof *sockets, sockets };
  word listener = call(sys_seccomp, ADD_FILTER, NEW_LISTENER | WAIT_KILLABLE, (word)&program, 0);
  return listener >= 0 ? listener : call(sys_seccomp, ADD_FILTER, NEW_LISTENER, (word)&program, 0);
}

/* The child shares this process's descriptors until it becomes the program: so its listener is one of them. */
__attribute__((noreturn, used)) void start(word *stack) {
  char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1;
  if (stack[0] < 3) refuse("limit-sockets: MOST and PROGRAM are needed\n");
  call(sys_prctl, PARENT_DEATH_SIGNAL, KILL, 0, 0);
  word listener = call(sys_fcntl, STANDARD_ERROR, DUPLICATE, LOWEST, 0);
  call(sys_close, listener, 0, 0, 0);
  word parent = call(sys_getpid, 0, 0, 0, 0);
  word program = call(sys_clone, CLONE_FILES | CLONE_VFORK | CHILD, 0, 0, 0);
  if (program == 0) {
    /* A fork clears the signal that its parent asked for. */
    call(sys_prctl, PARENT_DEATH_SIGNAL, KILL, 0, 0);
    if (call(sys_getppid, 0, 0, 0, 0) != parent) refuse("limit-sockets: its parent has ended\n");
    if (install() != listener) refuse("limit-sockets: sockets cannot be limited here\n");
    call(sys_execve, (word)argv[2], (word)(argv + 2), (word)envp, 0);
    refuse("limit-sockets: the program could not be run\n");
  }
  if (program < 0) refuse("limit-sockets: no process could be made\n");
  if (listener > FIRST_OTHER) call(sys_close_range, FIRST_OTHER, listener - 1, 0, 0);
  call(sys_close_range, listener + 1, -1, 0, 0);
  end(answerAll(listener, program, number(argv[1], 10)));
}

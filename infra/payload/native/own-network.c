/*
 * own-network: becomes a program in a network of its own, whose only interface is a loopback that is up.
 *
 *   own-network PROGRAM [ARGUMENT]...     127 = PROGRAM could not be run
 *
 *   PROGRAM  its path
 *
 * As in containers every user of this network may listen on ports below 1024, and may send pings. Both are settings of the network that
 * take a capability over it, which sandboxd does not have. If the host's settings cannot be written (a container whose /proc/sys is
 * read-only), PROGRAM runs without them.
 *
 * PROGRAM, and all that it starts, can never gain a capability that container engines do not give. PROGRAM itself keeps what this process has:
 * what is inheritable is not bounded for root.
 *
 * The compiled files are written by `node infra/payload/native/main.ts`.
 */
#include "kernel.h"

enum { NETWORK_NAMESPACE = 0x40000000, INTERNET = 2, DATAGRAM = 2, CLOSE_ON_EXEC = 02000000, SET_FLAGS = 0x8914, UP = 1, WRITE_ONLY = 1,
  STANDARD_ERROR = 2, DROP_FROM_BOUND = 24 };
/* CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW, SYS_CHROOT, MKNOD, AUDIT_WRITE, SETFCAP. */
static const word ofContainers = 0xa80425fb;

#if defined(__x86_64__)
enum { sys_ioctl = 16, sys_socket = 41, sys_unshare = 272 };
#elif defined(__aarch64__)
enum { sys_ioctl = 29, sys_unshare = 97, sys_socket = 198 };
#endif

/* The kernel's `ifreq`. */
struct request {
  char name[16];
  short flags;
  char rest[22];
};

__attribute__((noreturn)) static void refuse(const char *why) {
  call(sys_write, STANDARD_ERROR, (word)why, length(why), 0);
  for (;;) call(sys_exit_group, 127, 0, 0, 0);
}

/* The kernel gives it 127.0.0.1 and ::1. */
static word raiseLoopback(void) {
  struct request request = { "lo", UP, "" };
  word socket = call(sys_socket, INTERNET, DATAGRAM | CLOSE_ON_EXEC, 0, 0);
  if (socket < 0) return socket;
  word error = call(sys_ioctl, socket, SET_FLAGS, (word)&request, 0);
  call(sys_close, socket, 0, 0, 0);
  return error;
}

static void set(const char *setting, const char *value) {
  word file = call(sys_openat, CURRENT_FOLDER, (word)setting, WRITE_ONLY | CLOSE_ON_EXEC, 0);
  if (file < 0) return;
  call(sys_write, file, (word)value, length(value), 0);
  call(sys_close, file, 0, 0, 0);
}

/* A second wall after no_new_privs: a machine that does not let this be set runs PROGRAM without it. */
static void boundCapabilities(void) {
  unsigned int sets[BOTH_SETS];
  if (capabilities(sys_capget, sets) < 0) return;
  sets[INHERITABLE] = sets[PERMITTED];
  sets[OF_SETS + INHERITABLE] = sets[OF_SETS + PERMITTED];
  if (capabilities(sys_capset, sets) < 0) return;
  word error = 0;
  /* There are fewer than 64, and the first that there is not ends it. */
  for (word each = 0; each < 64 && error >= 0; each++)
    if ((ofContainers >> each & 1) == 0) error = call(sys_prctl, DROP_FROM_BOUND, each, 0, 0);
}

__attribute__((noreturn, used)) void start(word *stack) {
  char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1;
  if (stack[0] < 2) refuse("own-network: PROGRAM is needed\n");
  if (call(sys_unshare, NETWORK_NAMESPACE, 0, 0, 0) < 0) refuse("own-network: no network could be made\n");
  if (raiseLoopback() < 0) refuse("own-network: the loopback could not be raised\n");
  set("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
  /* All groups that a sandbox has. */
  set("/proc/sys/net/ipv4/ping_group_range", "0 65535");
  boundCapabilities();
  call(sys_execve, (word)argv[1], (word)(argv + 1), (word)envp, 0);
  refuse("own-network: the program could not be run\n");
}

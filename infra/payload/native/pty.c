/*
 * pty: runs a program in a pseudoterminal of its own, and passes on what goes in and out.
 *
 *   pty ROWS COLUMNS PROGRAM [ARGUMENT]...     ends as PROGRAM ends; 127 = there is no terminal, with a sentence on descriptor 2
 *
 *   server ══ descriptors 0 and 1 ══ pty ══ pseudoterminal ══ PROGRAM
 *
 *   PROGRAM  its path
 *
 * The server of terminals is written in JavaScript and can open no pseudoterminal. With this program it needs no module of C++ and never
 * forks. Each direction holds at most CHUNK bytes: a program that prints without end waits for the server, and the server sees by its own
 * stream that a program does not read.
 *
 * If the server ends, or kills this process, the kernel hangs the terminal up (SIGHUP). When PROGRAM has ended, what it has printed is
 * passed on to its end. What it left in the background may print as much as AFTER_END bytes meanwhile.
 *
 * The compiled files are written by `node infra/payload/native/main.ts`.
 */
#include "kernel.h"

#if defined(__x86_64__)
enum { sys_rt_sigprocmask = 14, sys_ioctl = 16, sys_clone = 56, sys_wait4 = 61, sys_setsid = 112, sys_ppoll = 271, sys_signalfd4 = 289, sys_dup3 = 292 };
#elif defined(__aarch64__)
enum { sys_dup3 = 24, sys_ioctl = 29, sys_ppoll = 73, sys_signalfd4 = 74, sys_rt_sigprocmask = 135, sys_setsid = 157, sys_clone = 220, sys_wait4 = 260 };
#endif

enum { TRY_AGAIN = -11, READ_WRITE = 2, NOT_CONTROLLING = 0400, NON_BLOCKING = 04000, CLOSE_ON_EXEC = 02000000 };
enum { SET_STATUS = 4, BLOCK = 0, SET_MASK = 2, SIGNAL_CHILD = 17, MASK_BYTES = 8, DO_NOT_WAIT = 1 };
enum { LOCK = 0x40045431, NUMBER = 0x80045430, SET_SIZE = 0x5414 };
enum { POLL_IN = 1, POLL_OUT = 4, POLL_ERROR = 8, POLL_HANG_UP = 16 };
enum { INPUT = 0, OUTPUT = 1, ERRORS = 2, FIRST_OTHER = 3, COULD_NOT_RUN = 127, BY_SIGNAL = 128 };
enum { CHUNK = 16384, AFTER_END = 1048576 };

/* A program that has closed its terminal may open it again. */
enum { LOOK_AGAIN_NS = 100000000 };

struct polled { int descriptor; short events, seen; };
struct held { word count, at; char bytes[CHUNK]; };
struct size { unsigned short rows, columns, width, height; };
struct terminal { word master, ends, program, printedAfterEnd; int code, hasEnded, isHungUp, hasNoInput; struct held in, out; };

__attribute__((noreturn)) static void end(word code) {
  for (;;) call(sys_exit_group, code, 0, 0, 0);
}

__attribute__((noreturn)) static void refuse(const char *why) {
  call(sys_write, ERRORS, (word)why, length(why), 0);
  end(COULD_NOT_RUN);
}

/* Returns the side of this process; `path` becomes the path of the program's side. */
static word openMaster(char *path, const struct size *size) {
  unsigned int number = 0, unlocked = 0;
  char digits[12], *digit = digits;
  word master = call(sys_openat, CURRENT_FOLDER, (word)"/dev/ptmx", READ_WRITE | NOT_CONTROLLING | NON_BLOCKING | CLOSE_ON_EXEC, 0);
  if (master < 0) refuse("this sandbox has no pseudoterminal left, or no /dev/ptmx that it may open\n");
  if (call(sys_ioctl, master, LOCK, (word)&unlocked, 0) < 0 || call(sys_ioctl, master, NUMBER, (word)&number, 0) < 0)
    refuse("this sandbox opens no pseudoterminals\n");
  call(sys_ioctl, master, SET_SIZE, (word)size, 0);
  for (const char *each = "/dev/pts/"; *each != 0;) *path++ = *each++;
  do *digit++ = '0' + number % 10, number /= 10;
  while (number > 0);
  while (digit > digits) *path++ = *--digit;
  *path = 0;
  return master;
}

/* The first terminal that the leader of a session opens controls the session. */
__attribute__((noreturn)) static void become(const char *path, char **argv, char **envp) {
  word none = 0;
  call(sys_setsid, 0, 0, 0, 0);
  word slave = call(sys_openat, CURRENT_FOLDER, (word)path, READ_WRITE, 0);
  if (slave < 0) refuse("the terminal cannot be opened in this sandbox\n");
  for (word each = INPUT; each <= ERRORS; each++) call(sys_dup3, slave, each, 0, 0);
  call(sys_close, slave, 0, 0, 0);
  call(sys_rt_sigprocmask, SET_MASK, (word)&none, 0, MASK_BYTES);
  call(sys_execve, (word)argv[0], (word)argv, (word)envp, 0);
  refuse("the program could not be run\n");
}

/* What this process was started with would be found by a search for the program, such as pgrep -f. */
static void forget(char **argv) {
  for (; *argv != 0; argv++)
    for (char *each = *argv; *each != 0; each++) *each = 0;
}

/* Returns what the call did; 0 if it would have to wait. */
static word fill(struct held *held, word from) {
  word count = call(sys_read, from, (word)held->bytes, CHUNK, 0);
  if (count > 0) held->count = count, held->at = 0;
  return count == 0 ? -1 : count == TRY_AGAIN ? 0 : count;
}

static word drain(struct held *held, word to) {
  word count = call(sys_write, to, (word)(held->bytes + held->at), held->count, 0);
  if (count > 0) held->count -= count, held->at += count;
  return count == TRY_AGAIN ? 0 : count;
}

static void readPrinted(struct terminal *terminal) {
  word count = fill(&terminal->out, terminal->master);
  terminal->isHungUp = count < 0;
  if (!terminal->hasEnded) return;
  terminal->printedAfterEnd += count > 0 ? count : 0;
  if (count <= 0 || terminal->printedAfterEnd > AFTER_END) end(terminal->code);
}

static void noteEnd(struct terminal *terminal) {
  char signal[128];
  int status = 0;
  call(sys_read, terminal->ends, (word)signal, sizeof signal, 0);
  if (call(sys_wait4, terminal->program, (word)&status, DO_NOT_WAIT, 0) != terminal->program) return;
  terminal->hasEnded = 1;
  terminal->code = (status & 0x7f) == 0 ? (status >> 8) & 0xff : BY_SIGNAL + (status & 0x7f);
}

static void watch(const struct terminal *terminal, struct polled *polled) {
  int isFree = terminal->out.count == 0;
  polled[0] = (struct polled){ terminal->in.count == 0 && !terminal->hasNoInput ? INPUT : -1, POLL_IN, 0 };
  polled[1] = (struct polled){ OUTPUT, isFree ? 0 : POLL_OUT, 0 };
  polled[2] = (struct polled){ terminal->isHungUp || (!isFree && terminal->in.count == 0) ? -1 : terminal->master,
    (isFree ? POLL_IN : 0) | (terminal->in.count > 0 ? POLL_OUT : 0), 0 };
  polled[3] = (struct polled){ terminal->hasEnded ? -1 : terminal->ends, POLL_IN, 0 };
}

/* After the program's end each round reads, until there is nothing left. */
static void pass(struct terminal *terminal) {
  struct polled polled[4];
  long pause[2] = { 0, terminal->hasEnded && terminal->out.count == 0 ? 0 : LOOK_AGAIN_NS };
  watch(terminal, polled);
  call5(sys_ppoll, (word)polled, 4, terminal->isHungUp || terminal->hasEnded ? (word)pause : 0, 0, 0);
  if (polled[1].seen & (POLL_ERROR | POLL_HANG_UP)) end(terminal->code);
  if (polled[3].seen != 0) noteEnd(terminal);
  if (polled[1].seen & POLL_OUT) drain(&terminal->out, OUTPUT);
  if (terminal->out.count == 0 && (polled[2].seen != 0 || terminal->isHungUp || terminal->hasEnded)) readPrinted(terminal);
  if (terminal->in.count > 0 && drain(&terminal->in, terminal->master) < 0) terminal->in.count = 0;
  if (polled[0].seen != 0 && fill(&terminal->in, INPUT) < 0) terminal->hasNoInput = 1;
}

__attribute__((noreturn, used)) void start(word *stack) {
  static struct terminal terminal;
  char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1, path[32];
  word child = 1 << (SIGNAL_CHILD - 1);
  if (stack[0] < 4) refuse("pty: ROWS, COLUMNS and PROGRAM are needed\n");
  call(sys_close_range, FIRST_OTHER, -1, 0, 0);
  struct size size = { number(argv[1], 10), number(argv[2], 10), 0, 0 };
  terminal.master = openMaster(path, &size);
  call(sys_rt_sigprocmask, BLOCK, (word)&child, 0, MASK_BYTES);
  terminal.ends = call(sys_signalfd4, -1, (word)&child, MASK_BYTES, NON_BLOCKING | CLOSE_ON_EXEC);
  terminal.program = terminal.ends < 0 ? -1 : call5(sys_clone, SIGNAL_CHILD, 0, 0, 0, 0);
  if (terminal.program == 0) become(path, argv + 3, envp);
  if (terminal.program < 0) refuse("the sandbox has no room for another process\n");
  forget(argv);
  call(sys_fcntl, INPUT, SET_STATUS, NON_BLOCKING, 0);
  call(sys_fcntl, OUTPUT, SET_STATUS, READ_WRITE | NON_BLOCKING, 0);
  for (;;) pass(&terminal);
}

/*
 * The streams of a program as pipes, which Linux opens by name (/dev/stdin, /dev/stderr), other than the sockets that sandboxd has.
 *
 *   sandboxd ══ socket ══ carrier ══ pipe ══ program
 *
 * sandboxd must not have an end of such a pipe. A process that reads or writes a pipe holds its lock, also while the kernel waits for the
 * memory that is read or written, and O_NONBLOCK does not help: a policy that makes its own memory slow holds a reader up for minutes.
 * So each command has a carrier of its own, which is out of the policy's reach and can be held up without harm to anything else.
 *
 * If sandboxd ends its side of an output socket, the carrier passes on what is in the pipe, closes the socket, and drops the rest:
 * what runs in the background can go on writing. The carrier ends when all of its pipes have.
 */

#if defined(__x86_64__)
enum { sys_rt_sigprocmask = 14, sys_clone = 56, sys_wait4 = 61, sys_getuid = 102, sys_setsid = 112, sys_ppoll = 271, sys_dup3 = 292, sys_pipe2 = 293 };
#elif defined(__aarch64__)
enum { sys_dup3 = 24, sys_pipe2 = 59, sys_ppoll = 73, sys_rt_sigprocmask = 135, sys_setsid = 157, sys_getuid = 174, sys_clone = 220, sys_wait4 = 260 };
#endif

enum { TRY_AGAIN = -11, TOO_MANY_FILES = -23 };
enum { POLL_IN = 1, POLL_OUT = 4, POLL_ERROR = 8, POLL_PEER_ENDED = 0x2000 };
enum { SET_STATUS = 4, NON_BLOCKING = 04000, CLOSES_ON_EXEC = 02000000 };
enum { SIGNAL_CHILD = 17, ALL_SIGNALS_BYTES = 8 };
/* Dropping gets as little of the processor as the policy's own processes. */
enum { DROPPING_NICE = 10 };
/* As much as a pipe has by default. Only what is used of it costs memory. */
enum { CHUNK = 65536, LARGEST_PIPE = 1048576 };

/* One direction: `held` bytes at `at` are read and not yet written. Without `to` they are dropped, without `from` it has ended. */
struct flow { word from, to, held, at, lastBytes; int isOutput; char bytes[CHUNK]; };
struct polled { int descriptor; short events, seen; };

static void end(word *descriptor) {
  if (*descriptor >= 0) call(sys_close, *descriptor, 0, 0, 0);
  *descriptor = -1;
}

static void dropRest(struct flow *flow) { end(&flow->to), flow->held = 0; }

static void endFlow(struct flow *flow) { dropRest(flow), end(&flow->from); }

/* Once sandboxd has asked for the end, an empty pipe is the end, and so is as much as the largest pipe has. */
static void fill(struct flow *flow, int isLast) {
  word count = call(sys_read, flow->from, (word)flow->bytes, CHUNK, 0);
  if (count == 0 || (count < 0 && count != TRY_AGAIN)) endFlow(flow);
  else if (isLast && (count < 0 || flow->lastBytes > LARGEST_PIPE)) dropRest(flow);
  else if (count > 0) flow->held = count, flow->at = 0, flow->lastBytes += isLast ? count : 0;
}

static void drain(struct flow *flow) {
  if (flow->to < 0) return dropRest(flow);
  word count = call(sys_write, flow->to, (word)(flow->bytes + flow->at), flow->held, 0);
  if (count >= 0) flow->held -= count, flow->at += count;
  else if (count != TRY_AGAIN && flow->isOutput) dropRest(flow);
  else if (count != TRY_AGAIN) endFlow(flow);
}

/* One read and one write at most, so that no flow waits for another. */
static void pass(struct flow *flow, const struct polled *at) {
  if (at[0].seen == 0 && at[1].seen == 0) return;
  if (!flow->isOutput && (at[1].seen & POLL_ERROR)) endFlow(flow);
  if (flow->from >= 0 && flow->held == 0) fill(flow, at[1].seen & POLL_PEER_ENDED);
  if (flow->from >= 0 && flow->held > 0) drain(flow);
}

static void watch(const struct flow *flow, struct polled *at) {
  at[0].descriptor = flow->held > 0 ? -1 : flow->from;
  at[0].events = POLL_IN;
  at[1].descriptor = flow->to;
  at[1].events = (flow->isOutput ? POLL_PEER_ENDED : 0) | (flow->held > 0 ? POLL_OUT : 0);
  at[0].seen = at[1].seen = 0;
}

__attribute__((noreturn)) static void carry(struct flow *flows, int count) {
  struct polled polled[6];
  for (;;) {
    int open = 0, wanted = 0;
    for (int each = 0; each < count; each++) {
      watch(&flows[each], &polled[2 * each]);
      open += flows[each].from >= 0, wanted += flows[each].to >= 0;
    }
    if (open == 0) call(sys_exit_group, 0, 0, 0, 0);
    if (wanted == 0) call(sys_setpriority, 0, 0, DROPPING_NICE, 0);
    call5(sys_ppoll, (word)polled, 2 * count, 0, 0, 0);
    for (int each = 0; each < count; each++) pass(&flows[each], &polled[2 * each]);
  }
}

/* The descriptors from `first` to `last` become pipes. `ends` are those of the pipes: reading, writing. */
struct streams { int first, last, ends[3][2]; };

static word makePipesAs(struct streams *streams, word uid) {
  word own = call(sys_getuid, 0, 0, 0, 0), error = 0, back = 0;
  if (uid >= 0) error = call(sys_setresuid, uid, uid, -1, 0);
  for (int each = streams->first; each <= streams->last && error >= 0; each++)
    error = call(sys_pipe2, (word)streams->ends[each], CLOSES_ON_EXEC, 0, 0);
  if (uid >= 0) back = call(sys_setresuid, own, own, -1, 0);
  return error < 0 ? error : back;
}

/*
 * A pipe belongs to the user who made it, who alone may open it by name, and in whose account its memory is. A machine may limit that
 * account (pipe-user-pages-hard). A policy that has used it up has pipes that it cannot open by name, and no failure of the machine.
 */
static word makePipes(struct streams *streams, word uid) {
  word error = makePipesAs(streams, uid);
  return error == TOO_MANY_FILES && uid >= 0 ? makePipesAs(streams, -1) : error;
}

static void setFlow(struct flow *flow, word from, word to, int isOutput) {
  flow->from = from, flow->to = to, flow->held = flow->lastBytes = 0, flow->isOutput = isOutput;
  call(sys_fcntl, from, SET_STATUS, NON_BLOCKING, 0);
  call(sys_fcntl, to, SET_STATUS, NON_BLOCKING, 0);
}

/* No signal to the program reaches it, in a session of its own. A broken pipe is an error and no signal. */
__attribute__((noreturn)) static void beCarrier(const struct streams *streams) {
  struct flow flows[3];
  word all = -1;
  int count = 0;
  call(sys_rt_sigprocmask, 0, (word)&all, 0, ALL_SIGNALS_BYTES);
  for (int each = streams->first; each <= streams->last; each++) {
    const int *ends = streams->ends[each];
    call(sys_close, ends[each == 0 ? 0 : 1], 0, 0, 0);
    if (each == 0) setFlow(&flows[count++], 0, ends[1], 0);
    else setFlow(&flows[count++], ends[0], each, 1);
  }
  carry(flows, count);
}

/* What the carrier was started with would be found by who looks for the program, such as pgrep -f. */
static void forget(char **argv) {
  for (; *argv != 0; argv++)
    for (char *each = *argv; *each != 0; each++) *each = 0;
}

/*
 * Returns 0 in the program's process and 1 in the carrier, which is a child of process 1: the program has none that it did not start. When
 * the program starts, the carrier has its own session and no words.
 */
static word forkCarrier(char **argv) {
  int status = 0;
  word between = call5(sys_clone, SIGNAL_CHILD, 0, 0, 0, 0);
  if (between < 0) return between;
  if (between == 0) {
    call(sys_setsid, 0, 0, 0, 0);
    forget(argv);
    word carrier = call5(sys_clone, SIGNAL_CHILD, 0, 0, 0, 0);
    if (carrier == 0) return 1;
    call(sys_exit_group, carrier < 0 ? -carrier : 0, 0, 0, 0);
  }
  call(sys_wait4, between, (word)&status, 0, 0);
  return status & 0x7f ? TRY_AGAIN : -(status >> 8 & 0xff);
}

static word usePipes(const struct streams *streams) {
  word error = 0;
  for (int each = streams->first; each <= streams->last && error >= 0; each++)
    error = call(sys_dup3, streams->ends[each][each == 0 ? 0 : 1], each, 0, 0);
  return error;
}

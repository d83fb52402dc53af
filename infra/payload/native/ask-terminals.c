/*
 * ask-terminals: asks the server of a sandbox's terminals, or that of its browser, for one thing, and prints its answer.
 *
 *   ask-terminals SOCKET SECONDS [PROGRAM [ARGUMENT]...]     0 = answered, 1 = a sentence on descriptor 2
 *
 *   SECONDS  how long the answer may take
 *   PROGRAM  the path of the server, which is started if no server listens; without it that is an error
 *
 * The request is the variable REQUEST, or else what descriptor 0 has to its end: an argument would be found by a search for the words that
 * are typed, such as pkill -f. The answer is one character and a text: `+` and what is printed, or `-` and an error.
 * Both are bounded, and so is the time: the server is the policy's, who may forge, stop or kill it. `~` is a stream: pieces with their
 * length in front (four bytes, the lowest first), each printed when it comes, then an empty one, then an answer. How long it takes, and how
 * much it may print, is for the call that this process is.
 *
 * A call of a session's tool is this process. It has no library and no memory to make ready, so it takes no longer than a command.
 *
 * The server stays in this session, so that a sandbox finds it among what its commands have left. It has none of this process's streams.
 *
 * The compiled files are written by `node infra/payload/native/main.ts`.
 */
#include "kernel.h"

#if defined(__x86_64__)
enum { sys_socket = 41, sys_connect = 42, sys_sendto = 44, sys_shutdown = 48, sys_setsockopt = 54, sys_clone = 56, sys_kill = 62, sys_clock_gettime = 228,
  sys_ppoll = 271, sys_dup3 = 292, sys_pipe2 = 293 };
#elif defined(__aarch64__)
enum { sys_dup3 = 24, sys_pipe2 = 59, sys_ppoll = 73, sys_clock_gettime = 113, sys_kill = 129, sys_socket = 198, sys_connect = 203, sys_sendto = 206,
  sys_setsockopt = 208, sys_shutdown = 210, sys_clone = 220 };
#endif

enum { INPUT = 0, OUTPUT = 1, ERRORS = 2, ANSWERED = 0, FAILED = 1, COULD_NOT_RUN = 127 };
enum { TRY_AGAIN = -11, REFUSED = -111, READ_WRITE = 2, CLOSE_ON_EXEC = 02000000, SIGNAL_KILL = 9, SIGNAL_CHILD = 17 };
enum { UNIX = 1, STREAM = 1, SOCKET_LEVEL = 1, SEND_TIMEOUT = 21, NO_SIGNAL = 0x4000, DO_NOT_WAIT = 0x40, NOTHING_MORE = 1 };
enum { POLL_IN = 1, POLL_OUT = 4, MONOTONIC = 1, MS = 1000, NS_PER_MS = 1000000 };

/* As src/protocol/sandboxd/terminals.ts has them. A start of Node may take long on a machine that has other things to do. */
enum { LONGEST = 2 * 1024 * 1024, CONNECT_WITHIN_S = 5, START_WITHIN_MS = 20 * MS, LAST_WITHIN_MS = 20 * MS,
  LONGEST_REASON = 500 };

struct polled { int descriptor; short events, seen; };
struct address { unsigned short family; char path[108]; };
struct started { word process, ready, errors; };

static char bytes[LONGEST + 1];
static const char *socketPath;

static void print(word to, const char *text, word count) {
  for (word written = 0; count > 0; text += written, count -= written)
    if ((written = call(sys_write, to, (word)text, count, 0)) < 0) return;
}

static void say(const char *text) { print(ERRORS, text, length(text)); }

__attribute__((noreturn)) static void end(word code) {
  for (;;) call(sys_exit_group, code, 0, 0, 0);
}

__attribute__((noreturn)) static void refuse(const char *why) {
  say("Error: "), say(why), say("\n");
  end(FAILED);
}

__attribute__((noreturn)) static void refuseUnreached(void) {
  word folder = length(socketPath);
  while (folder > 0 && socketPath[folder] != '/') folder--;
  say("Error: the session server does not answer; end it, or remove ");
  print(ERRORS, socketPath, folder);
  say(", then open a session again\n");
  end(FAILED);
}

__attribute__((noreturn)) static void refuseEnded(void) {
  refuse("the session server has ended, and its sessions with it; terminal_open or browser_goto starts another");
}

static word nowMs(void) {
  long time[2] = { 0, 0 };
  call(sys_clock_gettime, MONOTONIC, (word)time, 0, 0);
  return time[0] * MS + time[1] / NS_PER_MS;
}

/* Returns 0 if nothing happens until then. */
static int waitFor(struct polled *polled, word count, word untilMs) {
  for (;;) {
    word left = untilMs - nowMs();
    if (left <= 0) return 0;
    long time[2] = { left / MS, left % MS * NS_PER_MS };
    if (call5(sys_ppoll, (word)polled, count, (word)time, 0, 0) > 0) return 1;
  }
}

static word copyRequest(const char *text) {
  word count = 0;
  for (; text[count] != 0 && count <= LONGEST; count++) bytes[count] = text[count];
  return count;
}

static word readRequest(char **envp) {
  static const char name[] = "REQUEST=";
  word filled = 0, count = 0, at = 0;
  if (*envp != 0) {
    while (name[at] != 0 && (*envp)[at] == name[at]) at++;
    if (name[at] == 0) return copyRequest(*envp + at);
  }
  while (filled <= LONGEST && (count = call(sys_read, INPUT, (word)(bytes + filled), LONGEST + 1 - filled, 0)) > 0) filled += count;
  return filled;
}

/* A stopped server accepts no connection: once as many wait as may, the next one is held. */
static word connectOnce(void) {
  static struct address address = { UNIX, { 0 } };
  long patience[2] = { CONNECT_WITHIN_S, 0 };
  word count = length(socketPath);
  if (count >= (word)sizeof address.path) return NAME_TOO_LONG;
  for (word each = 0; each < count; each++) address.path[each] = socketPath[each];
  word socket = call(sys_socket, UNIX, STREAM | CLOSE_ON_EXEC, 0, 0);
  if (socket < 0) return socket;
  call5(sys_setsockopt, socket, SOCKET_LEVEL, SEND_TIMEOUT, (word)patience, sizeof patience);
  word error = call(sys_connect, socket, (word)&address, sizeof address, 0);
  if (error == 0) return socket;
  call(sys_close, socket, 0, 0, 0);
  return error;
}

__attribute__((noreturn)) static void becomeServer(char **argv, word ready, word errors) {
  char *none = 0;
  call(sys_chdir, (word)"/", 0, 0, 0);
  call(sys_dup3, call(sys_openat, CURRENT_FOLDER, (word)"/dev/null", READ_WRITE, 0), INPUT, 0, 0);
  call(sys_dup3, ready, OUTPUT, 0, 0);
  call(sys_dup3, errors, ERRORS, 0, 0);
  call(sys_close_range, ERRORS + 1, -1, 0, 0);
  call(sys_execve, (word)argv[0], (word)argv, (word)&none, 0);
  say("its program cannot be run");
  end(COULD_NOT_RUN);
}

static struct started forkServer(char **argv) {
  int ready[2], errors[2];
  if (call(sys_pipe2, (word)ready, CLOSE_ON_EXEC, 0, 0) < 0 || call(sys_pipe2, (word)errors, CLOSE_ON_EXEC, 0, 0) < 0)
    refuse("the session server did not start: the sandbox has no room for its streams");
  word server = call5(sys_clone, SIGNAL_CHILD, 0, 0, 0, 0);
  if (server < 0) refuse("the session server did not start: the sandbox has no room for another process");
  if (server == 0) becomeServer(argv, ready[1], errors[1]);
  call(sys_close, ready[1], 0, 0, 0);
  call(sys_close, errors[1], 0, 0, 0);
  return (struct started){ server, ready[0], errors[0] };
}

/* `reason`: what the server has said, without the end of its line. */
__attribute__((noreturn)) static void refuseStart(word server, char *reason, word count) {
  call(sys_kill, server, SIGNAL_KILL, 0, 0);
  while (count > 0 && reason[count - 1] <= ' ') count--;
  say("Error: the session server did not start: ");
  print(ERRORS, reason, count);
  say("\n");
  end(FAILED);
}

/* It says that it listens, or why it cannot, and ends. More than is kept of a reason stays unread. */
static void startServer(char **argv) {
  char reason[LONGEST_REASON], sign;
  word said = 0, untilMs = nowMs() + START_WITHIN_MS;
  struct started server = forkServer(argv);
  for (;;) {
    struct polled polled[2] = { { server.ready, POLL_IN, 0 }, { server.errors, POLL_IN, 0 } };
    if (!waitFor(polled, 2, untilMs)) refuseStart(server.process, "not within 20 s", length("not within 20 s"));
    if (polled[0].seen != 0) {
      if (call(sys_read, server.ready, (word)&sign, 1, 0) > 0) break;
      server.ready = -1;
    }
    if (polled[1].seen == 0) continue;
    word count = call(sys_read, server.errors, (word)(reason + said), LONGEST_REASON - said, 0);
    if (count <= 0) refuseStart(server.process, reason, said);
    said += count;
  }
  call(sys_close, server.ready, 0, 0, 0);
  call(sys_close, server.errors, 0, 0, 0);
}

static word reach(char **server) {
  word socket = connectOnce();
  if (socket == NOT_FOUND || socket == REFUSED) {
    if (*server == 0) refuse("no terminal is open; terminal_open opens one");
    startServer(server);
    socket = connectOnce();
  }
  if (socket < 0) refuseUnreached();
  return socket;
}

static word sendSome(word socket, word sent, word count) {
  word more = call5(sys_sendto, socket, (word)(bytes + sent), count - sent, NO_SIGNAL | DO_NOT_WAIT, 0);
  if (more == TRY_AGAIN) return sent;
  /* The server has ended its side, and may have said why. */
  if (more < 0) return count;
  if (sent + more == count) call(sys_shutdown, socket, NOTHING_MORE, 0, 0);
  return sent + more;
}

static void readWhole(word socket, char *at, word count) {
  while (count > 0) {
    word more = call(sys_read, socket, (word)at, count, 0);
    if (more <= 0) refuseEnded();
    at += more, count -= more;
  }
}

static void passPieces(word socket) {
  unsigned char head[4];
  for (;;) {
    readWhole(socket, (char *)head, sizeof head);
    word count = head[0] | head[1] << 8 | head[2] << 16 | (word)head[3] << 24;
    if (count == 0) return;
    if (count > LONGEST) refuse("a piece of the terminal's output is too long");
    readWhole(socket, bytes, count);
    print(OUTPUT, bytes, count);
  }
}

/*
 * Returns how long the answer is, which takes the place of the request: a server that answers early reads no further. Of its first byte
 * nothing else is read, since it may be that of a stream.
 */
static word ask(word socket, word count, word untilMs) {
  word sent = 0, got = 0;
  for (;;) {
    struct polled polled = { socket, POLL_IN | (sent < count ? POLL_OUT : 0), 0 };
    if (!waitFor(&polled, 1, untilMs)) refuseUnreached();
    if ((polled.seen & POLL_OUT) && sent < count) sent = sendSome(socket, sent, count);
    if ((polled.seen & ~POLL_OUT) == 0) continue;
    word more = call(sys_read, socket, (word)(bytes + got), got == 0 ? 1 : LONGEST + 1 - got, 0);
    if (more < 0) refuseEnded();
    if (more == 0) return got;
    sent = count, got += more;
    if (got == 1 && bytes[0] == '~') passPieces(socket), got = 0, untilMs = nowMs() + LAST_WITHIN_MS;
    if (got > LONGEST) refuse("the answer of the session is too long");
  }
}

__attribute__((noreturn, used)) void start(word *stack) {
  char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1;
  if (stack[0] < 3) refuse("ask-terminals: SOCKET and SECONDS are needed");
  socketPath = argv[1];
  word request = readRequest(envp), socket = reach(argv + 3);
  word answer = ask(socket, request, nowMs() + number(argv[2], 10) * MS);
  if (answer == 0 || (bytes[0] != '+' && bytes[0] != '-')) refuseEnded();
  if (bytes[0] == '-') {
    bytes[answer] = 0;
    refuse(bytes + 1);
  }
  print(OUTPUT, bytes + 1, answer - 1);
  end(ANSWERED);
}

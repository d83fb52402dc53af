/*
 * reader: reads files with the rights of another user, who has no rights to this process.
 *
 *   reader UID GID     -1 -1 = as the user that starts it
 *
 * sandboxd starts it as root, for what a policy left behind. The policy cannot signal, trace, starve or imitate it; only the
 * files are the policy's. They are opened without waiting, so a pipe or a lease is an error and not a wait.
 *
 * Requests come on descriptor 0, each ends with a NUL, and each PATH is absolute. Each is answered on descriptor 1 before
 * the next is read:
 *
 *   sPATH            what PATH is; a link is not followed
 *   oPATH            what the file at PATH is, which can be read
 *   lPATH            what is in the folder at PATH, an entry each, then an empty one
 *   kPATH            what the link at PATH names
 *   rBYTES PATH      an empty text, then so many bytes of the file at PATH, and zeros if it has become shorter
 *   gBYTES PATH      an empty text, then the file at PATH, at most so many bytes: `COUNT`, a NUL and the bytes, again and again; 0
 *                    at the end. Files that the kernel makes up, too
 *
 * An entry is `KIND MODE BYTES MTIME NAME` and a NUL; KIND is f (file), u (file that may not be read), d, l, or o (all else).
 * `!ERRNO` and a NUL in place of an answer, or of the rest of a list, says why there is none. If a file fails while its bytes
 * are sent, the program ends with that error as its exit code.
 *
 * Files that the kernel makes up (/proc, /sys, …) are refused with ENODEV, but for `g`: a link to one of them gives whatever error
 * the policy wants, and I/O errors of the disk are what this program is believed for.
 */
#include "kernel.h"

enum { REQUESTS = 0, ANSWERS = 1 };
enum { NO_TERMINAL = 0400, NO_WAIT = 04000, CLOSE_ON_EXEC = 02000000, PATH_ONLY = 010000000, NO_MAGIC_LINKS = 2 };
enum { LINK_ITSELF = 0x100, EFFECTIVE_RIGHTS = 0x200, MAY_READ = 4, BASIC_FACTS = 0x7ff, EMPTY_PATH = 0x1000 };
enum { KIND_BITS = 0170000, FOLDER = 0040000, FILE_ = 0100000, LINK = 0120000, MODE_BITS = 07777 };
enum { SET_DUMPABLE = 4 };
enum { FAILED = 1, SMALL = 512 };

static char out[1 << 16];
static word filled;

static void leave(word error) {
  for (;;) call(sys_exit_group, error == 0 ? 0 : -error, 0, 0, 0);
}

static void flush(void) {
  for (word at = 0; at < filled;) {
    word sent = call(sys_write, ANSWERS, (word)(out + at), filled - at, 0);
    if (sent < 0) leave(-FAILED);
    at += sent;
  }
  filled = 0;
}

static void put(const char *text) {
  if (filled + length(text) >= (word)sizeof out) flush();
  for (; *text != 0; text++) out[filled++] = *text;
}

static void putNumber(word value) {
  char text[24], *at = text + sizeof text - 1;
  int negative = value < 0;
  *at = 0;
  do *--at = '0' + (negative ? -(value % 10) : value % 10);
  while ((value /= 10) != 0);
  if (negative) *--at = '-';
  put(at);
}

static void endText(void) {
  if (filled == sizeof out) flush();
  out[filled++] = 0;
}

static void putError(word error) {
  put("!");
  putNumber(-error);
  endText();
}

/* The kernel's struct statx, which is the same on every machine. */
struct facts {
  unsigned int mask, blockSize;
  unsigned long attributes;
  unsigned int links, uid, gid;
  unsigned short mode, spare;
  unsigned long inode, size, blocks, attributesMask;
  struct { long seconds; unsigned int nanoseconds; int spare; } accessed, born, changed, modified;
  unsigned long rest[16];
};
_Static_assert(sizeof(struct facts) == 256, "the kernel writes all of it");

static void putEntry(char kind, const struct facts *facts, const char *name) {
  char text[2] = { kind, 0 };
  put(text);
  put(" ");
  putNumber(facts->mode & MODE_BITS);
  put(" ");
  putNumber(facts->size);
  put(" ");
  putNumber(facts->modified.seconds);
  put(" ");
  put(name);
  endText();
}

static word look(int folder, const char *name, int flags, struct facts *into) {
  return call5(sys_statx, folder, (word)name, flags, BASIC_FACTS, (word)into);
}

static char kindOf(const struct facts *facts) {
  switch (facts->mode & KIND_BITS) {
    case FILE_: return 'f';
    case FOLDER: return 'd';
    case LINK: return 'l';
    default: return 'o';
  }
}

/* Whether the kernel makes up what is in a file system, by the number that statfs(2) has for each. */
static int isMadeUp(word kind) {
  static const unsigned int all[] = {
    0x9fa0,     /* proc */
    0x62656572, /* sysfs */
    0x27e0eb,   /* cgroup */
    0x63677270, /* cgroup2 */
    0x1cd1,     /* devpts */
    0x64626720, /* debugfs */
    0x74726163, /* tracefs */
    0x73636673, /* securityfs */
    0xf97cff8c, /* selinux */
    0x43415d53, /* smack */
    0x5a3c69f0, /* apparmor */
    0xcafe4a11, /* bpf */
    0x19800202, /* mqueue */
    0x6e736673, /* namespaces */
    0x50494446, /* pidfd */
    0x62656570, /* configfs */
    0x65735543, /* control of FUSE */
    0x6165676c, /* pstore */
    0xde5e81e4, /* EFI variables */
    0x42494e4d, /* binfmt_misc */
    0x7655821,  /* resctrl */
    0x6c6f6f70, /* binder */
  };
  for (unsigned int at = 0; at < sizeof all / sizeof *all; at++)
    if ((unsigned int)kind == all[at]) return 1;
  return 0;
}

static word refuseMadeUp(int file) {
  unsigned long system[16];
  word error = call(sys_fstatfs, file, (word)system, 0, 0);
  return error >= 0 && isMadeUp(system[0]) ? NO_DEVICE : error;
}

/*
 * A descriptor, or an error. Linux before 5.6 does not have openat2, and older container runtimes refuse it with EPERM. Then magic
 * links are followed, with the user's own rights.
 */
static word openPath(const char *path, word flags) {
  struct { unsigned long flags, mode, resolve; } how = { flags | CLOSE_ON_EXEC, 0, NO_MAGIC_LINKS };
  word file = call(sys_openat2, CURRENT_FOLDER, (word)path, (word)&how, sizeof how);
  return file == NO_SUCH_CALL || file == NOT_PERMITTED ? call(sys_openat, CURRENT_FOLDER, (word)path, how.flags, 0) : file;
}

/* Closes `file` if there is an error, and returns one or the other. */
static word fileOr(word error, word file) {
  if (error >= 0) return file;
  call(sys_close, file, 0, 0, 0);
  return error;
}

/* Opens what a descriptor of a path names, which cannot be replaced any more. */
static word openFound(int found) {
  char path[] = "/proc/self/fd/          ", *at = path + sizeof "/proc/self/fd/" - 1, digits[12], *digit = digits;
  do *digit++ = '0' + found % 10;
  while ((found /= 10) > 0);
  while (digit > digits) *at++ = *--digit;
  *at = 0;
  return call(sys_openat, CURRENT_FOLDER, (word)path, NO_WAIT | NO_TERMINAL | CLOSE_ON_EXEC, 0);
}

/* Looks before it opens: a device or a terminal would answer with an error of its own choice, or become this process's terminal. */
static word openChecked(const char *path, struct facts *facts, int mayBeMadeUp) {
  word found = openPath(path, PATH_ONLY);
  if (found < 0) return found;
  word error = look(found, "", EMPTY_PATH, facts);
  char kind = error < 0 ? 0 : kindOf(facts);
  if (kind == 'd') error = IS_A_FOLDER;
  else if (kind != 0 && kind != 'f') error = INVALID;
  if (error >= 0 && !mayBeMadeUp) error = refuseMadeUp(found);
  word file = error < 0 ? error : openFound(found);
  call(sys_close, found, 0, 0, 0);
  return file;
}

static word openFile(const char *path, struct facts *facts) { return openChecked(path, facts, 0); }

static word openFolder(const char *path) {
  word folder = openPath(path, FOLDER_ONLY | NO_WAIT);
  return folder < 0 ? folder : fileOr(refuseMadeUp(folder), folder);
}

static void answerStat(const char *path) {
  struct facts facts;
  word error = look(CURRENT_FOLDER, path, LINK_ITSELF, &facts);
  if (error < 0) return putError(error);
  putEntry(kindOf(&facts), &facts, "");
}

static void answerOpen(const char *path) {
  struct facts facts;
  word file = openFile(path, &facts);
  if (file < 0) return putError(file);
  putEntry('f', &facts, "");
  call(sys_close, file, 0, 0, 0);
}

static word listOne(int folder, const char *name) {
  struct facts facts;
  word error = look(folder, name, LINK_ITSELF, &facts);
  if (error == NOT_FOUND) return 0;
  if (error < 0) return error;
  char kind = kindOf(&facts);
  if (kind == 'f' && call(sys_faccessat2, folder, (word)name, MAY_READ, EFFECTIVE_RIGHTS | LINK_ITSELF) == NO_ACCESS) kind = 'u';
  putEntry(kind, &facts, name);
  return 0;
}

struct dirent { unsigned long inode; long next; unsigned short size; unsigned char kind; char name[]; };

static word listAll(int folder) {
  static char names[1 << 15] __attribute__((aligned(8)));
  for (;;) {
    word bytes = call(sys_getdents64, folder, (word)names, sizeof names, 0);
    if (bytes <= 0) return bytes;
    for (char *at = names; at < names + bytes; at += ((struct dirent *)at)->size) {
      const char *name = ((struct dirent *)at)->name;
      if (same(name, ".") || same(name, "..")) continue;
      word error = listOne(folder, name);
      if (error < 0) return error;
    }
  }
}

static void answerList(const char *path) {
  word folder = openFolder(path);
  word error = folder < 0 ? folder : listAll(folder);
  if (folder >= 0) call(sys_close, folder, 0, 0, 0);
  if (error < 0) return putError(error);
  endText();
}

static void answerLink(const char *path) {
  static char target[LONGEST_PATH + 1];
  word size = call(sys_readlinkat, CURRENT_FOLDER, (word)path, (word)target, LONGEST_PATH);
  if (size < 0) return putError(size);
  target[size] = 0;
  put("=");
  put(target);
  endText();
}

/* Zeros after the file's own end. */
static void sendBytes(int file, word left) {
  int ended = 0;
  while (left > 0) {
    word most = left < (word)sizeof out ? left : (word)sizeof out;
    filled = ended ? 0 : call(sys_read, file, (word)out, most, 0);
    if (filled < 0) leave(filled);
    if (filled == 0) {
      ended = 1;
      for (; filled < most; filled++) out[filled] = 0;
    }
    left -= filled;
    flush();
  }
}

static void answerRead(const char *path, word bytes) {
  struct facts facts;
  word file = openFile(path, &facts);
  if (file < 0) return putError(file);
  endText();
  flush();
  sendBytes(file, bytes);
  call(sys_close, file, 0, 0, 0);
}

/* Returns how many bytes there were, 0 at the end. */
static word sendPiece(int file, word most) {
  static char bytes[1 << 15];
  word got = call(sys_read, file, (word)bytes, most < (word)sizeof bytes ? most : (word)sizeof bytes, 0);
  if (got < 0) {
    putError(got);
    return 0;
  }
  putNumber(got);
  endText();
  flush();
  for (word at = 0; at < got; at++) out[filled++] = bytes[at];
  flush();
  return got;
}

static void answerGet(const char *path, word most) {
  struct facts facts;
  word file = openChecked(path, &facts, 1);
  if (file >= 0 && (word)facts.size > most) file = fileOr(TOO_LARGE, file);
  if (file < 0) return putError(file);
  endText();
  /* What the kernel makes up has no size. */
  word left = facts.size > 0 ? (word)facts.size : most, got = 1;
  while (left > 0 && (got = sendPiece(file, left)) > 0) left -= got;
  if (got > 0) {
    put("0");
    endText();
  }
  call(sys_close, file, 0, 0, 0);
}

static const char *pathOf(const char *request) {
  while (*request != 0 && *request != '/') request++;
  return request;
}

static void answer(const char *request) {
  const char *path = pathOf(request);
  word bytes = number(request + 1, 10);
  switch (*request) {
    case 's': return answerStat(path);
    case 'o': return answerOpen(path);
    case 'l': return answerList(path);
    case 'k': return answerLink(path);
    case 'r': return answerRead(path, bytes);
    case 'g': return answerGet(path, bytes);
    default: putError(INVALID);
  }
}

/* The next request, as far as it has come; 0 when there are no more. */
static char *nextRequest(void) {
  static char in[LONGEST_PATH + SMALL];
  static word begin, end;
  for (;;) {
    for (word at = begin; at < end; at++)
      if (in[at] == 0) {
        char *request = in + begin;
        begin = at + 1;
        return request;
      }
    for (word at = begin; at < end; at++) in[at - begin] = in[at];
    end -= begin;
    begin = 0;
    word got = end == sizeof in ? INVALID : call(sys_read, REQUESTS, (word)(in + end), sizeof in - end, 0);
    if (got <= 0) leave(got);
    end += got;
  }
}

/*
 * The user's rights to files, and no capability, not even to see other processes. Signals and priorities go by the other ids, which
 * stay root's. A kernel without setfsuid (gVisor) gets the user as effective id, by which signals do not go either.
 */
static word takeRights(word uid, word gid) {
  unsigned int none[BOTH_SETS] = { 0, 0, 0, 0, 0, 0 };
  word error = call(sys_setgroups, 0, 0, 0, 0);
  if (error < 0) return error;
  call(sys_setfsgid, gid, 0, 0, 0);
  call(sys_setfsuid, uid, 0, 0, 0);
  if (call(sys_setfsgid, -1, 0, 0, 0) != gid || call(sys_setfsuid, -1, 0, 0, 0) != uid) {
    error = call(sys_setresgid, -1, gid, -1, 0);
    if (error >= 0) error = call(sys_setresuid, -1, uid, -1, 0);
    if (error < 0) return error;
  }
  return capabilities(sys_capset, none);
}

__attribute__((noreturn, used)) void start(word *stack) {
  char **argv = (char **)(stack + 1);
  if (stack[0] != 3) leave(INVALID);
  word uid = number(argv[1], 10), error = uid < 0 ? 0 : takeRights(uid, number(argv[2], 10));
  if (error < 0) leave(error);
  call(sys_prctl, SET_DUMPABLE, 0, 0, 0);
  for (;;) {
    answer(nextRequest());
    flush();
  }
}

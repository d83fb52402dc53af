/*
 * What the programs here share in place of a libc: system calls, and the least about text. A sandbox's image has no libc that
 * they could count on, and each start would pay for it.
 */
typedef long word;

#define SHARED static __attribute__((unused))

enum { NOT_PERMITTED = -1, NOT_FOUND = -2, NO_EXEC_FORMAT = -8, NO_ACCESS = -13, NO_DEVICE = -19, NOT_A_FOLDER = -20, IS_A_FOLDER = -21, INVALID = -22,
  TOO_LARGE = -27, NAME_TOO_LONG = -36, NO_SUCH_CALL = -38, TIMED_OUT = -110, STALE = -116 };
enum { CURRENT_FOLDER = -100, LONGEST_NAME = 255, LONGEST_PATH = 4096 };

/* A system call with up to five arguments. */
#if defined(__x86_64__)
enum { sys_read = 0, sys_write = 1, sys_close = 3, sys_execve = 59, sys_fcntl = 72, sys_chdir = 80, sys_umask = 95,
  sys_setuid = 105, sys_setgid = 106, sys_setgroups = 116, sys_setresuid = 117, sys_setresgid = 119, sys_setfsuid = 122, sys_setfsgid = 123, sys_capget = 125, sys_capset = 126,
  sys_fstatfs = 138, sys_setpriority = 141, sys_prctl = 157, sys_chroot = 161, sys_getdents64 = 217, sys_exit_group = 231, sys_openat = 257,
  sys_readlinkat = 267, sys_prlimit64 = 302, sys_statx = 332, sys_close_range = 436, sys_openat2 = 437, sys_faccessat2 = 439 };
enum { FOLDER_ONLY = 0200000, NO_LINK = 0400000 };

SHARED word call5(word number, word a, word b, word c, word d, word e) {
  word result;
  register word fourth __asm__("r10") = d;
  register word fifth __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                   : "rcx", "r11", "memory");
  return result;
}

__asm__(".globl _start\n_start: mov %rsp, %rdi\nand $-16, %rsp\ncall start\n");
#elif defined(__aarch64__)
enum { sys_fcntl = 25, sys_fstatfs = 44, sys_chdir = 49, sys_chroot = 51, sys_openat = 56, sys_close = 57, sys_getdents64 = 61, sys_read = 63,
  sys_write = 64, sys_readlinkat = 78, sys_capget = 90, sys_capset = 91, sys_exit_group = 94, sys_setpriority = 140, sys_setgid = 144,
  sys_setuid = 146, sys_setresuid = 147, sys_setresgid = 149, sys_setfsuid = 151, sys_setfsgid = 152, sys_setgroups = 159, sys_umask = 166, sys_prctl = 167,
  sys_execve = 221, sys_prlimit64 = 261, sys_statx = 291, sys_close_range = 436, sys_openat2 = 437, sys_faccessat2 = 439 };
enum { FOLDER_ONLY = 040000, NO_LINK = 0100000 };

SHARED word call5(word number, word a, word b, word c, word d, word e) {
  register word wanted __asm__("x8") = number;
  register word first __asm__("x0") = a;
  register word second __asm__("x1") = b;
  register word third __asm__("x2") = c;
  register word fourth __asm__("x3") = d;
  register word fifth __asm__("x4") = e;
  __asm__ volatile("svc 0"
                   : "+r"(first)
                   : "r"(wanted), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                   : "memory");
  return first;
}

__asm__(".globl _start\n_start: mov x0, sp\nbl start\n");
#endif

/* prctl wants a fifth argument that is 0. */
SHARED word call(word number, word a, word b, word c, word d) { return call5(number, a, b, c, d, 0); }

/* The capabilities of this process, and then those with numbers from 32 on: effective, permitted, inheritable. */
enum { EFFECTIVE, PERMITTED, INHERITABLE, OF_SETS, BOTH_SETS = 2 * OF_SETS };

SHARED word capabilities(word number, unsigned int *sets) {
  struct { unsigned int version; int process; } header = { 0x20080522, 0 };
  return call(number, (word)&header, (word)sets, 0, 0);
}

SHARED word length(const char *text) {
  word count = 0;
  while (text[count] != 0) count++;
  return count;
}

SHARED int same(const char *one, const char *other) {
  while (*one != 0 && *one == *other) one++, other++;
  return *one == *other;
}

SHARED word number(const char *digits, int base) {
  int negative = *digits == '-';
  word value = 0;
  for (digits += negative; *digits >= '0' && *digits <= '9'; digits++) value = value * base + (*digits - '0');
  return negative ? -value : value;
}

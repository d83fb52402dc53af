/*
 * mount-root: mounts the roots of a sandbox over the folder of an image, in the mount namespace that it is started in.
 *
 *   mount-root BASE USERS GROUPS LAYERS STAGE     1 = it could not; the reason is on stderr
 *
 *   BASE     this machine's id of the sandbox's user 0, who owns its root
 *   USERS    this machine's ids of the image's users, as uid_map of user_namespaces(7) has them
 *   GROUPS   the same of its groups
 *   LAYERS   folders of the image, absolute paths, the uppermost first, one a line
 *   STAGE    folder with these folders:
 *     skeleton   what every sandbox has in its root: mount points, and its own files of /etc
 *     disk       an empty file system, which limits what the sandbox may write. `0`, `1`, … in it get the layers with their owners
 *                shifted so; the sandbox does not see these
 *     root       gets the sandbox's root: `disk` above `skeleton` above the layers
 *     grader     gets the same without `disk`, read-only: what the sandbox writes is not in there
 *
 * A mount has its owners shifted by a user namespace that maps them so. That takes a process in such a namespace, for as long as it
 * takes to open the namespace. Overlays themselves cannot be shifted, so this happens below them (Linux 5.19).
 *
 * The compiled files are written by `node infra/payload/native/main.ts`.
 */
#include "kernel.h"

enum { STANDARD_ERROR = 2, WRITE_ONLY = 1, CLOSE_ON_EXEC = 02000000, PARENT_DEATH_SIGNAL = 1, KILL = 9, CHILD = 17, NEW_USER = 0x10000000 };
enum { CLONE_TREE = 1, EMPTY_PATH = 0x1000, FROM_EMPTY_PATH = 4, READ_ONLY = 1, SHIFTED = 0x100000 };
enum { FOLDER_MODE = 0755 };
/* As many as container engines take. Their names fit into a page, as the options of a mount must. */
enum { MOST_LAYERS = 128, LONGEST_OPTIONS = 4096 };

#if defined(__x86_64__)
enum { sys_clone = 56, sys_wait4 = 61, sys_kill = 62, sys_mount = 165, sys_mkdirat = 258, sys_fchownat = 260, sys_fchmodat = 268, sys_ppoll = 271 };
#elif defined(__aarch64__)
enum { sys_mkdirat = 34, sys_mount = 40, sys_fchmodat = 53, sys_fchownat = 54, sys_ppoll = 73, sys_kill = 129, sys_clone = 220, sys_wait4 = 260 };
#endif
enum { sys_open_tree = 428, sys_move_mount = 429, sys_mount_setattr = 442 };

/* The kernel's `mount_attr`. */
struct attributes { unsigned long set, cleared, propagation, namespace; };

static char *append(char *at, const char *text) {
  while (*text != 0) *at++ = *text++;
  *at = 0;
  return at;
}

static char *appendNumber(char *at, word number) {
  char digits[20], *digit = digits;
  do *digit++ = '0' + number % 10, number /= 10;
  while (number > 0);
  while (digit > digits) *at++ = *--digit;
  *at = 0;
  return at;
}

/* Returns what is not an error. */
static word must(const char *what, word result) {
  if (result >= 0) return result;
  char text[128], *end = append(appendNumber(append(append(append(text, "mount-root: "), what), ": error "), -result), "\n");
  call(sys_write, STANDARD_ERROR, (word)text, end - text, 0);
  for (;;) call(sys_exit_group, 1, 0, 0, 0);
}

static word processFile(word process, const char *name, word flags) {
  char path[64];
  append(append(appendNumber(append(path, "/proc/"), process), "/"), name);
  return must(name, call(sys_openat, CURRENT_FOLDER, (word)path, flags | CLOSE_ON_EXEC, 0));
}

static void write(word process, const char *map, const char *text) {
  word file = processFile(process, map, WRITE_ONLY);
  must(map, call(sys_write, file, (word)text, length(text), 0));
  call(sys_close, file, 0, 0, 0);
}

/* A user namespace with these ids. It lasts as long as this descriptor. */
static word namespaceOf(const char *users, const char *groups) {
  word process = must("user namespace", call(sys_clone, NEW_USER | CHILD, 0, 0, 0));
  if (process == 0) {
    call(sys_prctl, PARENT_DEATH_SIGNAL, KILL, 0, 0);
    for (;;) call(sys_ppoll, 0, 0, 0, 0);
  }
  write(process, "uid_map", users);
  write(process, "gid_map", groups);
  word namespace = processFile(process, "ns/user", 0);
  call(sys_kill, process, KILL, 0, 0);
  call(sys_wait4, process, 0, 0, 0);
  return namespace;
}

static void mountShifted(const char *layer, const char *at, word namespace) {
  struct attributes attributes = { SHIFTED | READ_ONLY, 0, 0, namespace };
  word tree = must("layer", call(sys_open_tree, CURRENT_FOLDER, (word)layer, CLONE_TREE | CLOSE_ON_EXEC, 0));
  must("owners", call5(sys_mount_setattr, tree, (word)"", EMPTY_PATH, (word)&attributes, sizeof attributes));
  must("place", call5(sys_move_mount, tree, (word)"", CURRENT_FOLDER, (word)at, FROM_EMPTY_PATH));
  call(sys_close, tree, 0, 0, 0);
}

/* The root of an overlay has the owner and the mode of the uppermost one. */
static void makeFolder(const char *path, word owner) {
  must("disk", call(sys_mkdirat, CURRENT_FOLDER, (word)path, FOLDER_MODE, 0));
  must("disk", call(sys_fchmodat, CURRENT_FOLDER, (word)path, FOLDER_MODE, 0));
  must("disk", call5(sys_fchownat, CURRENT_FOLDER, (word)path, owner, owner, 0));
}

/* Ends the first line of a text, and returns the next; null after the last. */
static char *cutLine(char *text) {
  while (*text != 0 && *text != '\n') text++;
  if (*text == 0) return 0;
  *text = 0;
  return text + 1;
}

/* Mounts each layer with its owners shifted, and writes the overlay's option of all lower ones. Returns its end. */
static char *mountLayers(char *layers, word namespace, char *option) {
  char *end = append(option, "lowerdir=skeleton");
  for (word index = 0; layers != 0; index++) {
    must("too many layers", index < MOST_LAYERS ? 0 : TOO_LARGE);
    char *next = cutLine(layers), place[32];
    appendNumber(append(place, "disk/"), index);
    makeFolder(place, 0);
    mountShifted(layers, place, namespace);
    end = append(append(end, ":"), place);
    layers = next;
  }
  return end;
}

static void mountOverlay(const char *at, word flags, const char *options) {
  must("overlay", call5(sys_mount, (word)"corral-root", (word)at, (word)"overlay", flags, (word)options));
}

/* STAGE becomes the working folder, so that the layers have short names without any character that separates them. */
__attribute__((noreturn, used)) void start(word *stack) {
  char **argv = (char **)(stack + 1);
  must("BASE, USERS, GROUPS, LAYERS and STAGE are needed", stack[0] == 6 ? 0 : INVALID);
  must("stage", call(sys_chdir, (word)argv[5], 0, 0, 0));
  char options[LONGEST_OPTIONS];
  char *end = mountLayers(argv[4], namespaceOf(argv[2], argv[3]), options);
  makeFolder("disk/upper", number(argv[1], 10));
  makeFolder("disk/work", 0);
  /* A folder of the image is renamed in one step, as elsewhere: Linux refuses that by default (EXDEV). To change an owner or a mode does
   * not copy the file. All files are on one device (xino), or `du -x` and `tar --one-file-system` would leave the image's out. */
  append(end, ",xino=on,upperdir=disk/upper,workdir=disk/work,redirect_dir=on,metacopy=on");
  mountOverlay("root", 0, options);
  append(end, ",xino=on");
  mountOverlay("grader", READ_ONLY, options);
  for (;;) call(sys_exit_group, 0, 0, 0, 0);
}

/** `refuse`: EPERM. `unknown`: ENOSYS, as from a kernel without it. `arguments`: by one of them, see `filter.ts`. */
export type Rule = 'allow' | 'refuse' | 'unknown' | 'arguments';

export type SystemCall = {
  readonly name: string;
  /** Its number; null where the architecture does not have it. */
  readonly x64: number | null;
  readonly arm64: number | null;
  readonly rule: Rule;
};

/**
 * Every system call of Linux 6.1, and two newer ones that libraries use: its name, its number on x86_64 and on arm64 (`-`: none),
 * and what sandboxes may do with it. Other newer ones are unknown to the filter, and programs then do what they do on an older kernel.
 *
 * Numbers: `asm/unistd_64.h` and `asm-generic/unistd.h` of the kernel's headers (Debian's `linux-libc-dev` 6.1).
 * Rules: the default profile of container engines (`seccomp/default.json` of github.com/moby/profiles at cd3bed8,
 * Apache-2.0) as it is without capabilities, but: `name_to_handle_at` and `modify_ldt` are refused, which have been a
 * way out of the mount tree and into the kernel more than once and which no program here needs; `io_setup` is unknown,
 * whose number of requests the kernel counts for the whole machine, so that one sandbox could take them all;
 * `chroot` is allowed, which takes a capability that only sandboxd and root of a sandbox have: sandboxd starts graders in a root of their own, and
 * services such as sshd confine themselves by it;
 * `socket`, `socketpair` take only the families that a machine without hardware has; and `fcntl`, `clone`, `setsockopt` and netlink sockets
 * follow the rules of every sandbox (`src/protocol/sandboxd/system-call-filter.ts`).
 */
export const systemCalls: readonly SystemCall[] = `
read 0 63 allow
write 1 64 allow
open 2 - allow
close 3 57 allow
stat 4 - allow
fstat 5 80 allow
lstat 6 - allow
poll 7 - allow
lseek 8 62 allow
mmap 9 222 allow
mprotect 10 226 allow
munmap 11 215 allow
brk 12 214 allow
rt_sigaction 13 134 allow
rt_sigprocmask 14 135 allow
rt_sigreturn 15 139 allow
ioctl 16 29 allow
pread64 17 67 allow
pwrite64 18 68 allow
readv 19 65 allow
writev 20 66 allow
access 21 - allow
pipe 22 - allow
select 23 - allow
sched_yield 24 124 allow
mremap 25 216 allow
msync 26 227 allow
mincore 27 232 allow
madvise 28 233 allow
shmget 29 194 allow
shmat 30 196 allow
shmctl 31 195 allow
dup 32 23 allow
dup2 33 - allow
pause 34 - allow
nanosleep 35 101 allow
getitimer 36 102 allow
alarm 37 - allow
setitimer 38 103 allow
getpid 39 172 allow
sendfile 40 71 allow
socket 41 198 arguments
connect 42 203 allow
accept 43 202 allow
sendto 44 206 allow
recvfrom 45 207 allow
sendmsg 46 211 allow
recvmsg 47 212 allow
shutdown 48 210 allow
bind 49 200 allow
listen 50 201 allow
getsockname 51 204 allow
getpeername 52 205 allow
socketpair 53 199 arguments
setsockopt 54 208 arguments
getsockopt 55 209 allow
clone 56 220 arguments
fork 57 - allow
vfork 58 - allow
execve 59 221 allow
exit 60 93 allow
wait4 61 260 allow
kill 62 129 allow
uname 63 160 allow
semget 64 190 allow
semop 65 193 allow
semctl 66 191 allow
shmdt 67 197 allow
msgget 68 186 allow
msgsnd 69 189 allow
msgrcv 70 188 allow
msgctl 71 187 allow
fcntl 72 25 arguments
flock 73 32 allow
fsync 74 82 allow
fdatasync 75 83 allow
truncate 76 45 allow
ftruncate 77 46 allow
getdents 78 - allow
getcwd 79 17 allow
chdir 80 49 allow
fchdir 81 50 allow
rename 82 - allow
mkdir 83 - allow
rmdir 84 - allow
creat 85 - allow
link 86 - allow
unlink 87 - allow
symlink 88 - allow
readlink 89 - allow
chmod 90 - allow
fchmod 91 52 allow
chown 92 - allow
fchown 93 55 allow
lchown 94 - allow
umask 95 166 allow
gettimeofday 96 169 allow
getrlimit 97 163 allow
getrusage 98 165 allow
sysinfo 99 179 allow
times 100 153 allow
ptrace 101 117 allow
getuid 102 174 allow
syslog 103 116 refuse
getgid 104 176 allow
setuid 105 146 allow
setgid 106 144 allow
geteuid 107 175 allow
getegid 108 177 allow
setpgid 109 154 allow
getppid 110 173 allow
getpgrp 111 - allow
setsid 112 157 allow
setreuid 113 145 allow
setregid 114 143 allow
getgroups 115 158 allow
setgroups 116 159 allow
setresuid 117 147 allow
getresuid 118 148 allow
setresgid 119 149 allow
getresgid 120 150 allow
getpgid 121 155 allow
setfsuid 122 151 allow
setfsgid 123 152 allow
getsid 124 156 allow
capget 125 90 allow
capset 126 91 allow
rt_sigpending 127 136 allow
rt_sigtimedwait 128 137 allow
rt_sigqueueinfo 129 138 allow
rt_sigsuspend 130 133 allow
sigaltstack 131 132 allow
utime 132 - allow
mknod 133 - allow
uselib 134 - refuse
personality 135 92 arguments
ustat 136 - refuse
statfs 137 43 allow
fstatfs 138 44 allow
sysfs 139 - refuse
getpriority 140 141 allow
setpriority 141 140 allow
sched_setparam 142 118 allow
sched_getparam 143 121 allow
sched_setscheduler 144 119 allow
sched_getscheduler 145 120 allow
sched_get_priority_max 146 125 allow
sched_get_priority_min 147 126 allow
sched_rr_get_interval 148 127 allow
mlock 149 228 allow
munlock 150 229 allow
mlockall 151 230 allow
munlockall 152 231 allow
vhangup 153 58 refuse
modify_ldt 154 - refuse
pivot_root 155 41 refuse
_sysctl 156 - refuse
prctl 157 167 allow
arch_prctl 158 - allow
adjtimex 159 171 allow
setrlimit 160 164 allow
chroot 161 51 allow
sync 162 81 allow
acct 163 89 refuse
settimeofday 164 170 refuse
mount 165 40 refuse
umount2 166 39 refuse
swapon 167 224 refuse
swapoff 168 225 refuse
reboot 169 142 refuse
sethostname 170 161 refuse
setdomainname 171 162 refuse
iopl 172 - refuse
ioperm 173 - refuse
create_module 174 - refuse
init_module 175 105 refuse
delete_module 176 106 refuse
get_kernel_syms 177 - refuse
query_module 178 - refuse
quotactl 179 60 refuse
nfsservctl 180 42 refuse
getpmsg 181 - refuse
putpmsg 182 - refuse
afs_syscall 183 - refuse
tuxcall 184 - refuse
security 185 - refuse
gettid 186 178 allow
readahead 187 213 allow
setxattr 188 5 allow
lsetxattr 189 6 allow
fsetxattr 190 7 allow
getxattr 191 8 allow
lgetxattr 192 9 allow
fgetxattr 193 10 allow
listxattr 194 11 allow
llistxattr 195 12 allow
flistxattr 196 13 allow
removexattr 197 14 allow
lremovexattr 198 15 allow
fremovexattr 199 16 allow
tkill 200 130 allow
time 201 - allow
futex 202 98 allow
sched_setaffinity 203 122 allow
sched_getaffinity 204 123 allow
set_thread_area 205 - allow
io_setup 206 0 unknown
io_destroy 207 1 allow
io_getevents 208 4 allow
io_submit 209 2 allow
io_cancel 210 3 allow
get_thread_area 211 - allow
lookup_dcookie 212 18 refuse
epoll_create 213 - allow
epoll_ctl_old 214 - allow
epoll_wait_old 215 - allow
remap_file_pages 216 234 allow
getdents64 217 61 allow
set_tid_address 218 96 allow
restart_syscall 219 128 allow
semtimedop 220 192 allow
fadvise64 221 223 allow
timer_create 222 107 allow
timer_settime 223 110 allow
timer_gettime 224 108 allow
timer_getoverrun 225 109 allow
timer_delete 226 111 allow
clock_settime 227 112 refuse
clock_gettime 228 113 allow
clock_getres 229 114 allow
clock_nanosleep 230 115 allow
exit_group 231 94 allow
epoll_wait 232 - allow
epoll_ctl 233 21 allow
tgkill 234 131 allow
utimes 235 - allow
vserver 236 - refuse
mbind 237 235 refuse
set_mempolicy 238 237 refuse
get_mempolicy 239 236 refuse
mq_open 240 180 allow
mq_unlink 241 181 allow
mq_timedsend 242 182 allow
mq_timedreceive 243 183 allow
mq_notify 244 184 allow
mq_getsetattr 245 185 allow
kexec_load 246 104 refuse
waitid 247 95 allow
add_key 248 217 refuse
request_key 249 218 refuse
keyctl 250 219 refuse
ioprio_set 251 30 allow
ioprio_get 252 31 allow
inotify_init 253 - allow
inotify_add_watch 254 27 allow
inotify_rm_watch 255 28 allow
migrate_pages 256 238 refuse
openat 257 56 allow
mkdirat 258 34 allow
mknodat 259 33 allow
fchownat 260 54 allow
futimesat 261 - allow
newfstatat 262 79 allow
unlinkat 263 35 allow
renameat 264 38 allow
linkat 265 37 allow
symlinkat 266 36 allow
readlinkat 267 78 allow
fchmodat 268 53 allow
faccessat 269 48 allow
pselect6 270 72 allow
ppoll 271 73 allow
unshare 272 97 refuse
set_robust_list 273 99 allow
get_robust_list 274 100 allow
splice 275 76 allow
tee 276 77 allow
sync_file_range 277 84 allow
vmsplice 278 75 allow
move_pages 279 239 refuse
utimensat 280 88 allow
epoll_pwait 281 22 allow
signalfd 282 - allow
timerfd_create 283 85 allow
eventfd 284 - allow
fallocate 285 47 allow
timerfd_settime 286 86 allow
timerfd_gettime 287 87 allow
accept4 288 242 allow
signalfd4 289 74 allow
eventfd2 290 19 allow
epoll_create1 291 20 allow
dup3 292 24 allow
pipe2 293 59 allow
inotify_init1 294 26 allow
preadv 295 69 allow
pwritev 296 70 allow
rt_tgsigqueueinfo 297 240 allow
perf_event_open 298 241 refuse
recvmmsg 299 243 allow
fanotify_init 300 262 refuse
fanotify_mark 301 263 allow
prlimit64 302 261 allow
name_to_handle_at 303 264 refuse
open_by_handle_at 304 265 refuse
clock_adjtime 305 266 allow
syncfs 306 267 allow
sendmmsg 307 269 allow
setns 308 268 refuse
getcpu 309 168 allow
process_vm_readv 310 270 allow
process_vm_writev 311 271 allow
kcmp 312 272 refuse
finit_module 313 273 refuse
sched_setattr 314 274 allow
sched_getattr 315 275 allow
renameat2 316 276 allow
seccomp 317 277 allow
getrandom 318 278 allow
memfd_create 319 279 allow
kexec_file_load 320 294 refuse
bpf 321 280 refuse
execveat 322 281 allow
userfaultfd 323 282 refuse
membarrier 324 283 allow
mlock2 325 284 allow
copy_file_range 326 285 allow
preadv2 327 286 allow
pwritev2 328 287 allow
pkey_mprotect 329 288 allow
pkey_alloc 330 289 allow
pkey_free 331 290 allow
statx 332 291 allow
io_pgetevents 333 292 allow
rseq 334 293 allow
pidfd_send_signal 424 424 allow
io_uring_setup 425 425 refuse
io_uring_enter 426 426 refuse
io_uring_register 427 427 refuse
open_tree 428 428 refuse
move_mount 429 429 refuse
fsopen 430 430 refuse
fsconfig 431 431 refuse
fsmount 432 432 refuse
fspick 433 433 refuse
pidfd_open 434 434 allow
clone3 435 435 unknown
close_range 436 436 allow
openat2 437 437 allow
pidfd_getfd 438 438 refuse
faccessat2 439 439 allow
process_madvise 440 440 refuse
epoll_pwait2 441 441 allow
mount_setattr 442 442 refuse
quotactl_fd 443 443 refuse
landlock_create_ruleset 444 444 allow
landlock_add_rule 445 445 allow
landlock_restrict_self 446 446 allow
memfd_secret 447 447 allow
process_mrelease 448 448 allow
futex_waitv 449 449 allow
set_mempolicy_home_node 450 450 refuse
cachestat 451 451 allow
fchmodat2 452 452 allow
`
  .trim()
  .split('\n')
  .map(parse);

function parse(line: string): SystemCall {
  const [name = '', x64 = '', arm64 = '', rule = ''] = line.split(' ');
  return { name, x64: numberOf(x64), arm64: numberOf(arm64), rule: ruleOf(rule, line) };
}

function numberOf(text: string): number | null {
  return text === '-' ? null : Number(text);
}

function ruleOf(text: string, line: string): Rule {
  if (text === 'allow' || text === 'refuse' || text === 'unknown' || text === 'arguments') return text;
  throw new Error(`no rule in ${line}`);
}

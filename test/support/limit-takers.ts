import { systemCalls } from '#services/node/seccomp/system-calls.ts';
import type { SharedLimit } from '#src/protocol/sandboxd/wire.ts';

/*
 * Programs that take all of what the kernel grants to a user, one for each limit. Each writes `took N` and holds what it has until its input ends.
 */

const numbers = Object.fromEntries(
  systemCalls.map(({ name, x64, arm64 }) => [name, process.arch === 'x64' ? x64 : arm64]),
);
const call = (name: string) => `syscall(${numbers[name]}, `;

/** `$n` counts what was taken. */
const takes = {
  inotify_instances: `$n++ while ${call('inotify_init1')}0) >= 0;`,
  pipe_memory: 'while ($n < 1100 && pipe(my $from, my $to)) { push @held, $from, $to; $n++ }',
  pending_signals: `my $id = pack("i", 0); $n++ while ${call('timer_create')}1, 0, $id) >= 0;`,
  files_in_flight: `use Socket; open my $root, "<", "/"; my $files = pack("QiiL250", 16 + 1000, 1, 1, (fileno($root)) x 250);
    my $part = pack("PQ", "x", 1); my $message = pack("QQPQPQQ", 0, 0, $part, 1, $files, 1016, 0);
    for (;;) { socketpair(my $from, my $to, AF_UNIX, SOCK_DGRAM, 0) or last; push @held, $from, $to;
      $n++ while ${call('sendmsg')}fileno($from), $message, 0x40) > 0; last if $!{ETOOMANYREFS}; }`,
  // Without its name a queue ends with its process, however that ends.
  message_queues: `while (${call('mq_open')}"taken$$", 0102, 0600, 0) >= 0) { ${call('mq_unlink')}"taken$$"); $n++ }`,
  locked_memory: `for my $bytes (1 << 20, 4096) { for (;;) { my $id = shmget(0, $bytes, 01600); push @held, $id;
      last if ${call('shmctl')}$id, 11, 0) < 0; $n++; } } END { shmctl($_, 0, 0) for @held }`,
} as const satisfies Partial<Record<SharedLimit, string>>;

export type TakenLimit = keyof typeof takes;
export const takenLimits = Object.keys(takes) as readonly TakenLimit[];

/** A program of perl, for a shell. It takes each that is given back meanwhile, such as what sandboxd tries with. */
export const takeAll = (limit: TakenLimit): string =>
  `perl -MErrno -MIO::Select -e '$| = 1; my $n = 0; my @held; sub take { ${takes[limit].replaceAll("'", '"')} } take(); print "took $n\\n"; take() until IO::Select->new(*STDIN)->can_read(0.01);'`;

/** Programs of perl that make a message queue, and that say whether there is one. */
export const queuePrograms = (name: string) => ({
  create: `my $name = "${name}"; ${call('mq_open')}$name, 0102, 0600, 0) >= 0 or die $!`,
  find: `my $name = "${name}"; print ${call('mq_open')}$name, 0, 0, 0) >= 0 ? "found" : "removed"`,
});

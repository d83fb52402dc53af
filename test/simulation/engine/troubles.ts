type Row = {
  /** Where it happens, for the story, if it is nobody's in particular. */
  readonly where: string;
  /** How likely it is, whenever it could happen. */
  readonly share: number;
  /** For whoever reads the story; null: of every day, and only counted. */
  readonly says: string | null;
};

/** Small troubles. Each is one that the real counterpart can have. */
export const troubles = {
  redis_cut_before: {
    where: 'redis',
    share: 0.01,
    says: 'the connection to Redis breaks before the script has run',
  },
  redis_cut_after: {
    where: 'redis',
    share: 0.01,
    says: 'the connection to Redis breaks after the script, before its answer',
  },
  // The answer travels for so long that much else happens in between.
  redis_slow: { where: 'redis', share: 0.03, says: null },
  lock_lost: { where: 'queue', share: 0.15, says: 'its worker goes on, and another gets its launch' },
  tries_used_up: { where: 'queue', share: 0.7, says: 'the queue gives its launch up with this try' },
  // A wake-up is a hint: lost, or told of a rollout that nothing happened to.
  message_lost: { where: 'redis', share: 0.25, says: null },
  message_spurious: { where: 'redis', share: 0.05, says: null },
  link_refused: { where: 'network', share: 0.02, says: 'nobody listens at its address just now' },
  link_cut_before: {
    where: 'network',
    share: 0.015,
    says: 'the connection breaks before sandboxd has read the request',
  },
  link_cut_after: {
    where: 'network',
    share: 0.02,
    says: 'the connection breaks after sandboxd acted, before its answer',
  },
  link_slow: { where: 'network', share: 0.05, says: null },
  link_twice: {
    where: 'network',
    share: 0.03,
    says: "the connection's own repeat arrives although the first was read",
  },
  link_late: { where: 'network', share: 0.5, says: 'a request arrives although its client has given up' },
  http_cut_before: {
    where: 'network',
    share: 0.015,
    says: 'the connection from the trainer breaks before the gateway has read',
  },
  http_cut_after: {
    where: 'network',
    share: 0.02,
    says: 'the connection to the trainer breaks before the answer',
  },
  create_fails: { where: 'engine', share: 0.05, says: 'the engine refuses to make it' },
  create_unanswered: { where: 'engine', share: 0.05, says: 'the engine makes it, and its answer is lost' },
  create_hangs: { where: 'engine', share: 0.02, says: 'the engine never answers whether it makes it' },
  create_silent: { where: 'engine', share: 0.04, says: 'it runs, and its sandboxd never answers' },
  create_dies: { where: 'engine', share: 0.03, says: 'it will end as soon as it runs' },
  provider_away: { where: 'engine', share: 0.03, says: 'the engine does not answer' },
  event_late: { where: 'engine', share: 0.2, says: null },
  event_lost: {
    where: 'engine',
    share: 0.1,
    says: 'a watch misses what happened to it, until its next list',
  },
  event_twice: { where: 'engine', share: 0.1, says: null },
  judge_busy: { where: 'judge', share: 0.1, says: 'the judge answers 429' },
  judge_fails: { where: 'judge', share: 0.08, says: 'the judge answers 500' },
  judge_half: { where: 'judge', share: 0.15, says: 'the judge breaks off in the middle of its score' },
  judge_silent: { where: 'judge', share: 0.05, says: 'the judge never answers' },
} as const satisfies Record<string, Row>;

export type Trouble = keyof typeof troubles;

/** What may happen any day without anybody's fault, and must hurt nobody: in every world. */
export const everyday: ReadonlySet<Trouble> = new Set([
  'message_lost',
  'message_spurious',
  'event_late',
  'event_twice',
  'link_slow',
  'redis_slow',
]);

import type { Metrics } from '#src/ports/metrics.ts';

export type FakeMetrics = Metrics & {
  readonly recorded: { readonly name: string; readonly values: readonly unknown[] }[];
};

/** Keeps what was counted, in order. */
export function createFakeMetrics(): FakeMetrics {
  const recorded: FakeMetrics['recorded'] = [];
  const as =
    (name: keyof Metrics) =>
    (...values: readonly unknown[]) =>
      void recorded.push({ name, values });
  return {
    recorded,
    launchEnded: as('launchEnded'),
    poolCounted: as('poolCounted'),
    startsCounted: as('startsCounted'),
    ownersUnlabelled: as('ownersUnlabelled'),
    sandboxLost: as('sandboxLost'),
    sandboxDestroyed: as('sandboxDestroyed'),
    garbageFound: as('garbageFound'),
    rolloutsExpired: as('rolloutsExpired'),
    grantsTakenBack: as('grantsTakenBack'),
    loopFailed: as('loopFailed'),
  };
}

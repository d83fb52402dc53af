import type { WorkMetrics } from '#src/ports/gateway-metrics.ts';

export type FakeWorkMetrics = WorkMetrics & {
  /** Names of what was told, with its values. */
  readonly recorded: { readonly name: keyof WorkMetrics; readonly values: readonly unknown[] }[];
};

/** Keeps what was told, in order. */
export function createFakeWorkMetrics(): FakeWorkMetrics {
  const recorded: FakeWorkMetrics['recorded'] = [];
  const as =
    (name: keyof WorkMetrics) =>
    (...values: readonly unknown[]) =>
      void recorded.push({ name, values });
  return {
    recorded,
    obtained: as('obtained'),
    callAnswered: as('callAnswered'),
    graded: as('graded'),
    judged: as('judged'),
    replayed: as('replayed'),
  };
}

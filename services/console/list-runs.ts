import type { RunsAnswer } from '#src/protocol/console/runs.ts';
import { RunAnswer, RunsAnswer as RunNames } from '#src/protocol/native/runs.ts';
import type { RunReaders } from './run-readers.ts';
import type { Session } from './sessions.ts';

/** A run's report is read from fleet state as a whole, so few are asked for at once. */
const pageLength = 20;
const atOnce = 4;
const mostMeans = 60;

/** A page of the tenant's runs as fleet state has them, from the newest on. */
export async function listRuns(session: Session, readers: RunReaders, cursor: number): Promise<RunsAnswer> {
  const { runs: names } = await session.gateway.ask('/v1/runs', RunNames);
  const page = names.slice(cursor, cursor + pageLength);
  const lines: RunsAnswer['runs'] = [];
  for (let at = 0; at < page.length; at += atOnce) {
    const some = page.slice(at, at + atOnce);
    const read = await Promise.all(some.map((run) => lineOf(session, readers, run)));
    lines.push(...read.flatMap((line) => (line === null ? [] : [line])));
  }
  const next = cursor + pageLength;
  return { runs: lines, cursor: next < names.length ? next : null };
}

/** Null: fleet state has just forgotten it. */
async function lineOf(session: Session, readers: RunReaders, run: string) {
  const report = await session.gateway.find(`/v1/runs/${encodeURIComponent(run)}`, RunAnswer);
  if (report === null) return null;
  const { state, rollouts, open, scored, discarded, mean = null, waves } = report;
  return {
    run,
    state,
    rollouts,
    open,
    scored,
    discarded,
    mean,
    means: waves.slice(-mostMeans).map((wave) => wave.mean ?? null),
    finding: await readers.findingOf(session, run),
  };
}

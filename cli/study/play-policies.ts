import type { Environment } from '#src/model/environment.ts';
import { runId } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import { CommandError } from '../command-error.ts';
import type { Connection } from '../gateway/connection.ts';
import type { Policy } from '../ladder/policies.ts';
import { eachOf, play, type Played } from '../proving/play.ts';
import type { Row } from '../proving/rows.ts';
import { onStage, type Proof } from '../proving/stage.ts';
import { withParts } from './read-run.ts';
import { itemName, type StudiedRollout, type Subject } from './rollout.ts';
import type { CountTokens } from './tokens.ts';
import { type Recording, recording } from './wire-record.ts';
import { docsPage } from '#src/platform/docs.ts';

export type Playing = {
  readonly environment: string;
  /** Null where its file is not at hand. */
  readonly known: Environment | undefined;
  readonly rows: readonly Row[];
  readonly copies: number;
  /** Rollouts at the same time. */
  readonly atOnce: number;
  readonly countTokens: CountTokens;
};

/**
 * The policies studied by default: scripts that try. Policies that do nothing, know the truth or cheat say nothing about what a
 * model would meet. The first policy is nearest to a model before its training.
 */
export function chosenPolicies(all: readonly Policy[], names: readonly string[]): readonly Policy[] {
  const unknown = names.find((name) => all.every((policy) => policy.name !== name));
  const there = all.map(({ name }) => name).join(', ');
  if (unknown !== undefined)
    throw new CommandError(`there is no policy ${unknown}`, 'yours', `there is: ${there}`);
  const chosen =
    names.length > 0
      ? names.flatMap((name) => all.filter((policy) => policy.name === name))
      : all.filter(({ kind }) => kind === 'naive' || kind === 'good');
  if (chosen.length > 0) return chosen;
  const next = `write some into NAME/policies.yaml (${docsPage('proving.md')}), name one with --policy (${there}), or study a model or a run`;
  throw new CommandError('there is no policy of kind naive or good to study', 'yours', next);
}

/** Plays each policy several times on each row, by the addresses of a training platform, and notes what was seen on the wire. */
export async function playPolicies(
  connection: Connection,
  policies: readonly Policy[],
  playing: Playing,
): Promise<readonly Subject[]> {
  const stage = { environment: playing.environment, purpose: 'study' };
  return onStage(connection, stage, async (proof) => {
    const recorded = recording(proof.client, playing.countTokens, () => systemClock.monotonicMs());
    const subjects: Subject[] = [];
    for (const policy of policies) {
      const work = copiesOf(playing, policy.name);
      const rollouts = await eachOf(work, playing.atOnce, ({ row, id, copy }) =>
        playOne({ proof, recorded, policy, row, id, copy }),
      );
      subjects.push({ name: policy.name, what: 'policy', rollouts });
    }
    const traceId = (id: string) => traceIdOf(proof.run, id);
    return withParts(subjects, {
      connection,
      run: runId(proof.run),
      known: playing.known,
      traceIdOf: traceId,
    });
  });
}

/** Every copy of every row, by a name that sorts as they are played. */
export function copiesOf({ rows, copies }: Pick<Playing, 'rows' | 'copies'>, who: string) {
  const digits = String(rows.length).length;
  return rows.flatMap((row, index) =>
    Array.from({ length: copies }, (_, at) => ({
      row,
      copy: at + 1,
      id: `${who}-${String(index + 1).padStart(digits, '0')}-${String(at + 1).padStart(2, '0')}`,
    })),
  );
}

type One = {
  readonly proof: Proof;
  readonly recorded: Recording;
  readonly policy: Policy;
  readonly row: Row;
  readonly id: string;
  readonly copy: number;
};

async function playOne({ proof, recorded, policy, row, id, copy }: One): Promise<StudiedRollout> {
  const traceId = traceIdOf(proof.run, id);
  const played = await play({ client: recorded.client, job: proof.job }, traceId, row, policy, copy);
  return {
    id,
    item: itemName(row.item),
    ...recorded.take(traceId),
    parts: [],
    writtenTokens: null,
    ended: endOf(played),
  };
}

/** A rollout is named by its run, so that no two studies at once meet. */
export const traceIdOf = (run: string, id: string): string => `${run}-${id}`;

export function endOf(played: Played): StudiedRollout['ended'] {
  if ('score' in played) return { kind: 'scored', score: played.score };
  const { at, code, blame } = played.lost;
  return { kind: 'lost', loss: { at, code: code ?? 'not_ours', blame } };
}

import { pathToFileURL } from 'node:url';
import type { Item, Json } from '#src/model/grader.ts';
import { CommandError } from '../command-error.ts';
import { CallLost, type Drive, type DrivenRollout } from '../proving/play.ts';
import type { Row } from '../proving/rows.ts';
import type { Kind } from './policies.ts';

/** One rollout as a policy's program sees it. */
export type ScriptedRollout = {
  /** The row, as far as a policy of this kind can know it. */
  readonly item: Item;
  /** From 1: begin chance with it, and copies differ as a model's do. */
  readonly copy: number;
  /** `corral.reference` of the row for a `reference`, `corral.cheating` for a `cheat`. */
  readonly given: Json | undefined;
  /** Calls a tool; the text is what a model would read. */
  readonly call: DrivenRollout['call'];
};

/** Plays one rollout and returns the last message. */
export type ScriptedPolicy = (rollout: ScriptedRollout) => Promise<Json | undefined>;

export type Secrets = {
  /** Fields that the grader compares with. */
  readonly graded: readonly string[];
  /** Fields that the prompt tells; null: nobody has said, so all others are. */
  readonly told: readonly string[] | null;
};

/** A field of the row as a text; empty where it is none. */
export function textIn({ item }: Pick<ScriptedRollout, 'item'>, field: string): string {
  const value = item[field];
  return typeof value === 'string' ? value : '';
}

type Named = { readonly name: string; readonly kind: Kind };

/** A policy that a module beside the environment decides: what it exports as `policies`, by the policy's name. */
export function scripted(file: string, { name, kind }: Named, secrets: Secrets): Drive {
  return async ({ row, copy, call }) => {
    const policy = await policyIn(file, name);
    try {
      return await policy({ item: knownTo(kind, row, secrets), copy, given: givenTo(kind, row), call });
    } catch (error) {
      if (error instanceof CallLost || error instanceof CommandError) throw error;
      throw new CommandError(`policy ${name} failed: ${String(error)}`, 'yours', `mend ${file}`, error);
    }
  };
}

async function policyIn(file: string, name: string): Promise<ScriptedPolicy> {
  const module = (await import(pathToFileURL(file).href)) as { policies?: Record<string, ScriptedPolicy> };
  const found = module.policies?.[name];
  if (typeof found === 'function') return found;
  throw new CommandError(
    `${file} has no policy ${name}`,
    'yours',
    'export const policies = { "NAME": async ({ item, call }) => answer }',
  );
}

/** A rung that knew more than the prompt tells would say nothing of what a model can earn. */
function knownTo(kind: Kind, { item }: Row, { graded, told }: Secrets): Item {
  if (kind === 'reference') return item;
  const seen = ([field]: readonly [string, Json]) =>
    !graded.includes(field) && (told === null || told.includes(field));
  return Object.fromEntries(Object.entries(item).filter(seen));
}

function givenTo(kind: Kind, { reference, cheating }: Row): Json | undefined {
  if (kind === 'reference') return reference;
  return kind === 'cheat' ? cheating : undefined;
}

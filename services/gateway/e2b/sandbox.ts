import { createHash } from 'node:crypto';
import { demandedAmounts } from '#src/claiming/kept-demands.ts';
import { refusal } from '#src/claiming/refusal.ts';
import { raiseAmounts } from '#src/environments/raise-amounts.ts';
import { type Environment, isOpenTemplate } from '#src/model/environment.ts';
import type { Item } from '#src/model/grader.ts';
import { itemKey, type ItemKey, rolloutId, type RolloutId } from '#src/model/ids.ts';
import type { Named } from '#src/ports/fleet/registry.ts';
import type { Random } from '#src/ports/random.ts';
import type { NewSandbox } from '#src/protocol/e2b/control.ts';
import type { SandboxAnswer } from '#src/protocol/e2b/described.ts';
import type { Caller, OpenRequest, RolloutView } from '../core-interface.ts';
import { environmentRef, takeItem } from '../http/taking.ts';

/*
 * A sandbox of E2B's clients is a rollout of ours, and its id is the rollout's on every face. What a rollout has beside it:
 *
 *   environment  the template's: by its own name, or by an alias that an image was given (templates)
 *   row          the `metadata`, and next to it the template's name and image if that was built from an image
 *   group        `metadata.group`, else `metadata.environment_name` (Harbor's task), else the template; an empty one is none
 *   labels       `metadata.session_id` (Harbor's) and `metadata.name` (verifiers'), so that people find it
 */

const idLength = 24;

/** No other tenant's key reaches it, and nobody guesses it. */
export const newSandboxId = (random: Random): RolloutId => rolloutId(random.text(idLength));

/** The same for the same key of the same run, so that a repeat opens nothing. */
export function sandboxIdOf({ tenant, run }: Caller, idempotencyKey: string): RolloutId {
  const digest = createHash('sha256')
    .update(JSON.stringify([tenant, run, idempotencyKey]))
    .digest('hex');
  return rolloutId(BigInt(`0x${digest}`).toString(36).slice(0, idLength));
}

/** Throws `invalid_request` for metadata that holds half a character. */
export function openingOf(
  rollout: RolloutId,
  { templateID, metadata = {}, envVars = {} }: NewSandbox,
  { environment: name, image }: Named,
  environment: Environment,
): OpenRequest {
  return {
    rollout,
    attempt: 1,
    environment: environmentRef(name),
    item: takeItem(rowOf(metadata, environment, image === null ? null : { name: templateID, image })),
    group: groupOf(metadata, templateID),
    tags: { step: null, labels: labelsOf(metadata, Object.keys(envVars).length > 0) },
    requirements: null,
  };
}

/** In a row, the name of the template whose image the row has. Metadata of this name is not kept. */
const templateField = 'e2b_template';
type Built = { readonly name: string; readonly image: string };

function rowOf(metadata: Item, { template }: Environment, built: Built | null): Item {
  if (built === null || !isOpenTemplate(template)) return metadata;
  return { ...metadata, [template.image.field]: built.image, [templateField]: built.name };
}

/** What a client named and wrote when it opened the sandbox. `row`: null if fleet state has lost it. */
function openedWith(row: Item | null, environment: Pick<Environment, 'template'> | null) {
  if (row === null) return {};
  const template = row[templateField];
  if (typeof template !== 'string') return { metadata: row };
  const imageField = environment === null ? null : imageFieldOf(environment);
  const brought = Object.entries(row).filter(([field]) => field !== templateField && field !== imageField);
  return { templateID: template, metadata: Object.fromEntries(brought) };
}

const imageFieldOf = ({ template }: Pick<Environment, 'template'>): string | null =>
  isOpenTemplate(template) ? template.image.field : null;

const longestGroup = 200;

function groupOf(metadata: Readonly<Record<string, string>>, template: string): ItemKey {
  const group = [metadata['group'], metadata['environment_name']].find((text) => text) ?? template;
  return itemKey(group.slice(0, longestGroup).toWellFormed());
}

/** Says that its commands get variables, which only the pass of whoever opened it carries. */
export const withVariables = 'envs';
const longestLabel = 40;

function labelsOf(metadata: Readonly<Record<string, string>>, hasVariables: boolean): readonly string[] {
  const named = [metadata['session_id'], metadata['name']].filter((text) => text !== undefined);
  const labels = named.map((text) => text.replaceAll(/[^\w.:/=@+-]/g, '_').slice(0, longestLabel));
  return [...labels.filter((label) => label !== ''), ...(hasVariables ? [withVariables] : [])];
}

/** Its commands are still taken. */
export const isAlive = ({ record }: RolloutView): boolean => record.barred === null;

/** Throws what its commands would be told, where they are taken no more. */
export function checkAlive({ record }: RolloutView): void {
  if (record.barred !== null) throw refusal(record.barred, record);
}

/**
 * Which of E2B's daemons we are taken for: the first to take files as they are, and none that keeps metadata with files, which
 * its clients then refuse by themselves.
 */
export const envdVersion = '0.5.7';

export function answerOf(sandbox: string, template: string, pass: string): SandboxAnswer {
  return {
    templateID: template,
    sandboxID: sandbox,
    clientID: 'corral',
    envdVersion,
    envdAccessToken: pass,
    domain: null,
  };
}

const mebibytes = (bytes = 0): number => Math.round(bytes / 1_048_576);

/** An open sandbox, with what it was opened with. */
export function infoOf(
  { record }: Pick<RolloutView, 'record'>,
  environment: Pick<Environment, 'template'> | null,
  row: Item | null,
) {
  const template = environment && raiseAmounts(environment.template, demandedAmounts(record.needs) ?? {});
  return {
    templateID: record.environment,
    ...openedWith(row, environment),
    sandboxID: record.owner.rollout,
    clientID: 'corral',
    startedAt: new Date(record.placedAtMs).toISOString(),
    // It goes when nobody calls it until then; a call puts it off, until its hard life is over.
    endAt: new Date(record.leaseUntilMs).toISOString(),
    cpuCount: Math.max(1, Math.round((template?.cpu.limitMilli ?? 0) / 1_000)),
    memoryMB: mebibytes(template?.memory.limitBytes),
    diskSizeMB: mebibytes(template?.diskBytes),
    state: 'running',
    envdVersion,
  };
}

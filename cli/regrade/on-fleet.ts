import { dirname } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { KeptLine } from '#src/adapters/event-log/kept-log.ts';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import { tarOf } from '#src/grading/artifacts.ts';
import { tarOfChanges } from '#src/grading/changes/changes.ts';
import { namesOfChanges } from '#src/grading/take-all.ts';
import { reasonsIn } from '#src/grading/told-why.ts';
import { freshLeaves } from '#src/model/grader-leaves.ts';
import type { Json } from '#src/model/grader.ts';
import { requireAmounts } from '#src/protocol/native/requirements.ts';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import type { KeptArtifacts, KeptChanges } from '#src/ports/kept-rollouts.ts';
import { CommandError } from '../command-error.ts';
import { askNative, heldS, type HttpClient } from '../gateway/http-client.ts';
import { patiently } from '../proving/play.ts';
import { readLoss } from '../proving/read-answers.ts';
import { environmentsOf } from '../proving/stage.ts';
import { exec, put } from './in-sandbox.ts';
import type { NewGrader } from './new-grader.ts';
import type { NewScore } from './regrade.ts';

const GradeAnswer = Type.Object({
  score: Type.Number(),
  detail: Type.Record(Type.String(), Type.Unsafe<Json>({})),
});

/** What the fleet grades by: an environment of its own, and what that names of the policy's. */
export type OnFleet = {
  readonly address: string;
  /** Of artifacts. */
  readonly names: readonly string[];
  /** What stands for changes among the names that were kept. */
  readonly changes: readonly string[];
};

/**
 * Graders elsewhere run what the policy wrote, and only the fleet keeps such a program from its grader's files and score. So it
 * grades the rollout whole, as any other; the newer grader is that of an environment which it offers. Throws where it does not.
 */
export async function offered(client: HttpClient, file: string, newer: NewGrader): Promise<OnFleet> {
  if (newer.name === null)
    throw new CommandError(
      `a grader with grade_in: fresh works in its environment’s own sandbox, and ${file} is not an environment`,
      'yours',
      'name the whole file of the newer environment',
    );
  const found = (await loadEnvironments(dirname(file))).all().find(({ name }) => name === newer.name);
  if (found === undefined) throw new Error(`${file} was read as ${newer.name}, and is not among its folder`);
  const { name, version, grader } = found;
  const offers = await environmentsOf(client, undefined);
  const leaves = freshLeaves(grader).map(({ fresh }) => fresh);
  const changes = [...new Set(leaves.flatMap((leaf) => namesOfChanges(leaf.changes)))];
  const names = [...new Set(leaves.flatMap(({ artifacts }) => artifacts))];
  if (offers.some((one) => one.name === name && one.version === version))
    return { address: `${name}@${version}`, names, changes };
  throw new CommandError(
    `the fleet does not offer ${name} as ${file} has it`,
    'yours',
    'put the file among the fleet’s environments; one that runs reads them again',
  );
}

/** Puts the kept artifacts where they were, in a rollout of its own, and has the fleet grade it. */
export async function gradeOnFleet(
  client: HttpClient,
  rolloutId: string,
  { address, names, changes }: OnFleet,
  { item, rollout: { sample }, artifacts, amounts }: KeptLine,
): Promise<NewScore> {
  const kept = keptOf(artifacts, [...names, ...changes]);
  const body = {
    rollout_id: rolloutId,
    environment: address,
    ...(item !== null && { item }),
    ...(amounts !== undefined && { requires: requireAmounts(amounts) }),
  };
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  await askNative(
    client,
    { method: 'POST', path: '/v1/rollouts', body, deadlineMs: 600_000 },
    Type.Object({}),
  );
  try {
    if (kept.changes === undefined || changes.length === 0) await clearFolders(client, path, names);
    else await placeChanges(client, path, kept.changes);
    await place(client, path, names, kept.files);
    return await grade(client, path, sample);
  } finally {
    await client.send({ method: 'POST', path: `${path}/finish` });
  }
}

/** Throws the reason if the artifacts are missing. Nothing replaces them. */
function keptOf(kept: KeptArtifacts | undefined, names: readonly string[]) {
  const next = 'it has no new score';
  if (kept === undefined)
    throw new CommandError('no artifacts were kept: its environment took none', 'yours', next);
  if (kept.kind === 'none') throw new CommandError(`no artifacts were kept: ${kept.reason}`, 'yours', next);
  const missing = names.filter((name) => !kept.names.includes(name));
  if (missing.length === 0) {
    const files = kept.files.map(({ path, executable, mtime_s, base64 }) => {
      return { path, executable, mtimeS: mtime_s, bytes: Buffer.from(base64, 'base64') };
    });
    return { files, changes: kept.changes };
  }
  const had = `kept were ${kept.names.join(', ')}`;
  throw new CommandError(`its artifacts ${missing.join(', ')} were not kept; ${had}`, 'yours', next);
}

/**
 * What setup or the image laid there goes: the policy may have removed it. A folder
 * of the environment's own stays itself.
 */
const clear = `
rm -rf ./* ./.[!.]* ./..?* || exit 1
for name do
  case $name in /*) ;; *) continue ;; esac
  for at in $name; do
    if [ -d "$at" ]; then rm -rf "$at"/* "$at"/.[!.]* "$at"/..?* || exit 1; else rm -f "$at" || exit 1; fi
  done
done`;

async function clearFolders(client: HttpClient, path: string, names: readonly string[]): Promise<void> {
  must(await exec(client, path, 'clear', ['sh', '-c', clear, 'sh', ...names], 60));
}

async function place(
  client: HttpClient,
  path: string,
  names: readonly string[],
  files: ReturnType<typeof keptOf>['files'],
): Promise<void> {
  for (const root of ['.', '/']) {
    const there = files.filter((file) => file.path.startsWith('/') === (root === '/'));
    if (there.length > 0) await put(client, `${path}/archive?path=${root}`, await bytesOf(tarOf(there)));
  }
  const empty = names
    .map(surelyThere)
    .filter((name) => name !== '' && !files.some(({ path: at }) => isAtOrBelow(at, name)));
  if (empty.length > 0) must(await exec(client, path, 'folders', ['mkdir', '-p', ...empty], 60));
}

/** The sandbox is as the image has it, so the fleet finds the same changes again. */
async function placeChanges(
  client: HttpClient,
  path: string,
  { removed, written }: KeptChanges,
): Promise<void> {
  const argv = ['xargs', '-0', '-r', 'rm', '-rf', '--'];
  const list = removed.map((each) => `${each}\0`).join('');
  if (list !== '') must(await exec(client, path, 'removed', argv, 60, list));
  const files = written.map(({ base64 = '', mtime_s, ...each }) => {
    return { ...each, mtimeS: mtime_s, bytes: Buffer.from(base64, 'base64') };
  });
  if (files.length > 0) await put(client, `${path}/archive?path=/`, await bytesOf(tarOfChanges(files)));
}

/** What of a name has no `*` was there when they were taken, and is no file that they have: so a folder. */
function surelyThere(name: string): string {
  const steps = name.replace(/\/$/, '').split('/');
  const open = steps.findIndex((step) => step.includes('*'));
  return (open === -1 ? steps : steps.slice(0, open)).join('/');
}

/** Nothing of a policy's has run there: a command that fails is the machinery's. */
function must({ exit_code, stderr }: { readonly exit_code: number | null; readonly stderr: string }): void {
  if (exit_code === 0) return;
  throw new CommandError(
    `its artifacts could not be put back: ${stderr.slice(-300)}`,
    'the fleet',
    'try again',
  );
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** Without the calls that it names: they are not this rollout's, and no part graded like this reads them. */
async function grade(
  client: HttpClient,
  path: string,
  sample: KeptLine['rollout']['sample'],
): Promise<NewScore> {
  const body = { sample: { ...sample, output_tools: [] } };
  const ask = () =>
    patiently(() =>
      client.send({ method: 'POST', path: `${path}/grade?wait_s=${heldS}`, body, deadlineMs: 600_000 }),
    );
  let answer = await ask();
  while (answer.status === 202) answer = await ask();
  const told: unknown = answer.status === 200 ? JSON.parse(answer.body) : null;
  if (Value.Check(GradeAnswer, told)) return { new: told.score, why: null, parts: reasonsIn(told.detail) };
  const { code, message } = readLoss(answer, 'the grader');
  return { new: null, why: code === null ? message : `${code}: ${message}`, parts: [] };
}

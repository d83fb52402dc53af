import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Fleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { fleetFolders, sharedPayload } from '#test/support/fleet-folders.ts';
import { startContainer } from './container.ts';
import { playInSandbox } from './corral.ts';
import { isAbout, readDifferences } from './differences.ts';
import { comparedOf, type Outcome, withoutNames } from './outcome.ts';
import { argvOf, type Play, playsOf, type Probe, readProbes } from './probes.ts';

/*
 * The same programs in a container with Docker's default settings and in sandboxes, over the same files. What a probe prints must be equal,
 * or the difference must be a row of docs/differences.md.
 */

const mebibyte = 1024 * 1024;
/** The limit of the environment `parity`. `parity-small` has Corral's defaults, and containers have no limit by default. */
const memoryBytes = 2048 * mebibyte;
const listed = readDifferences();
const plays = playsOf(readProbes());
const played = new Set<string>();
const differed = new Set<string>();

let fleet: Fleet;
let folders: Awaited<ReturnType<typeof fleetFolders>>;
let work: string;
beforeAll(async () => {
  // An overlay cannot lie above another: not in /tmp, which may be one.
  mkdirSync('/var/tmp', { recursive: true });
  work = mkdtempSync('/var/tmp/corral-parity-');
  folders = await fleetFolders({});
  writeEnvironmentsFor(inject('parityRoot'), folders.environmentsDir);
  fleet = await startFleet({
    environmentsDir: folders.environmentsDir,
    stateDir: folders.stateDir,
    payloadDir: sharedPayload,
  });
});
afterAll(async () => {
  await fleet.stop();
  for (const folder of [folders.root, work]) rmSync(folder, { recursive: true, force: true });
});

/** Each of `environments/` for `run_as: user` and `root`. */
function writeEnvironmentsFor(root: string, into: string): void {
  const from = join(import.meta.dirname, 'environments');
  for (const name of readdirSync(from)) {
    const text = readFileSync(join(from, name), 'utf8');
    if (!name.endsWith('.yaml')) writeFileSync(join(into, name), text);
    else
      for (const user of ['user', 'root'])
        writeFileSync(
          join(into, `${user}-${name}`),
          graded(text, user).replaceAll('ROOTFS', root).replaceAll('RUN_AS', user),
        );
  }
}

/** Prints the names, sorted as bytes. What tar could not read makes its own exit code another than 0. */
const packing =
  'cd "$1" && tar -cf - . 2>/dev/null | tar -tf - | sed "s,^[.]/,,; /^$/d" | LC_ALL=C sort | head -c -1';

/** With `run_as: root` no command may grade in the same sandbox, and no probe is played by a grader. */
function graded(text: string, user: string): string {
  const [before = '', , after = ''] = text.split(/^# GRADER.*$/m);
  return user === 'user' || !text.includes('# GRADER') ? text : `${before}grader: { kind: none }${after}`;
}

async function playInContainer({ probe, face, user }: Play): Promise<readonly Outcome[]> {
  // An image without a user of id 1000 runs as root in a container.
  const [root, as] =
    probe.environment === 'noname'
      ? [`${inject('parityRoot')}-noname`, 'root' as const]
      : [inject('parityRoot'), user];
  const limit = probe.environment === 'parity-small' ? null : memoryBytes;
  const container = await startContainer(root, work, { memoryBytes: limit });
  try {
    const outcomes: Outcome[] = [];
    const exec = async (argv: readonly string[], about: Probe) =>
      void outcomes.push(
        withoutNames(await container.exec(argv, as, about, face === 'tool'), container.host),
      );
    for (const [index, step] of probe.steps.entries()) {
      await exec(argvOf(probe, step), probe);
      const { put, get } = probe;
      if (index > 0) continue;
      if (put !== null) await exec(['sh', '-c', `exec 2>/dev/null; cat > '${put}' || exit 1`], probe);
      if (get !== null) await exec(['sh', '-c', packing, 'sh', get], probe);
    }
    return outcomes;
  } finally {
    await container.close();
  }
}

describe('a sandbox behaves as a container, or the page says how not', () => {
  test.concurrent.each(plays)('$name', async (play) => {
    const inContainer = comparedOf(play, await playInContainer(play));
    const inSandbox = comparedOf(play, await playInSandbox(fleet, play));
    played.add(play.name);
    const isEqual = JSON.stringify(inSandbox) === JSON.stringify(inContainer);
    if (!isEqual) differed.add(play.name);
    if (!listed.some((pattern) => isAbout(pattern, play.name)))
      expect(inSandbox, play.probe.about).toEqual(inContainer);
  });
});

describe('a difference of the page is still one', () => {
  test.each(listed)('%s', (pattern) => {
    const about = [...played].filter((play) => isAbout(pattern, play));
    // Fewer are played if the command names some.
    const isDecided = about.length > 0 || played.size === plays.length;
    if (isDecided)
      expect(
        about.some((play) => differed.has(play)),
        'remove the row: nothing that it names differs any more',
      ).toBe(true);
  });
});

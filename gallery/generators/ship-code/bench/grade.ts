import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Seen, seenIn } from './observe.ts';

/*
 * Runs the hidden tests over what the policy left, as the policy's user, and compares what they saw with what they saw in the published fix. The
 * process of the tests has no expected value, so it must compute them: exit codes, reports and replaced assertions are worth nothing.
 */

const data = join(import.meta.dirname, '..');
const { id } = JSON.parse(readFileSync(0, 'utf8')) as { readonly id: string };
const defect = join(data, 'defects', id);
if (!existsSync(defect)) throw new Error(`no hidden tests of ${id}`);
const { file, expected } = JSON.parse(readFileSync(join(defect, 'expected.json'), 'utf8')) as {
  readonly file: string;
  readonly expected: Seen;
};

/** The policy's sources with the tests, dependencies and settings of the package. */
const prepare = `umask 077; mkdir -p /tmp/played && cp -R package /tmp/played/package && cd /tmp/played &&
  rm -rf package/test package/node_modules package/package.json && cp -R "$0/own/." package/ && ln -s "$1" node_modules`;
const run = `cd /tmp/played/package && exec env -i PATH="$PATH" HOME=/tmp "$0" "$1" /tmp/played/package/test "$2"`;

const asPolicy = (options: readonly string[], script: string, ...args: readonly string[]) =>
  spawnSync('as-policy', [...options, '--', 'sh', '-c', script, ...args], { maxBuffer: 64 * 1024 * 1024 });

const prepared = asPolicy(['--timeout', '60'], prepare, defect, join(data, 'node_modules'));
if (prepared.error) throw prepared.error;
const played =
  prepared.status === 0
    ? asPolicy(
        ['--timeout', '90', '--output-bytes', '16777216'],
        run,
        join(data, 'node'),
        join(data, 'bench/run-tests.cjs'),
        file,
      )
    : prepared;
const seen = seenIn(played.stdout.toString());
const missed = Object.keys(expected).filter(
  (name) => JSON.stringify(seen[name]) !== JSON.stringify(expected[name]),
);
process.stderr.write(
  missed.length === 0 ? 'all hidden tests pass\n' : `not passed:\n  ${missed.slice(0, 20).join('\n  ')}\n`,
);
writeFileSync(process.env['CORRAL_SCORE_FILE'] ?? '', missed.length === 0 ? '1\n' : '0\n');

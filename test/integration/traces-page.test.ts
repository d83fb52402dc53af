import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { sandboxId } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import { spanAttributes, spanKinds } from '#src/ports/tracer.ts';
import { launchRoot, rolloutRoot } from '#src/tracing/names.ts';

// docs/traces.md: what it lists is compared, what it shows is run and read.

const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/traces.md'), 'utf8');

/** The block or table after its mark. */
function marked(what: string): string {
  const [, after = ''] = page.split(`<!-- ${what} -->\n`);
  return after.startsWith('```') ? (after.split('```')[1] ?? '').replace(/^\w+\n/, '') : after;
}

test('it lists exactly the attributes that there are', () => {
  const rows = [...marked('attributes').matchAll(/^\| `corral\.(\w+)` \| (.+) \|$/gm)];
  expect(Object.fromEntries(rows.map(([, name, what]) => [name, what]))).toEqual(spanAttributes);
});

test('it tells of every span that there is', () => {
  const [, section = ''] = page.split('\n## Find a trace by id\n');
  for (const name of Object.keys(spanKinds)) expect(section).toContain(`\`${name}\``);
});

test('it lists exactly the variables that are read', async () => {
  const source = await readFile(join(root, 'src/platform/trace-settings.ts'), 'utf8');
  const listed = [...page.matchAll(/^\| `(OTEL_\w+)` \|/gm)].map(([, name]) => name);
  expect(new Set(listed)).toEqual(new Set(source.match(/OTEL_\w+/g)));
});

type Collector = {
  readonly receivers: object;
  readonly exporters: object;
  readonly processors: {
    readonly tail_sampling: {
      readonly policies: readonly {
        readonly string_attribute?: { readonly key: string; readonly values: readonly string[] };
      }[];
    };
  };
  readonly service: {
    readonly pipelines: { readonly traces: Readonly<Record<string, readonly string[]>> };
  };
};

test('its collector is a configuration whose parts are there, and asks for what spans say', () => {
  const collector = parse(marked("a collector's configuration")) as Collector;
  for (const [kind, names] of Object.entries(collector.service.pipelines.traces))
    for (const name of names) expect(collector).toHaveProperty([kind, name]);
  const asked = collector.processors.tail_sampling.policies.flatMap(
    ({ string_attribute: attribute }) => attribute ?? [],
  );
  expect(asked).toContainEqual({ key: 'corral.blame', values: ['infrastructure'] });
  for (const { key } of asked) expect(spanAttributes).toHaveProperty(key.replace('corral.', ''));
});

test('its commands find the traces', () => {
  const [KEY, SANDBOX] = ['lab/night%20ly/trace_1/1/policy', 's-1'];
  const said = execFileSync('sh', ['-c', marked('how to find a trace')], {
    env: { ...process.env, KEY, SANDBOX },
    encoding: 'utf8',
  });
  const traces = [rolloutRoot(KEY as RolloutKey), launchRoot(sandboxId(SANDBOX))];
  expect(said).toBe(traces.map(({ traceId }) => `${traceId}\n`).join(''));
});

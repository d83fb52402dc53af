import { expect, test } from 'vitest';
import { chooseTemplate } from '#src/environments/choose-template.ts';
import { environmentVersion } from '#src/model/ids.ts';
import type { EnvironmentStore } from '#src/ports/fleet/registry.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment, fakeOpenTemplate } from '#test/fakes/environment.ts';
import { createChosenTemplates } from './plan-book.ts';

const environment = { ...fakeEnvironment(), template: fakeOpenTemplate(['tasks/*']) };
const { version } = environment;
const known = () => environment;

function rowOf(reference: string) {
  const { digest, image } = chooseTemplate(environment, { image: reference });
  return { template: digest, version, image };
}

type Row = ReturnType<typeof rowOf>;

/** Fleet state that answers these rows, and remembers what it was asked and told. */
function world() {
  const asked: (number | null)[] = [];
  const told: string[] = [];
  const answers: { rows: readonly Row[]; atMs: number } = { rows: [], atMs: 1_000 };
  const store: Pick<EnvironmentStore, 'chosen' | 'choose'> = {
    chosen: async (sinceMs) => {
      asked.push(sinceMs);
      return { atMs: answers.atMs, templates: answers.rows };
    },
    choose: async (template) => void told.push(template),
  };
  const clock = createFakeClock();
  const chosen = createChosenTemplates(store, clock);
  return {
    asked,
    told,
    answers,
    clock,
    chosen,
    digests: () => chosen.all().map(({ template }) => template.digest),
  };
}

test('what a row made is made here too, and only news are read after that', async () => {
  const { asked, answers, chosen, digests } = world();
  answers.rows = [rowOf('tasks/a:1')];
  expect(await chosen.read(known)).toBe(true);
  expect(digests()).toEqual([rowOf('tasks/a:1').template]);
  answers.rows = [rowOf('tasks/b:1'), rowOf('tasks/a:1')];
  expect(await chosen.read(known)).toBe(true);
  answers.rows = [];
  expect(await chosen.read(known)).toBe(false);
  expect(digests()).toHaveLength(2);
  expect(asked).toEqual([null, 1_000, 1_000]);
});

test('everything is read every ten seconds, and what fleet state has forgotten is forgotten', async () => {
  const { asked, answers, clock, chosen, digests } = world();
  answers.rows = [rowOf('tasks/a:1'), rowOf('tasks/b:1')];
  await chosen.read(known);
  await clock.advance(10_000);
  answers.rows = [rowOf('tasks/b:1')];
  expect(await chosen.read(known)).toBe(true);
  expect(digests()).toEqual([rowOf('tasks/b:1').template]);
  expect(asked).toEqual([null, null]);
});

test('one of a version that is not known here is left to a controller that knows it', async () => {
  const { answers, chosen, digests } = world();
  answers.rows = [{ ...rowOf('tasks/a:1'), version: environmentVersion('another') }];
  expect(await chosen.read((asked) => (asked === version ? environment : undefined))).toBe(false);
  expect(digests()).toEqual([]);
});

test('one whose digest comes out differently here is not started under a wrong name', async () => {
  const { answers, chosen, digests } = world();
  answers.rows = [{ ...rowOf('tasks/a:1'), image: rowOf('tasks/b:1').image }];
  await chosen.read(known);
  expect(digests()).toEqual([]);
});

test('a fleet state that has forgotten is told again of all', async () => {
  const { answers, told, chosen, digests } = world();
  answers.rows = [rowOf('tasks/a:1'), rowOf('tasks/b:1')];
  await chosen.read(known);
  await chosen.tellAgain();
  expect(told).toEqual(digests());
});

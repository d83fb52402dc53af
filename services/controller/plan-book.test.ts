import { expect, test } from 'vitest';
import { chooseAgain, chooseForGrader, chooseTemplate } from '#src/environments/choose-template.ts';
import { environmentVersion, type TemplateDigest } from '#src/model/ids.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';
import type { EnvironmentStore } from '#src/ports/fleet/registry.ts';
import { fakeEnvironment, fakeOpenTemplate, fakeTemplate } from '#test/fakes/environment.ts';
import { createChosenTemplates } from './plan-book.ts';

const environment = { ...fakeEnvironment(), template: fakeOpenTemplate(['tasks/*']) };
const { version } = environment;
const known = () => environment;

function rowOf(reference: string) {
  const { digest, image } = chooseTemplate(environment, { image: reference }).template;
  return { template: digest, version, image };
}

type Row = TemplateChoice & { readonly template: TemplateDigest };

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
  const chosen = createChosenTemplates(store);
  return {
    asked,
    told,
    answers,
    chosen,
    digests: () => chosen.all().map(({ template }) => template.digest),
  };
}

test('what a row made is made here too, and only news are read after that', async () => {
  const { asked, answers, chosen, digests } = world();
  answers.rows = [rowOf('tasks/a:1')];
  expect(await chosen.read(known, 'news')).toBe(true);
  expect(digests()).toEqual([rowOf('tasks/a:1').template]);
  answers.rows = [rowOf('tasks/b:1'), rowOf('tasks/a:1')];
  expect(await chosen.read(known, 'news')).toBe(true);
  answers.rows = [];
  expect(await chosen.read(known, 'news')).toBe(false);
  expect(digests()).toHaveLength(2);
  expect(asked).toEqual([null, 1_000, 1_000]);
});

test('when all are read, what fleet state has forgotten is forgotten', async () => {
  const { asked, answers, chosen, digests } = world();
  answers.rows = [rowOf('tasks/a:1'), rowOf('tasks/b:1')];
  await chosen.read(known, 'news');
  answers.rows = [rowOf('tasks/b:1')];
  expect(await chosen.read(known, 'all')).toBe(true);
  expect(digests()).toEqual([rowOf('tasks/b:1').template]);
  expect(asked).toEqual([null, null]);
});

test('amounts that a task demands make a template, for its policy and for its grader', async () => {
  const [template, graderTemplate] = [fakeTemplate(), fakeTemplate({ role: 'grader' })];
  const demanding = fakeEnvironment({ template, graderTemplate });
  const amounts = { memoryBytes: 2 ** 31, cpuMilli: 2_000 };
  const [policys, graders] = [chooseAgain, chooseForGrader].map((choose) => choose(demanding, null, amounts));
  const { answers, chosen } = world();
  answers.rows = [policys, graders].flatMap((one) =>
    one?.choice ? [{ template: one.template.digest, ...one.choice }] : [],
  );
  expect(await chosen.read(() => demanding, 'news')).toBe(true);
  expect(chosen.all()).toMatchObject([
    { template: { memory: { limitBytes: 2 ** 31 }, cpu: { limitMilli: 2_000 } } },
    { template: { memory: { limitBytes: 2 ** 31 }, cpu: { limitMilli: 2_000 }, role: 'grader' } },
  ]);
});

test('one of a version that is not known here is left to a controller that knows it', async () => {
  const { answers, chosen, digests } = world();
  answers.rows = [{ ...rowOf('tasks/a:1'), version: environmentVersion('another') }];
  expect(await chosen.read((asked) => (asked === version ? environment : undefined), 'news')).toBe(false);
  expect(digests()).toEqual([]);
});

test('one of a version that comes to be known here is made then', async () => {
  const { asked, answers, chosen, digests } = world();
  answers.rows = [rowOf('tasks/a:1')];
  await chosen.read(() => undefined, 'news');
  await chosen.read(known, 'news');
  expect(digests()).toEqual([rowOf('tasks/a:1').template]);
  expect(asked).toEqual([null, null]);
});

test('one whose digest comes out differently here is not started under a wrong name', async () => {
  const { answers, chosen, digests } = world();
  answers.rows = [{ ...rowOf('tasks/a:1'), image: rowOf('tasks/b:1').image }];
  await chosen.read(known, 'news');
  expect(digests()).toEqual([]);
});

test('a fleet state that has forgotten is told again of all', async () => {
  const { answers, told, chosen, digests } = world();
  answers.rows = [rowOf('tasks/a:1'), rowOf('tasks/b:1')];
  await chosen.read(known, 'news');
  await chosen.tellAgain();
  expect(told).toEqual(digests());
});

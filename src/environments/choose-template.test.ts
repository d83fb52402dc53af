import { describe, expect, test } from 'vitest';
import { fakeEnvironment, fakeOpenTemplate, fakeTemplate, roomyPool } from '#test/fakes/environment.ts';
import type { Json } from '../model/grader.ts';
import { templateDigest } from '../model/ids.ts';
import { chooseAgain, chooseForGrader, chooseTemplate, templateOf } from './choose-template.ts';

const allow = ['registry.example.com/tasks/*', 'python:*', 'rootfs:/srv/tasks/*'];
const environmentOf = (permitted: readonly string[] = ['*']) => ({
  ...fakeEnvironment({ pool: roomyPool }),
  template: fakeOpenTemplate(allow, permitted),
});
const choose = (image: Json, permitted?: readonly string[]) =>
  chooseTemplate(environmentOf(permitted), { id: 'task-1', image }).template;

const digest = `sha256:${'0a'.repeat(32)}`;

test('an environment with an image of its own has one template, whatever the row says', () => {
  const own = { template: fakeTemplate(), choice: null, amounts: null };
  expect(chooseTemplate(fakeEnvironment(), { image: 'anything' })).toEqual(own);
});

const allowing = (...patterns: readonly string[]) => ({
  ...environmentOf(),
  template: fakeOpenTemplate(patterns),
});

describe('an image that its row names', () => {
  test.each([
    ['registry.example.com/tasks/a', 'image'],
    ['registry.example.com/tasks/deep/er_a.b--c:v1.2-x', 'image'],
    [`registry.example.com/tasks/a@${digest}`, 'image'],
    [`python:3.12-slim@${digest}`, 'image'],
    ['rootfs:/srv/tasks/a b', 'rootfs'],
  ])('is taken where it is allowed: %s', (image, kind) => {
    expect(choose(image).image).toMatchObject({ kind });
  });

  test('makes a template of its own: another image another, the same image the same', () => {
    const [one, other] = [choose('python:3.11'), choose('python:3.12')];
    expect(one.digest).not.toBe(other.digest);
    expect(choose('python:3.11')).toEqual(one);
  });

  test('decides the template alone: a longer list of allowed images changes none', () => {
    const template = fakeOpenTemplate(['*', ...allow]);
    expect(chooseTemplate({ ...environmentOf(), template }, { image: 'python:3.11' }).template).toEqual(
      choose('python:3.11'),
    );
  });

  test.each([
    ['host'],
    ['registry.example.com/tasks/../../other'],
    ['registry.example.com/tasks//a'],
    ['registry.example.com/tasks/A'],
    ['registry.example.com/tasks/a:'],
    ['registry.example.com/tasks/a b'],
    ['registry.example.com/tasks/a\n'],
    ['registry.example.com/tasks/$(id)'],
    ['registry.example.com/tasks/a@sha256:12'],
    ['rootfs:/srv/tasks/../../etc'],
    ['rootfs:srv/tasks/a'],
    ['rootfs:/srv/tasks/a\0'],
    ['rootfs:/srv/tasks/a\n/root'],
    ['docker-archive:/srv/tasks/a\u009b.tar'],
    [`python:${'9'.repeat(2_000)}`],
    [{ name: 'python:3.12' }],
    [7],
  ])('and that is none is refused: %j', (image) => {
    const message = expect.stringContaining('neither an image reference nor rootfs:');
    expect(() => choose(image)).toThrow(expect.objectContaining({ code: 'invalid_request', message }));
  });

  test.each([['other.example.com/tasks/a'], ['registry.example.com/other'], ['rootfs:/srv/other']])(
    'and that its environment does not allow is refused: %s',
    (image) => {
      const message = expect.stringContaining(
        `says "${image}", and the environment allows ${allow.join(', ')}; correct image in the row, or add the image to sandbox.image.allow`,
      );
      expect(() => choose(image)).toThrow(expect.objectContaining({ code: 'invalid_request', message }));
    },
  );

  test.each(['docker-archive', 'oci-archive', 'oci'])(
    'and that is an archive of this machine is let in by a pattern that says so: %s',
    (transport) => {
      const image = `${transport}:/srv/tasks/a`;
      expect(chooseTemplate(allowing(`${transport}:/srv/*`), { image }).template.image).toEqual({
        kind: 'image',
        reference: image,
      });
      expect(() => chooseTemplate(allowing('*'), { image })).toThrow(
        new RegExp(`as a pattern that begins with ${transport}:`),
      );
      expect(() => chooseTemplate(allowing(`${transport}:*`), { image: `${transport}:/srv/../etc` })).toThrow(
        /neither an image reference/,
      );
    },
  );

  test.each([
    ['127.0.0.1:6379/x'],
    ['169.254.169.254/latest/x'],
    ['localhost/x'],
    ['LOCALHOST/x'],
    ['registry:5000/x'],
    ['2130706433:80/x'],
    ['127.1/x'],
    ['0x7f.0x1/x'],
    ['metadata.google.internal/x'],
    ['registry.team.svc/x'],
    ['nas.lan:5000/x'],
  ])('and that is of this machine’s network is let in by a pattern with its registry: %s', (image) => {
    const host = image.slice(0, image.indexOf('/'));
    expect(chooseTemplate(allowing(`${host}/*`), { image }).template.image).toEqual({
      kind: 'image',
      reference: image,
    });
    for (const pattern of ['*', `${host.slice(0, 3)}*`])
      expect(() => chooseTemplate(allowing(pattern), { image })).toThrow(
        `as a pattern that begins with ${host}/`,
      );
  });

  test.each([
    ['*', 'python:3.12', true],
    ['*', 'registry.example.com/a', true],
    ['reg*', 'registry.example.com/a', true],
    ['registry.example.com*', 'registry.example.com.evil.example/a', true],
    ['registry.example.com/*', 'registry.example.com/a', undefined],
    ['python:*', 'python:3.12', undefined],
  ])('and for which only %s speaks, %s, is pulled without credentials: %s', (pattern, image, anonymous) => {
    expect(chooseTemplate(allowing(pattern), { image }).template.image).toEqual({
      kind: 'image',
      reference: image,
      ...(anonymous === undefined ? {} : { anonymous }),
    });
  });

  test('and that is a folder of this machine is not let in by a pattern for everything', () => {
    const open = { ...environmentOf(), template: fakeOpenTemplate(['*']) };
    expect(chooseTemplate(open, { image: 'python:3.12' }).template.image.kind).toBe('image');
    expect(() => chooseTemplate(open, { image: 'rootfs:/root' })).toThrow(
      /as a pattern that begins with rootfs:/,
    );
  });

  test('and that the operator does not allow is refused, whatever its environment says', () => {
    const message = expect.stringContaining('and the operator allows registry.example.com/*');
    expect(() => choose('python:3.12', ['registry.example.com/*'])).toThrow(
      expect.objectContaining({ code: 'invalid_request', message }),
    );
    expect(choose('registry.example.com/tasks/a', ['registry.example.com/*']).image.kind).toBe('image');
  });

  test.each([[undefined], [null], ['']])('and that is not there is missing: %j', (image) => {
    const item = image === undefined ? { id: 'task-1' } : { id: 'task-1', image };
    const message = expect.stringContaining('item field image');
    expect(() => chooseTemplate(environmentOf(), item)).toThrow(
      expect.objectContaining({ code: 'item_missing', message, evidence: { field: 'image' } }),
    );
  });

  test('and that is enormous is shown in part', () => {
    expect(() => choose('x'.repeat(5_000))).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{0,500}$/) }),
    );
  });
});

describe('amounts that a task demands', () => {
  const amounts = { memoryBytes: 2 ** 31 };
  const graderTemplate = fakeTemplate({ digest: templateDigest('graders'), role: 'grader' });
  const ceilings = { operator: {}, machine: { memoryBytes: 2 ** 33 } };
  const environment = fakeEnvironment({ graderTemplate, ceilings, pool: roomyPool });

  test('make a template of their own, with all that a controller needs to make it', () => {
    const { template, choice, amounts: kept } = chooseTemplate(environment, null, amounts);
    expect(template.memory.limitBytes).toBe(2 ** 31);
    expect(template.digest).not.toBe(environment.template.digest);
    expect(choice).toEqual({ version: environment.version, amounts });
    expect(kept).toEqual(amounts);
    expect(choice && templateOf(environment, choice)).toEqual(template);
  });

  test('that are met already make none, and are kept: another environment may grade the rollout again later', () => {
    const met = chooseTemplate(environment, null, { memoryBytes: 2 ** 20 });
    expect(met).toEqual({ template: environment.template, choice: null, amounts: { memoryBytes: 2 ** 20 } });
    expect(chooseTemplate(environment, null).amounts).toBeNull();
  });

  test('are the grader’s, too, and raise the grader’s alone where only it has less', () => {
    const small = fakeTemplate({ role: 'grader', memory: { requestBytes: 2 ** 20, limitBytes: 2 ** 26 } });
    const both = fakeEnvironment({ graderTemplate: small });
    const { choice, amounts: kept } = chooseTemplate(both, null, { memoryBytes: 2 ** 27 });
    expect([choice, kept]).toEqual([null, { memoryBytes: 2 ** 27 }]);
    expect(chooseForGrader(both, null, kept)).toMatchObject({
      template: { role: 'grader', memory: { limitBytes: 2 ** 27 } },
      choice: { role: 'grader', amounts: { memoryBytes: 2 ** 27 } },
    });
  });

  test('and images that rows name go together', () => {
    const open = { ...environment, template: fakeOpenTemplate(['*']) };
    const { template, choice } = chooseTemplate(open, { image: 'python:3.12' }, amounts);
    expect(template).toMatchObject({ image: { reference: 'python:3.12' }, memory: { limitBytes: 2 ** 31 } });
    expect(choice && templateOf(open, choice)).toEqual(template);
    expect(chooseAgain(open, { image: 'python:3.12' }, amounts)?.template).toEqual(template);
  });

  test('above a ceiling are refused when the rollout is opened, and never later', () => {
    const ceilings = { operator: { memoryBytes: 2 ** 30 }, machine: {} };
    const lowered = { ...environment, ceilings };
    expect(() => chooseTemplate(lowered, null, amounts)).toThrow(
      expect.objectContaining({ code: 'requirements_unmet' }),
    );
    expect(chooseAgain(lowered, null, amounts)?.template.memory.limitBytes).toBe(2 ** 31);
    expect(chooseForGrader(lowered, null, amounts)?.template.memory.limitBytes).toBe(2 ** 31);
  });
});

describe('a grader whose image the row names', () => {
  const open = { ...fakeOpenTemplate(['python:*'], ['python:*']), role: 'grader' } as const;
  const environment = { ...environmentOf(), graderTemplate: open };

  test('gets the row’s image, and needs the row for it', () => {
    const graders = chooseForGrader(environment, { image: 'python:3.12' }, null);
    expect(graders?.template).toMatchObject({ role: 'grader', image: { reference: 'python:3.12' } });
    expect(graders?.choice && templateOf(environment, graders.choice)).toEqual(graders?.template);
    expect(chooseForGrader(environment, null, null)).toBeNull();
  });

  test('is held to its lists when the rollout is opened; an operator who removes the image later bars no grade', () => {
    const item = { image: 'registry.example.com/tasks/a' };
    expect(() => chooseTemplate(environment, item)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
    const removed = { ...environment, graderTemplate: { ...open, image: { ...open.image, permitted: [] } } };
    expect(chooseForGrader(removed, { image: 'python:3.12' }, null)).not.toBeNull();
  });

  test('is no environment’s without such a grader', () => {
    expect(chooseForGrader(fakeEnvironment(), null, null)).toBeNull();
  });
});

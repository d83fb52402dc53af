import { describe, expect, test } from 'vitest';
import { fakeEnvironment, fakeOpenTemplate, fakeTemplate } from '#test/fakes/environment.ts';
import type { Json } from '../model/grader.ts';
import { chooseTemplate } from './choose-template.ts';

const allow = ['registry.example.com/tasks/*', 'python:*', 'rootfs:/srv/tasks/*'];
const environmentOf = (permitted: readonly string[] = ['*']) => ({
  ...fakeEnvironment(),
  template: fakeOpenTemplate(allow, permitted),
});
const choose = (image: Json, permitted?: readonly string[]) =>
  chooseTemplate(environmentOf(permitted), { id: 'task-1', image });

const digest = `sha256:${'0a'.repeat(32)}`;

test('an environment with an image of its own has one template, whatever the row says', () => {
  expect(chooseTemplate(fakeEnvironment(), { image: 'anything' })).toEqual(fakeTemplate());
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
    const template = fakeOpenTemplate(['*']);
    expect(chooseTemplate({ ...environmentOf(), template }, { image: 'python:3.11' })).toEqual(
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

  test('and that is published: the refusal says that one machine takes only folders', () => {
    expect(() => choose('debian:12')).toThrow(
      /on one machine an image can only be a folder \(rootfs:PATH\)$/,
    );
  });

  test('and that is a folder of this machine is not let in by a pattern for everything', () => {
    const open = { ...environmentOf(), template: fakeOpenTemplate(['*']) };
    expect(chooseTemplate(open, { image: 'python:3.12' }).image.kind).toBe('image');
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

import { expect, it } from 'vitest';
import { WireError } from './wire-error.ts';
import { Uploads } from './uploads.ts';

const place = { path: 'a', user: 'policy', form: 'file' } as const;
const writes = (log: string[], name: string, bytes: number) => () => {
  log.push(name);
  return Promise.resolve({ bytes });
};

it('a repeat writes nothing and gets the first answer; without an id each is one of its own', async () => {
  const uploads = new Uploads(10);
  const log: string[] = [];
  expect(await uploads.once('u1', place, writes(log, 'first', 1))).toEqual({ bytes: 1 });
  expect(await uploads.once('u1', place, writes(log, 'again', 2))).toEqual({ bytes: 1 });
  expect(await uploads.once(null, place, writes(log, 'other', 3))).toEqual({ bytes: 3 });
  expect(log).toEqual(['first', 'other']);
});

it('the same id for another path, user or form is a conflict', async () => {
  const uploads = new Uploads(10);
  await uploads.once('u1', place, writes([], '', 1));
  for (const other of [{ path: 'b' }, { user: 'grader' as const }, { form: 'archive' as const }])
    await expect(uploads.once('u1', { ...place, ...other }, writes([], '', 1))).rejects.toThrow(WireError);
});

it('a repeat waits for the first; where that breaks off, one of those that wait is written', async () => {
  const uploads = new Uploads(10);
  const log: string[] = [];
  const first = Promise.withResolvers<{ bytes: number }>();
  const broken = uploads.once('u1', place, () => first.promise);
  const repeats = [1, 2].map((bytes) => uploads.once('u1', place, writes(log, `repeat ${bytes}`, bytes)));
  first.reject(new Error('the upload broke off'));
  await expect(broken).rejects.toThrow('broke off');
  expect(await Promise.all(repeats)).toEqual([{ bytes: 1 }, { bytes: 1 }]);
  expect(log).toEqual(['repeat 1']);
});

it('as many are remembered as were asked for, the oldest are forgotten', async () => {
  const uploads = new Uploads(2);
  const log: string[] = [];
  for (const id of ['u1', 'u2', 'u3']) await uploads.once(id, place, writes(log, id, 1));
  for (const id of ['u3', 'u1']) await uploads.once(id, place, writes(log, `${id} again`, 1));
  expect(log).toEqual(['u1', 'u2', 'u3', 'u1 again']);
});

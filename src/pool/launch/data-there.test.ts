import { expect, test } from 'vitest';
import { bootId, sandboxId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { fakeTemplate } from '#test/fakes/environment.ts';
import { checkData } from './data-there.ts';

const target = {
  sandbox: sandboxId('s'),
  address: sandboxAddress('10.0.0.1:8080'),
  boot: bootId('b'),
} as const;
const withData = fakeTemplate({
  data: [
    { image: 'baked', target: '/data/a' },
    { image: 'registry.example.com/b:1', target: '/data/b' },
  ],
});

type Asked = readonly (readonly string[])[];
const check = (template: typeof withData, answer: () => Promise<void> = () => Promise.resolve()) => {
  const asked: Asked[] = [];
  const prepare = async (_target: unknown, commands: Asked) => {
    asked.push(commands);
    await answer();
    return { ok: true, durationMs: 1 } as const;
  };
  const done = checkData({ prepare }, target, template, AbortSignal.timeout(1_000));
  return done.then(() => asked);
};

const refused = (message: string) =>
  new LinkError({ kind: 'refused', status: 422, code: 'prepare_failed', message });

test('one command looks at all data that images were to bring', async () => {
  const asked = await check(withData);
  expect(asked).toEqual([
    [['/bin/sh', '-c', expect.stringContaining('is empty'), 'user', '/data/a', '/data/b']],
  ]);
  const [ofRoot] = await check({ ...withData, runAs: 'root' });
  expect(ofRoot?.[0]?.slice(3)).toEqual(['root', '/data/a', '/data/b']);
});

test('where a mount proves it, nothing is asked', async () => {
  expect(await check(fakeTemplate({ data: [{ source: '/srv/a', target: '/data/a' }] }))).toEqual([]);
});

test('what is amiss is the environment’s, in the words of who looked, however long the command is', async () => {
  const said = `prepare: ["/bin/sh","-c","… echo \\"data: $1\\" …"] ended with {"kind":"exited"}: data: /data/b is empty\n`;
  await expect(check(withData, () => Promise.reject(refused(said)))).rejects.toMatchObject({
    code: 'setup_failed',
    message: 'the data of the environment is amiss: /data/b is empty; fix the image that holds it',
    evidence: { failsEverywhere: true },
  });
});

test('a look that could not be taken says nothing of the data', async () => {
  const broken = new LinkError({ kind: 'maybe_sent', detail: 'ECONNRESET' });
  await expect(check(withData, () => Promise.reject(broken))).rejects.toBe(broken);
  const late = refused('prepare: ["/bin/sh"] ended with {"kind":"timed_out"}: ');
  await expect(check(withData, () => Promise.reject(late))).rejects.toBe(late);
});

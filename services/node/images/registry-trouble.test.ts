import { describe, expect, it } from 'vitest';
import type { Source } from './reference.ts';
import { troubleOf } from './registry-trouble.ts';

const reference = 'registry.example.com/tasks/a:1';
const source: Source = {
  key: reference,
  name: `docker://${reference}`,
  archive: null,
  registry: 'registry.example.com',
  scope: 'registry.example.com',
  isAnonymous: false,
  isPlain: false,
};
const archive: Source = { ...source, name: 'docker-archive:/archive', archive: '/srv/a.tar', registry: null };

const fatal = (message: string) => `time="2026-01-01T00:00:00Z" level=fatal msg=${JSON.stringify(message)}`;
const trouble = (words: string, of = source, stopped: string | null = null) =>
  troubleOf(reference, of, { code: 1, stdout: '', words, stopped });

const manifest = 'reading manifest 1 in registry.example.com/tasks/a';
const inspected = `Error parsing image name "docker://${reference}"`;
const copied = `initializing source docker://${reference}`;

describe('a registry’s code', () => {
  it.each([
    [`${inspected}: ${manifest}: manifest unknown: manifest unknown`, 'the registry has no such image'],
    [`${copied}: ${manifest}: manifest unknown`, 'the registry has no such image'],
    [
      `${inspected}: ${manifest}: name unknown: repository name not known`,
      'the registry has no such repository',
    ],
    [
      `${inspected}: ${manifest}: unauthorized: authentication required`,
      'the registry wants other credentials',
    ],
    [`${inspected}: ${manifest}: denied: not for you`, 'the registry wants other credentials'],
    [
      `${inspected}: unable to retrieve auth token: invalid username/password: unauthorized: no`,
      'the registry wants other credentials',
    ],
  ])('makes an image unavailable: %s', (message, reason) => {
    const failure = trouble(`time=x level=info msg="more"\n${fatal(message)}`);
    expect(failure).toMatchObject({
      code: 'image_unavailable',
      message: expect.stringContaining(reason) as string,
    });
  });

  it('the message for a row’s image without credentials says how it gets them', () => {
    const words = fatal(`${inspected}: ${manifest}: denied: not for you`);
    expect(trouble(words, { ...source, isAnonymous: true }).message).toContain('sandbox.image.allow');
  });

  it('so does a registry whose name no machine has', () => {
    const asked =
      'pinging container registry registry.example.com: Get "https://registry.example.com/v2/": dial tcp';
    expect(
      trouble(fatal(`${inspected}: ${asked}: lookup registry.example.com on 192.0.2.1:53: no such host`)),
    ).toMatchObject({
      code: 'image_unavailable',
      message: expect.stringContaining('no machine has the name') as string,
    });
    expect(trouble(fatal(`${inspected}: ${asked}: lookup registry.example.com: i/o timeout`)).code).toBe(
      'provider_unavailable',
    );
  });

  it('an image that is only for other machines is not available', () => {
    const none =
      'Error parsing manifest for image: choosing image instance: no image found in image index for';
    for (const of of [source, archive])
      expect(trouble(fatal(`${none} architecture amd64, variant "", OS linux`), of)).toMatchObject({
        code: 'image_unavailable',
        message: expect.stringContaining('it has no image for linux/') as string,
      });
  });

  it('the free text after it is not part of the sentence, so all launches of a burst fail alike', () => {
    expect(trouble(fatal(`${inspected}: ${manifest}: denied: request 1`)).message).toBe(
      trouble(fatal(`${inspected}: ${manifest}: denied: request 2`)).message,
    );
  });
});

describe('anything else may be over soon', () => {
  it.each([
    `${inspected}: pinging container registry registry.example.com: Get "https://registry.example.com/v2/": dial tcp: connection refused`,
    `${inspected}: ${manifest}: received unexpected HTTP status: 503 Service Unavailable`,
    `${inspected}: ${manifest}: toomanyrequests: manifest unknown: manifest unknown`,
    `${inspected}: ${manifest}: unknown: ${manifest}: manifest unknown: x`,
    `${inspected}: ${manifest}: unavailable: docker://${reference}: ${manifest}: manifest unknown`,
    'manifest unknown: manifest unknown',
    '',
  ])('%s', (message) => {
    expect(trouble(fatal(message))).toMatchObject({ code: 'provider_unavailable' });
  });

  it('words of a registry are quoted and bounded', () => {
    const { message } = trouble(fatal(`${inspected}: ${'x'.repeat(10_000)}\n"`));
    expect(message.length).toBeLessThan(500);
    expect(message).toContain(String.raw`\n\""`);
  });

  it('a row’s image gets no words of its registry, which may have led on to any address; the log has them', () => {
    const words = fatal(`${inspected}: ${manifest}: StatusCode: 404, <html>of this network</html>`);
    const failure = trouble(words, { ...source, isAnonymous: true });
    expect(failure.message).not.toContain('network');
    expect(failure.cause).toContain('of this network');
    expect(trouble(words).message).toContain('of this network');
  });

  it('nothing that a terminal would obey is quoted', () => {
    expect(trouble(fatal(`${inspected}: \u001b[31m \u009b31m \u202e`)).message).toMatch(
      /\\u001b\[31m \?31m \?"$/,
    );
  });

  it('output that is not skopeo’s, and a time that has passed', () => {
    expect(trouble('manifest unknown')).toMatchObject({ code: 'provider_unavailable' });
    expect(trouble('', source, 'it was not done within 15 s').message).toContain(
      'it was not done within 15 s',
    );
  });
});

it('an archive that cannot be read is not available', () => {
  expect(trouble(fatal('no such file'), archive)).toMatchObject({ code: 'image_unavailable' });
  expect(trouble('', archive, 'it was stopped with this node')).toMatchObject({
    code: 'provider_unavailable',
  });
  expect(trouble(fatal('writing blob: write /tmp/1: no space left on device'), archive)).toMatchObject({
    code: 'provider_unavailable',
  });
  const killed = { code: 137, stdout: '', words: '', stopped: null };
  expect(troubleOf(reference, archive, killed)).toMatchObject({ code: 'provider_unavailable' });
});

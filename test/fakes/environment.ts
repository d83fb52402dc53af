import { anyPlace, type Environment, type OpenTemplate, type Template } from '#src/model/environment.ts';
import { environmentName, environmentVersion, templateDigest } from '#src/model/ids.ts';

const mib = 1024 * 1024;

/** A small template on the host's own programs; what a test is about is given. */
export function fakeTemplate(given: Partial<Template> = {}): Template {
  return {
    digest: templateDigest('template-a'),
    image: { kind: 'host' },
    cpu: { requestMilli: 100, limitMilli: 1000 },
    memory: { requestBytes: 64 * mib, limitBytes: 256 * mib },
    diskBytes: 64 * mib,
    processes: 64,
    network: 'none',
    runAs: 'user',
    uid: 'separate',
    placement: anyPlace,
    env: {},
    data: [],
    prepare: [],
    startTimeoutMs: 10_000,
    ...given,
  };
}

/** The same, with an image that each row names in its field `image`. */
export function fakeOpenTemplate(
  allow: readonly string[],
  permitted: readonly string[] = ['*'],
): OpenTemplate {
  const { digest: _digest, ...body } = fakeTemplate();
  return { ...body, image: { kind: 'row', field: 'image', allow, permitted } };
}

/** Most tests need one whose template is known before there is a row. */
export type EnvironmentOfTest = Environment & { readonly template: Template };

/** A pool that has room for each demand of a test. */
export const roomyPool = { minReady: 0, max: 1_000, maxAgeMs: 3_600_000 };

/** An environment without tools, graded by exact text; what a test is about is given. */
export function fakeEnvironment(given: Partial<EnvironmentOfTest> = {}): EnvironmentOfTest {
  return {
    name: environmentName('plain'),
    version: environmentVersion('version-1'),
    description: 'for tests',
    template: fakeTemplate(),
    setup: { commands: [], timeoutMs: 10_000 },
    expose: [],
    tools: {},
    limits: {
      toolCalls: 10,
      outputBytes: 65_536,
      rolloutMs: 1_800_000,
      idleMs: 900_000,
      gradeMs: 1_800_000,
      hardLifeMs: 7_200_000,
    },
    grader: {
      kind: 'text',
      answer: 'output_text',
      reference: 'item.answer',
      match: 'exact',
      tolerance: 0,
      partialWithin: 0,
    },
    unseenCalls: 'discard',
    onTooLong: 0,
    texts: {
      exitCode: '[exit code {code}]',
      signalled: '[killed by {signal}]',
      timedOut: '[timed out after {seconds} s]',
      bytesCut: '[{bytes} bytes cut]',
      notStarted: 'Error: {reason}',
      badArguments: 'Error: {reason}',
      unknownTool: 'Error: no tool {tool}',
      budgetSpent: 'Error: all {limit} calls are spent',
      tooManyAtOnce: 'Error: too many at once',
      timeSpent: 'Error: all {minutes} minutes are spent',
      outOfMemory: 'Error: out of memory',
      brokeSandbox: 'Error: went down: {reason}',
      sandboxBroken: 'Error: {reason}',
      cancelled: 'Error: cancelled',
    },
    pool: { minReady: 2, max: 10, maxAgeMs: 3_600_000 },
    ...given,
  };
}

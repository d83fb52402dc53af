import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoreWorld } from '#test/support/core-world.ts';
import { mutilated, nastyJson, nastyObject } from '#test/support/nasty-json.ts';
import { developmentKey, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

const seed = 11;
/** As many as a trainer's connections, so that a request of 2 MB holds up nobody. */
const atOnce = 8;

let world: CoreWorld;
let gateway: GatewayUnderTest;

type Answer = { readonly status: number; readonly text: string };

async function post(path: string, body: string | Buffer<ArrayBuffer>): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${developmentKey}`,
    'content-type': 'application/json',
    'x-corral-run': 'run-1',
  };
  // Nothing here may wait: whoever does is told by name.
  const signal = AbortSignal.timeout(60_000);
  const answer = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body, signal });
  return { status: answer.status, text: await answer.text() };
}

/** Sends each of so many inputs and looks at each answer. */
async function each<Input>(
  inputs: fc.Arbitrary<Input>,
  count: number,
  look: (input: Input, index: number) => Promise<void>,
): Promise<void> {
  const waiting = fc.sample(inputs, { seed, numRuns: count }).entries();
  const worker = async () => {
    for (const [index, input] of waiting) await look(input, index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** What a request that went wrong must say; `input` is there for whoever reads why it failed. */
function expectTold({ status, text }: Answer, input: unknown, statuses: readonly number[]): void {
  const shown = String(input).slice(0, 500);
  if (!statuses.includes(status) || text.includes('unclassified')) {
    expect({ status, text: text.slice(0, 500), shown }).toBe(`one of ${statuses.join(', ')}`);
  }
  JSON.parse(text);
}

const call = (written: string, index: number, rest = '"item":{"answer":"yes"},"trace_id":"rollout"') =>
  `{"type":"function_call","id":"f","call_id":"c${index}","name":"sh","arguments":${written},${rest}}`;

/**
 * Odd inputs to both faces, with the whole gateway behind them and a real Redis; only the sandboxes are in memory. The same
 * inputs every time. `share`: of 8,500 requests and their kind in YAML, ten thousand together.
 */
export function sendOddInputs(share: number): void {
  beforeAll(async () => {
    const limits = {
      toolCalls: 1_000_000,
      outputBytes: 65_536,
      rolloutMs: 3_600_000,
      idleMs: 3_600_000,
      gradeMs: 60_000,
      hardLifeMs: 7_200_000,
    };
    const grader = {
      kind: 'weighted',
      parts: [
        { weight: 1, grader: { kind: 'f1', answer: 'output_json.files', reference: 'item.answer' } },
        { weight: 1, grader: { kind: 'f1', answer: 'output_text', reference: 'item.answer' } },
        {
          weight: 1,
          grader: {
            kind: 'text',
            answer: 'output_text',
            reference: 'item.answer',
            match: 'numeric',
            tolerance: 0,
            partialWithin: 1,
          },
        },
        {
          weight: 1,
          grader: {
            kind: 'text',
            answer: 'output_text',
            reference: 'item.answer',
            match: 'normalised',
            tolerance: 0,
            partialWithin: 0,
          },
        },
      ],
    } as const;
    world = await CoreWorld.start({ limits, grader, unseenCalls: 'report' });
    gateway = await startGateway({ core: world.wired.core });
    // Calls are calls of these two rollouts, so that nobody waits for a sandbox.
    for (const trace of ['rollout', 'graded']) {
      await world.ready();
      const first = call('"{\\"command\\":\\"true\\"}"', 0, `"item":{"answer":"yes"},"trace_id":"${trace}"`);
      expectTold(await post('/rft/plain/tools/sh', first), first, [200]);
    }
  });
  afterAll(async () => {
    await gateway.stop(1_000);
    await world[Symbol.asyncDispose]();
  });

  describe('the model’s part of them', () => {
    it('arguments on the RFT face: 200, always', async () => {
      await each(
        fc.oneof(nastyJson, nastyObject({ command: nastyJson })),
        share * 2_500,
        async (written, index) => {
          expectTold(await post('/rft/plain/tools/sh', call(written, index + 1)), written, [200]);
        },
      );
    });

    it('arguments and names on the native face: 200, always', async () => {
      const name = fc.constantFrom(
        '"sh"',
        '"sh"',
        '"constructor"',
        '"__proto__"',
        String.raw`"\ud800"`,
        '"a\\nb"',
      );
      await each(
        fc.tuple(name, nastyObject({ command: nastyJson })),
        share * 1_500,
        async ([tool, written], index) => {
          const body = `{"call_id":"n${index}","name":${tool},"arguments":${written}}`;
          expectTold(await post('/v1/rollouts/rollout/calls', body), body, [200]);
        },
      );
    });

    it('samples on the RFT face: 200 with a finite score, always', async () => {
      const calls = nastyJson.map(
        (value) => `[${value},{"id":"x","function":{"name":"sh","arguments":${value}}}]`,
      );
      const samples = fc.oneof(
        nastyObject({ output_text: nastyJson }),
        nastyObject({ output_text: nastyJson, output_json: nastyObject({ files: nastyJson }) }),
        nastyObject({ choices: nastyJson.map((value) => `[{"message":{"content":${value}}}]`) }),
        nastyObject({ output_text: nastyJson, output_tools: calls }),
      );
      await each(samples, share * 1_500, async (sample, index) => {
        const named = sample.includes('"output_tools"');
        const trace = named ? 'graded' : `s${index}`;
        const body = `{"sample":${sample},"item":{"answer":"yes"},"trace_id":"${trace}"}`;
        const answer = await post('/rft/plain/grade', body);
        expectTold(answer, sample, [200]);
        expect(JSON.parse(answer.text)).toEqual({ score: expect.any(Number) });
      });
    });
  });

  describe('the caller’s part of them', () => {
    it('rows on the RFT face: 200, or 5xx that blames the caller', async () => {
      await each(
        fc.oneof(nastyJson, nastyObject({ answer: nastyJson })),
        share * 1_000,
        async (item, index) => {
          const bad = call('"no JSON"', index, `"item":${item},"trace_id":"r${index}"`);
          expectTold(await post('/rft/plain/tools/sh', bad), item, [200, 500]);
          const grade = `{"sample":{"output_text":"yes"},"item":${item},"trace_id":"g${index}"}`;
          expectTold(await post('/rft/plain/grade', grade), item, [200, 500]);
        },
      );
    });

    it('rows on the native face: opened, or 400', async () => {
      await each(
        fc.oneof(nastyJson, nastyObject({ answer: nastyJson })),
        share * 500,
        async (item, index) => {
          const body = `{"rollout_id":"o${index}","environment":"plain","item":${item}}`;
          expectTold(await post('/v1/rollouts', body), item, [200, 201, 400]);
        },
      );
    });

    it('bodies with wounds: 200 or 5xx on the RFT face, told as what they are', async () => {
      const body = call('"{\\"command\\":\\"true\\"}"', 0);
      await each(mutilated(body), share * 1_000, async (wounded) => {
        // A wound may make another rollout of it, which would wait for a sandbox: it is known here, and has its own.
        const text = wounded.toString('latin1');
        if (!text.includes('"trace_id":"rollout"')) return;
        // 503: the answer of the whole one is not kept for ever.
        expectTold(await post('/rft/plain/tools/sh', wounded), wounded, [200, 500, 503]);
      });
    });

    it('bodies with wounds on the native face: 2xx or 4xx', async () => {
      const body = `{"sample":{"output_text":"yes"}}`;
      await each(mutilated(body), share * 500, async (wounded) => {
        expectTold(await post('/v1/rollouts/rollout/grade', wounded), wounded, [200, 400]);
      });
    });
  });
}

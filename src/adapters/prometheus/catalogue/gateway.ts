import { failureCodes, failureRow } from '#src/failure/codes.ts';
import type { Face } from '#src/model/face.ts';
import { productionTimings } from '#src/model/timings.ts';
import { ofEnvironment, oneOf, seen, type Specs } from './spec.ts';
import { judgesFromStart, ofFailure, ofJudge, allFailures } from './tables.ts';

const gateway = { by: ['gateway'], of: 'process' } as const;

const heldS = productionTimings.requestHoldMs / 1000;

const faces = ['rft', 'native', 'e2b'] as const satisfies readonly Face[];
const ofFace = oneOf('face', faces);

/** Every status of the failure table, and those of answers. */
const statuses = [
  ...new Set([
    200,
    201,
    202,
    204,
    ...failureCodes.flatMap((code) => faces.map((face) => failureRow(code)[face])),
  ]),
].map(String);

/** Maximum API keys with series. A tenant has a few, and an on-call engineer reads only the first. */
export const mostKeys = 200;

/** What a gateway counts of its requests, of the work it does, and has in hand. */
export const toldByGateways = {
  corral_gateway_answers_total: {
    ...gateway,
    kind: 'counter',
    help: 'Answers by face and status, without probes and scrapes',
    labels: [ofFace, oneOf('status', statuses, 'of HTTP')],
    fromStart: faces.map((face) => ({ face, status: '200' })),
  },
  corral_gateway_failures_total: {
    ...gateway,
    kind: 'counter',
    help: 'Requests that failed, by face, blame and code; an unclassified one is a bug in Corral',
    labels: [ofFace, ofFailure],
    fromStart: faces.flatMap((face) => allFailures.map(({ blame, code }) => ({ face, blame, code }))),
  },
  corral_gateway_request_duration_seconds: {
    ...gateway,
    kind: 'histogram',
    help: 'From a request’s first byte to its answer, the time that it was held included',
    labels: [
      ofFace,
      seen('route', 96, 'method and pattern of the address, as in [the API](api.md); `none`: unknown'),
    ],
    buckets: {
      seconds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 100, 300, heldS],
      because: `what needs no sandbox takes milliseconds, a warm tool call some more than its command, and no request is held longer than ${heldS} s`,
    },
  },
  corral_gateway_held_requests: {
    ...gateway,
    kind: 'gauge',
    help: 'Requests in hand',
    labels: [],
  },
  corral_gateway_held_requests_limit: {
    ...gateway,
    kind: 'gauge',
    help: 'Maximum requests in hand; above it slow bodies make room, and further requests fail with gateway_overloaded',
    labels: [],
  },
  corral_gateway_slow_bodies_dropped_total: {
    ...gateway,
    kind: 'counter',
    help: 'Requests that failed with gateway_overloaded while their bodies came too slowly, to make room for others',
    labels: [],
    fromStart: [{}],
  },
  corral_gateway_held_body_bytes: {
    ...gateway,
    kind: 'gauge',
    help: 'Bytes of the bodies of requests in hand',
    labels: [],
  },
  corral_gateway_under_way: {
    ...gateway,
    kind: 'gauge',
    help: 'Rollouts in line, calls and grades',
    labels: [oneOf('kind', ['waiting', 'calls', 'grades'])],
  },
  corral_gateway_event_loop_lag_seconds: {
    ...gateway,
    kind: 'gauge',
    help: 'Lateness of the event loop since the last look',
    labels: [oneOf('quantile', ['0.5', '0.99', '1'])],
  },
  corral_gateway_key_refusals: {
    ...gateway,
    kind: 'gauge',
    help: 'Answers of sandboxes that refused this gateway, whose fleet key is wrong, since its start',
    labels: [],
  },
  corral_key_expiry_timestamp_seconds: {
    ...gateway,
    kind: 'gauge',
    help: 'When an API key ends, in seconds since 1970; keys without an end are not here',
    labels: [seen('key', mostKeys, 'id of the key; only keys that expire first')],
  },
  corral_obtain_seconds: {
    ...gateway,
    kind: 'histogram',
    help: 'From a rollout’s place in line, taken by its first call or its opening, until its sandbox was bound and set up: what a burst makes it wait',
    labels: [
      ofEnvironment,
      oneOf(
        'launch',
        ['warm', 'cold'],
        '`warm`: the sandbox was ready before, `cold`: it was started meanwhile',
      ),
    ],
    buckets: {
      seconds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 150, 300],
      because:
        'a warm one takes some ms, a cold one on a cluster up to a minute, and the longest wait is 300 s',
    },
  },
  corral_call_seconds: {
    ...gateway,
    kind: 'histogram',
    help: 'Where the time of tool calls went that their sandbox answered',
    labels: [
      ofEnvironment,
      oneOf(
        'part',
        ['waited', 'command', 'overhead'],
        '`waited`: until the rollout had its sandbox, `command`: as the sandbox measured it, `overhead`: the rest',
      ),
    ],
    buckets: {
      seconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 120, 600],
      because: 'our own part is some ms, and commands run from ms to the minutes of their timeouts',
    },
  },
  corral_grade_seconds: {
    ...gateway,
    kind: 'histogram',
    help: 'From the begin of a grader’s turn until its score was stored, or the turn failed',
    labels: [ofEnvironment],
    buckets: {
      seconds: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
      because: 'comparing texts takes ms, a judge seconds, and a test suite minutes',
    },
  },
  corral_judge_requests_total: {
    ...gateway,
    kind: 'counter',
    help: 'Answers that judges were asked to score, by what came of it',
    labels: [ofJudge],
    fromStart: judgesFromStart,
  },
  corral_replays_total: {
    ...gateway,
    kind: 'counter',
    help: 'Answers given again to a request that was repeated: how often trainers use up one of their few retries',
    labels: [ofFace],
    fromStart: faces.map((face) => ({ face })),
  },
} as const satisfies Specs;

import type { GatewayWorld } from '#services/gateway/core-wiring.ts';
import type { GatewayCore } from '#services/gateway/core-interface.ts';
import { asFailure, Failure } from '#src/failure/failure.ts';
import { callId } from '#src/model/ids.ts';
import { type RolloutKey, rolloutKey } from '#src/model/rollout.ts';
import type { ProbeRecord } from '#src/ports/fleet/dependencies.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type { World } from '../world.ts';
import { answering } from '#test/fakes/sandbox-link.ts';

/** The command gets what the wait for its sandbox has left of its timeout. */
export function chargesTheWait(ports: GatewayWorld, { scheduler }: World): GatewayWorld {
  const askedMs = new Map<RolloutKey, number>();
  const claim: GatewayWorld['claims']['claim'] = (request) => {
    const key = rolloutKey(request.owner);
    if (!askedMs.has(key)) askedMs.set(key, scheduler.nowMs);
    return ports.claims.claim(request);
  };
  const admit: GatewayWorld['calls']['admit'] = (request) => {
    askedMs.set(request.key, scheduler.nowMs - (askedMs.get(request.key) ?? scheduler.nowMs));
    return ports.calls.admit(request);
  };
  const call: GatewayWorld['link']['call'] = (target, id, request, waitMs, signal) => {
    const waitedMs = id.includes(' ') ? 0 : Math.max(0, ...askedMs.values());
    return ports.link.call(
      target,
      id,
      { ...request, timeoutMs: request.timeoutMs - waitedMs },
      waitMs,
      signal,
    );
  };
  return {
    ...ports,
    claims: { ...ports.claims, claim },
    calls: { ...ports.calls, admit },
    link: { ...ports.link, call },
  };
}

const identityAsExpected: GatewayWorld['link']['identity'] = async ({ sandbox, boot }) => ({
  sandbox,
  boot: boot ?? '',
  protocol: 1,
  state: 'bound',
  isolation: 'two-user',
  owner: null,
  expiresInMs: null,
  label: null,
  probed: true,
  filesPut: 0,
  keepsStdin: true,
  calls: [],
});

/** The grader takes every sandbox for present, whoever answers. */
export function seesEverything(ports: GatewayWorld): GatewayWorld {
  return { ...ports, link: { ...ports.link, identity: identityAsExpected } };
}

/** Every gateway gives the call a name of its own, so that the journal does not know it again. */
export function callsTwiceNamed(ports: GatewayWorld): GatewayWorld {
  let sent = 0;
  const call: GatewayWorld['link']['call'] = (target, id, ...rest) => {
    sent += 1;
    return ports.link.call(target, id.includes(' ') || sent % 5 !== 0 ? id : callId(`${id}.again`), ...rest);
  };
  return { ...ports, link: { ...ports.link, call } };
}

/** The renewal that makes up for lost wake-ups does not say which rollouts were granted. */
export function renewsInSilence(ports: GatewayWorld): GatewayWorld {
  const renew: GatewayWorld['claims']['renew'] = async (keys) => {
    await ports.claims.renew(keys);
    return new Set();
  };
  return { ...ports, claims: { ...ports.claims, renew } };
}

/** Every gateway sends the removal of its id twice, as after a lost reply. */
export function removesSendersTwice(ports: GatewayWorld): GatewayWorld {
  const unsent: GatewayWorld['calls']['unsent'] = async (...asked) => {
    await ports.calls.unsent(...asked);
    await ports.calls.unsent(...asked);
  };
  return { ...ports, calls: { ...ports.calls, unsent } };
}

/** All tries of a call have one id, so that the removal of an earlier try removes a later one. */
export function sharesSenders(ports: GatewayWorld): GatewayWorld {
  const admit: GatewayWorld['calls']['admit'] = (request) => ports.calls.admit({ ...request, sender: 'one' });
  const unsent: GatewayWorld['calls']['unsent'] = (key, call, _sender, counted) =>
    ports.calls.unsent(key, call, 'one', counted);
  return { ...ports, calls: { ...ports.calls, admit, unsent } };
}

/** What the machine's want of memory made of a command is taken for what it did. */
export function blamesItsMemory(ports: GatewayWorld): GatewayWorld {
  const call: GatewayWorld['link']['call'] = async (...asked) => {
    const answer = await ports.link.call(...asked);
    if (answer === 'running') return answer;
    const { memoryLackedBy: _, ...evidence } = answer.evidence;
    return { ...answer, evidence };
  };
  return { ...ports, link: { ...ports.link, call } };
}

/** A connection that broke is taken for a command that failed. */
export function madeUpExit(ports: GatewayWorld): GatewayWorld {
  const call: GatewayWorld['link']['call'] = async (...asked) => {
    try {
      return await ports.link.call(...asked);
    } catch (thrown) {
      if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'maybe_sent') throw thrown;
      return answering({ stderr: 'connection lost', ending: { kind: 'exited', exitCode: 1 } });
    }
  };
  return { ...ports, link: { ...ports.link, call } };
}

/** No sandbox hears which of its calls are settled. */
export function settlesInSilence({ link, ...ports }: GatewayWorld): GatewayWorld {
  return { ...ports, link: { ...link, settled: () => undefined, onUnsettled: () => undefined } };
}

/** A repeat of a settled call goes to its sandbox as if nothing were known of it. */
export function judgesAgain(ports: GatewayWorld): GatewayWorld {
  const admit: GatewayWorld['calls']['admit'] = async (request) => {
    const reply = await ports.calls.admit(request);
    if (reply.kind !== 'in_journal' || reply.rollout.epoch === null) return reply;
    const { rollout } = reply;
    return {
      kind: 'dispatch',
      rollout,
      epoch: reply.rollout.epoch,
      again: true,
      activated: false,
      timeLeftMs: null,
    };
  };
  const call: GatewayWorld['link']['call'] = async (...asked) => {
    const answer = await ports.link.call(...asked);
    return answer === 'running' ? answer : { ...answer, settled: false };
  };
  return { ...ports, calls: { ...ports.calls, admit }, link: { ...ports.link, call } };
}

/** The next sandbox is as good as the lost one. */
export function replaysNothing(ports: GatewayWorld): GatewayWorld {
  return { ...ports, setups: { replay: async () => ({ kind: 'done' }) } };
}

/** An adapter marks all that it sends, what its policy does too. */
export function marksAll(core: GatewayCore): GatewayCore {
  return {
    ...core,
    exec: (caller, request) => core.exec(caller, { ...request, setup: true }),
    toolCall: (caller, request) => core.toolCall(caller, { ...request, setup: true }),
  };
}

/** A failure becomes words that the policy reads. */
export function tellsTheModel(core: GatewayCore): GatewayCore {
  return {
    ...core,
    toolCall: async (caller, request) => {
      try {
        return await core.toolCall(caller, request);
      } catch (thrown) {
        return madeUpResult(request.call, asFailure(thrown).message);
      }
    },
  };
}

function madeUpResult(call: Parameters<typeof callId>[0], output: string) {
  return {
    callId: callId(call),
    outcome: 'completed',
    code: null,
    exitCode: null,
    signal: null,
    output,
    stdout: '',
    stderr: '',
    truncated: { stdout: false, stderr: false, totalBytes: 0 },
    timedOut: false,
    outOfMemoryKilled: false,
    durationMs: 0,
    waitedMs: 0,
    epoch: null,
    replayed: false,
  } as const;
}

/** The record that graders look at has lost its taint, and so has the veto. */
export function afterTaint(ports: GatewayWorld): GatewayWorld {
  const begin: GatewayWorld['grades']['begin'] = async (...asked) => {
    const begun = await ports.grades.begin(...asked);
    if (begun.kind !== 'barred' || begun.rollout?.discarded == null) return begun;
    return { kind: 'scored', score: 0, rollout: begun.rollout };
  };
  const claim: GatewayWorld['claims']['claim'] = async (request) => {
    const reply = await ports.claims.claim(request);
    if (reply.kind !== 'refused' || reply.rollout?.discarded == null) return reply;
    return { kind: 'held', rollout: { ...reply.rollout, verdict: 'open', discarded: null, barred: null } };
  };
  return {
    ...seesEverything(ports),
    grades: { ...ports.grades, begin },
    claims: { ...ports.claims, claim },
  };
}

/** The judge's failure is a score like any other. */
export function failedJudgeIsZero(ports: GatewayWorld): GatewayWorld {
  const score: GatewayWorld['judge']['score'] = async (...asked) => {
    try {
      return await ports.judge.score(...asked);
    } catch {
      return { kind: 'scored', score: 0 };
    }
  };
  return { ...ports, judge: { score } };
}

/** What was never sent is taken for what may have been. */
export function taintsTheUnsent(ports: GatewayWorld): GatewayWorld {
  const unsent: GatewayWorld['calls']['unsent'] = async (key, call) => {
    const known = await ports.calls.lookup(key, call);
    if (known === null) return;
    await ports.calls.settle({
      ...known.summary,
      key,
      digest: known.digest,
      outcome: 'infrastructure_failure',
      code: 'outcome_unknown',
      isAnswered: false,
      taint: { code: 'outcome_unknown', evidence: {} },
      idleMs: 60_000,
    });
  };
  return { ...ports, calls: { ...ports.calls, unsent } };
}

/** What the grader looks at is gone with a sandbox that the policy broke, and its turn fails for that. */
export function missesArtifacts(ports: GatewayWorld): GatewayWorld {
  const score: GatewayWorld['grades']['score'] = async (key, turn, ...graded) => {
    const { grades, lifecycle } = ports;
    const rollout = await lifecycle.heartbeat(key);
    if (rollout?.verdict !== 'broken') return grades.score(key, turn, ...graded);
    throw new Failure('grader_failed', 'the artifacts are not there');
  };
  return { ...ports, grades: { ...ports.grades, score } };
}

/** Finish and delete say that they have been heard. */
export function endsNothing(ports: GatewayWorld): GatewayWorld {
  const close: GatewayWorld['lifecycle']['close'] = async (key) => {
    const record = await ports.lifecycle.heartbeat(key);
    return record === null ? null : { ...record, state: 'closed', closedBy: 'finished' };
  };
  return { ...ports, lifecycle: { ...ports.lifecycle, close } };
}

/** Its verdict on every rollout is that it may be scored. */
export function takesAllForScorable(core: GatewayCore): GatewayCore {
  return {
    ...core,
    view: async (...asked) => ({ ...(await core.view(...asked)), verdict: { kind: 'scorable' } }),
  };
}

/** Wrong arguments under the id of a refused call get what it was answered. */
export function comparesNoArguments(ports: GatewayWorld): GatewayWorld {
  const settle: GatewayWorld['calls']['settle'] = async (settlement) => ({
    ...(await ports.calls.settle(settlement)),
    digest: settlement.digest,
  });
  return { ...ports, calls: { ...ports.calls, settle } };
}

/** A grader elsewhere that is heard of no more has given nothing. */
export function lostGraderIsZero(ports: GatewayWorld): GatewayWorld {
  const call: GatewayWorld['link']['call'] = async (target, ...asked) => {
    try {
      return await ports.link.call(target, ...asked);
    } catch (thrown) {
      if (!(thrown instanceof LinkError) || target.owner?.endsWith('/grader') !== true) throw thrown;
      return answering({ grade: { kind: 'ran', score: '0' } });
    }
  };
  return { ...ports, link: { ...ports.link, call } };
}

/** The exit code alone is believed, whatever probes say. */
export function believesTheExit(ports: GatewayWorld): GatewayWorld {
  return withProbes(ports, (record) => {
    const seen = { beganAtMs: record.nowMs, endedAtMs: record.nowMs, failed: 'the tool says so' };
    return { ...record, goodAtMs: record.nowMs, results: [...record.results, seen] };
  });
}

/** A probe that failed is taken for one that was good. */
export function heedsNoProbe(ports: GatewayWorld): GatewayWorld {
  return withProbes(ports, (record) => {
    const results = record.results.map((result) => ({ ...result, failed: null }));
    return { ...record, results };
  });
}

function withProbes(ports: GatewayWorld, change: (record: ProbeRecord) => ProbeRecord): GatewayWorld {
  const read: GatewayWorld['dependencies']['read'] = async (...asked) =>
    change(await ports.dependencies.read(...asked));
  return { ...ports, dependencies: { ...ports.dependencies, read } };
}

import type { Planted } from '../world.ts';
import {
  afterTaint,
  believesTheExit,
  blamesItsMemory,
  callsTwiceNamed,
  chargesTheWait,
  comparesNoArguments,
  endsNothing,
  failedJudgeIsZero,
  heedsNoProbe,
  judgesAgain,
  lostGraderIsZero,
  madeUpExit,
  marksAll,
  missesArtifacts,
  removesSendersTwice,
  renewsInSilence,
  replaysNothing,
  seesEverything,
  settlesInSilence,
  sharesSenders,
  taintsTheUnsent,
  takesAllForScorable,
  tellsTheModel,
} from './gateways.ts';
import { acceptsEverybody, forgetsItsJournal, keepsNoLatest, takesAllForSettled } from './daemons.ts';
import { believesRefusals, readsOn } from './judges.ts';
import {
  addsWhatIsKept,
  blamesThePolicy,
  endsLaunchesTwice,
  looksForNoStarts,
  writesNothingBack,
} from './controllers.ts';
import {
  asksNoIsolation,
  blamesForDisk,
  blamesForLostHelper,
  blamesForLostReader,
  blamesForMissingReader,
  blamesForSlowHelper,
  blamesForSurvivors,
  comparesTheImage,
  triesGradersOnce,
} from './readers.ts';
import { replacing } from './scripts.ts';

/**
 * Mistakes that this product could have, each made by test code around or in place of one part of it. A simulator is
 * worth what it finds: planted-bugs.test.ts asks for every one of these.
 */
const plantedBugsByName = {
  'a claim is not atomic': replacing(
    "return redis.call('ZPOPMIN', key.ready .. template)[1]",
    "return redis.call('ZRANGE', key.ready .. template, 0, 0)[1]",
  ),
  'a sandbox accepts a second bind': { makeDaemon: acceptsEverybody },
  'a row goes with its first reader': replacing(
    "if redis.call('EXISTS', key.rowReaders .. name) == 0 then forgetRow",
    'if true then forgetRow',
  ),
  'a line forgets its score': replacing("'score', 'suspected'", "'suspected'"),
  'a line ends with its neighbors': replacing(
    'local lifeMs = timing.keptForRepeatsMs + (hardLifeMs or aDayMs)',
    'local lifeMs = timing.keptForRepeatsMs',
  ),
  'the journal is forgotten between two tries': { makeDaemon: forgetsItsJournal },
  'a taint is not written': replacing('ask.taint and Ending.taint(id, ask.taint)', 'false'),
  'a tool’s word of its backend is believed without a probe': { gateway: believesTheExit },
  'a failed probe counts as good': { gateway: heedsNoProbe },
  'a taint is lost when the state changes': replacing(
    "'verdict', 'discarded', 'discarded', cjson.encode(discarded), 'discard', what.code,",
    "'verdict', 'open', 'discard', '',",
  ),
  'waiting is charged to the command': { gateway: chargesTheWait },
  'a score does not ask whether its sandbox is still there': { gateway: seesEverything },
  'a call that was never sent taints its rollout': { gateway: taintsTheUnsent },
  'a lease is never renewed': replacing(
    "write(id, 'leaseUntilMs', untilMs)\n  redis.call('ZADD', key.leases,",
    "untilMs = nowMs + 1000\n  redis.call('ZADD', key.leases,",
  ),
  'a rollout expires while its command runs': replacing(
    "return not inTouch or redis.call('SCARD', key.inFlight .. id) > 0 or",
    'return not inTouch or',
    'math.max(tonumber(has.leaseUntilMs), nowMs + timeoutMs + idleMs)',
    'nowMs + 500',
  ),
  'a sandbox is swapped after a dispatch': replacing(
    "(state == 'active' and not dispatched)",
    "state == 'active'",
  ),
  'a call settles twice': replacing(
    'Call.isSettled(known) or known[2] ~= ask.digest',
    'known[2] ~= ask.digest',
  ),
  'a repeat runs again at another gateway': { gateway: callsTwiceNamed },
  'a lost wake-up is never made up for': { gateway: renewsInSilence },
  'a sender is removed twice': {
    ...replacing('if not first then return false end', 'if not first then first, last = 1, 1 end'),
    gateway: removesSendersTwice,
  },
  'the removal of an earlier try removes a later one': { gateway: sharesSenders },
  'a sandbox evicts answers that are not settled': { makeDaemon: takesAllForSettled },
  'a sandbox evicts its latest answers': { makeDaemon: keepsNoLatest },
  'no sandbox hears which of its calls are settled': { gateway: settlesInSilence },
  'an answer that went down with its sandbox counts as expired': replacing(
    "if broken then return { kind = 'output_gone' } end",
    "if broken then return { kind = 'answer_expired' } end",
  ),
  'a repeat is judged again': {
    ...replacing('Call.isSettled(known) or known[2] ~= ask.digest', 'known[2] ~= ask.digest'),
    gateway: judgesAgain,
  },
  'what a refusal said is not kept': replacing(', text = summary[13] }', ' }'),
  'answers are gone with the Redis that knew of them': replacing(
    "summary[6], summary[12] = 'completed', 1",
    "summary[6], summary[12] = 'completed', 0",
  ),
  'an unclassified error leaves as text for the model': { core: tellsTheModel },
  'a grant to a gateway that died is never taken back': replacing(
    'local takenBackAtOnce = 100',
    'local takenBackAtOnce = 0',
  ),
  'a sandbox serves a second rollout': replacing(
    '== id then drain(sandbox) end',
    "== id then redis.call('ZADD', key.ready .. Rollout.read(id, 'template'), nowMs, sandbox) end",
  ),
  'a draining sandbox is granted': replacing(
    "redis.call('ZREM', key.ready .. template, sandbox)\n  redis.call('SREM', key.held",
    "redis.call('SREM', key.held",
    "redis.call('ZREM', key.ready .. template, sandbox)\n  redis.call('ZREM', key.draining",
    "redis.call('ZREM', key.draining",
  ),
  'a Redis that has forgotten is taken as it is': { controller: writesNothingBack },
  'a lost answer is recorded as exit code 1': { gateway: madeUpExit },
  'a kill for want of the machine’s memory is the command’s own end': { gateway: blamesItsMemory },
  'a tainted rollout goes on': { gateway: afterTaint },
  'a failed start keeps its slot': replacing(
    "redis.call('ZREM', key.starts, sandbox)\n",
    "if redis.call('HGET', key.sandbox .. sandbox, 'boot') then redis.call('ZREM', key.starts, sandbox) end\n",
  ),
  'a start whose job was never added waits for its timeout': { controller: looksForNoStarts },
  'a start whose job is over gets no other': { controller: addsWhatIsKept },
  'a launch that runs twice ends a sandbox that is ready': {
    ...replacing("if phase ~= 'starting' and not wasStart then return false end", ''),
    controller: endsLaunchesTwice('failed'),
  },
  'a launch that runs twice gives its sandbox away twice': {
    ...replacing("if phase ~= 'starting' then return owner or nil end", ''),
    controller: endsLaunchesTwice('ready'),
  },
  'a stale replica counts as the Redis that it copied': replacing(
    "if redis.call('GET', key.redis) ~= ARGV[1] then",
    "if not redis.call('GET', key.redis) then",
    "if redis.call('GET', key.redis) == redisRun then return nil end\n  local rows",
    "if redis.call('GET', key.redis) then return nil end\n  local rows",
  ),
  'half of what a judge says is a score': { judge: readsOn },
  'a judge that gives no score gives a zero': { gateway: failedJudgeIsZero },
  'a judge that refuses every key gives a score': { judge: believesRefusals },
  'a rollout that broke its sandbox is discarded': replacing(
    'if brokenReason and dispatched and not isSetupsDoing then',
    'if false then',
  ),
  'every lost sandbox was broken by its policy': { controller: blamesThePolicy },
  'a cancelled call that waits runs all the same': replacing(
    'Call.write(id, call, summary)\n  if known then Call.callEnded',
    'if not ask.onlyNew then Call.write(id, call, summary) end\n  if known then Call.callEnded',
  ),
  'calls that run are forgotten when their rollout is ended': replacing(
    "settleInFlight(id, 'cancelled', nil)\n",
    '',
  ),
  'a rollout that was ended goes on': { gateway: endsNothing },
  'a heartbeat renews nothing': replacing("if Rollout.read(id, 'state') then Presence.stillHere(id) end", ''),
  'an outage is charged to those who could not be heard': replacing(
    'if leaseMs then Rollout.leaseUntil(id, leaseMs + gapMs, hardEndMs) end',
    '',
  ),
  'a grader reads the texts of another call': replacing(
    "texts['a ' .. call] or",
    "texts['a ' .. flat[1]] or",
  ),
  'a verdict does not ask for the taint': { core: takesAllForScorable },
  'a second verdict overwrites the first': replacing(
    'local to = becomes[word][event]',
    'local to = becomes.open[event]',
  ),
  'a loss changes a discard': replacing('  discarded = {},\n}', "  discarded = { lose = 'discarded' },\n}"),
  'a void takes a score back': replacing(
    'scored = {},',
    "scored = { void = 'discarded' },",
    "if read(id) ~= 'scored' then return change(id, 'void',",
    "if true then return change(id, 'void',",
    'return Rollout.isOpen(state) or isGradedLate(word, state)',
    'return true',
  ),
  'a verdict is returned before a replica has it': replacing('if hasFreshVerdict then', 'if false then'),
  'a broken rollout is discarded for its artifacts': {
    ...replacing("if word == 'broken' and event == 'give_up' and not what.suspected then", 'if false then'),
    gateway: missesArtifacts,
  },
  'a broken rollout is discarded before its late grade': replacing(
    "broken = { score = 'scored',",
    "broken = { expire = 'discarded', score = 'scored',",
  ),
  'a grant is missing from what moved': replacing('Sandbox.movedAll(granted)', ''),
  'the loss of a grader’s sandbox is the loss of its rollout': replacing(
    '-- What the policy left behind reached the limit of a second grader',
    "if Rollout.isGrader(id) then Ending.lose(Rollout.rolloutOf(id), cause, evidence, false) return { kind = 'none' } end\n  --",
  ),
  'a grader whose sandbox was lost gives a zero': { gateway: lostGraderIsZero },
  'a start that may succeed next time is certain to fail': replacing(
    "reason ~= '' and alike >= alikeToOpen",
    'alike >= alikeToOpen',
  ),
  'the image is listed in place of what the policy changed': comparesTheImage,
  'an I/O error of the disk is the policy’s doing': blamesForDisk,
  'a reader that is lost is the policy’s doing': blamesForLostReader,
  'a reader that is missing is the policy’s doing': blamesForMissingReader,
  'a lost helper of a grader is the policy’s doing': blamesForLostHelper,
  'a slow helper of a grader is the policy’s doing': blamesForSlowHelper,
  'a first want of memory is the policy’s doing': triesGradersOnce,
  'processes that cannot be killed are the policy’s doing': blamesForSurvivors,
  'a sandbox with one id counts as one with two': asksNoIsolation,
  'what only a sandbox with one id says is not marked': {
    actor: 'adversary',
    ...replacing("return hasRun and not areIdsApart and 'command' or nil", 'return nil'),
  },
  'a discard that may be the policy’s is not marked': {
    actor: 'adversary',
    ...replacing('suspected = ask.suspected or former, evidence', 'evidence'),
  },
  'a set-up mark is taken after the policy has acted': replacing(
    "if setup and Setup.isOver(id) then return { kind = 'setup_over' } end",
    '',
  ),
  'a replay that ends otherwise is kept': replacing('if step.digest ~= ended.digest then', 'if false then'),
  'a policy’s call has the mark of set-up': { core: marksAll },
  'a rollout that heals is graded as it is': {
    ...replacing('if isHalfHealed then', 'if false then'),
    gateway: replaysNothing,
  },
  'the next sandbox is taken without its set-up': {
    ...replacing('return replayed == steps\n', 'return true\n'),
    gateway: replaysNothing,
  },
  'a template with sandboxes is not counted in its pool': replacing(
    "redis.call('SADD', key.templates, template)\n  stock(template, 1)",
    "redis.call('SADD', key.templates, template)",
  ),
  // These were real. The first one was found under load, and the simulator was blind for it.
  'a turn of the grader is lost with its answer': replacing(
    'return gradeBy == by and run() or {',
    'return {',
  ),
  'wrong arguments under the id of a refused call get its answer': { gateway: comparesNoArguments },
} as const satisfies Record<string, Planted>;

export type PlantedBug = keyof typeof plantedBugsByName;

export const plantedBugs: Readonly<Record<PlantedBug, Planted>> = plantedBugsByName;

export const plantedBugNames = Object.keys(plantedBugs) as readonly PlantedBug[];

-- requires: rollout, run, setup
-- The verdict of a rollout: open, broken (the policy broke its own sandbox), scored, or discarded. Its place (waiting, claimed,
-- active, grading, closed, expired) is a second state, independent of this one. Only `change` writes a verdict.

-- What each event makes of each verdict. An event that is not listed changes nothing, so every reader gets the first verdict.
--   score    the grader's score, or the trainer's own
--   breaks   what the policy ran took the sandbox down
--   lose     the sandbox is gone, and the rollout's state with it
--   taint    a call ended so that the rollout's state is unknown
--   give_up  the grader failed in each of its turns. A broken rollout is scored by `on_broken` instead, unless the policy may have
--            made the grader fail: `suspected`
--   distrust its judge scored a canary wrongly, which has nothing to do with the policy
--   unseen   calls that the platform names never arrived
--   refuse   the task cannot run here
--   expire   its lease or its life is over. A broken rollout is still scored by a late grade.
--   void     a caller takes it out of its run. A score stays as it was reported: `void` marks it, and the run's sums leave it out.
-- An end by the trainer (finish, delete, run closed, superseded) is no event: the verdict stays, and nothing changes it later.
local becomes = {
  open = {
    score = 'scored', breaks = 'broken', lose = 'discarded', taint = 'discarded', give_up = 'discarded', unseen = 'discarded',
    refuse = 'discarded', distrust = 'discarded', expire = 'discarded', void = 'discarded',
  },
  broken = { score = 'scored', give_up = 'discarded', distrust = 'discarded', unseen = 'discarded', void = 'discarded' },
  scored = {},
  discarded = {},
}

-- Of a rollout that is over, its line has no `discarded`, but its code, cause, mark and time.
local fields = {
  'verdict', 'discarded', 'suspected', 'discard', 'taintCause', 'taintAtMs', 'decidedAtMs', 'closedAtMs', 'voidedAtMs', 'healing',
  -- Its place, read with them in one command.
  'state', 'closedBy', 'hardEndMs',
}

local function present(text)
  return text and text ~= '' and text or nil
end

local function discardOfLine(has)
  return {
    code = has.discard, cause = present(has.taintCause), suspected = present(has.suspected), atMs = tonumber(has.taintAtMs),
  }
end

-- The verdict in these fields, and what is known of its discard: `Discarded` of scripts/shapes.ts. Of a rollout that is over, its line
-- may know only when it closed.
local function of(has)
  local word = has.verdict or 'open'
  if word ~= 'open' then
    for _, field in ipairs({ 'decidedAtMs', 'closedAtMs', 'voidedAtMs' }) do noteVerdictOf(has[field]) end
  end
  if word ~= 'discarded' then return word end
  return word, has.discarded and cjson.decode(has.discarded) or discardOfLine(has)
end

-- The verdict, what is known of its discard, and the fields of its place.
local function read(id)
  local has = {}
  for place, value in ipairs(redis.call('HMGET', key.rollout .. id, unpack(fields))) do has[fields[place]] = value or nil end
  local word, discarded = of(has)
  return word, discarded, has
end

-- A broken rollout whose lease is over is still graded: its sandbox is gone in any case.
local function isGradedLate(word, state)
  return word == 'broken' and state == 'expired'
end

local function mayChange(word, event, what, state)
  if word == 'broken' and event == 'give_up' and not what.suspected then return false end
  return Rollout.isOpen(state) or isGradedLate(word, state)
end

-- Where commands may have sandboxd's id, a policy can write what its sandbox says: a discard that rests on this alone (`bySandbox`,
-- failure/witness.ts) is marked, once something of the policy has run.
local function markOf(id, what)
  if what.suspected or not what.bySandbox then return what.suspected end
  local dispatched, idsApartIn, boot = Rollout.read(id, 'dispatched', 'idsApartIn', 'boot')
  local hasRun = dispatched and dispatched ~= 'setup'
  local areIdsApart = idsApartIn and idsApartIn == boot
  return hasRun and not areIdsApart and 'command' or nil
end

local write = {}

-- Turns of its grader that failed before it broke are no turns of a grader that knows it.
function write.broken(id, what)
  Rollout.write(id, 'verdict', 'broken', 'broken', what.reason, 'turnsBefore', Rollout.read(id, 'gradeTurn') or 0)
end

function write.scored(id, what)
  Rollout.write(id, 'verdict', 'scored', 'score', what.score, 'scoreDetail', what.detail)
  Run.countScore(id, tonumber(what.score))
end

function write.discarded(id, what)
  local suspected = markOf(id, what)
  local discarded = { code = what.code, cause = what.cause, suspected = suspected, evidence = what.evidence, atMs = nowMs }
  Rollout.write(id, 'verdict', 'discarded', 'discarded', cjson.encode(discarded), 'discard', what.code,
    'taintCause', what.cause or '', 'taintAtMs', nowMs)
  if suspected then Rollout.write(id, 'suspected', suspected) end
  Run.countDiscard(id, what.code, what.counted)
end

-- The verdict alone, for a script that acts on it and does not reply it.
local function wordAt(id)
  return Rollout.read(id, 'verdict') or 'open'
end

-- The one place that changes a verdict; true if it did. `what` of a discard: `code`, `cause`, `suspected`, `evidence`,
-- `bySandbox`, if only the sandbox says so, and `counted`, if a call that settled with the code was counted already.
local function change(id, event, what)
  local word, _, at = read(id)
  local to = becomes[word][event]
  if not to or not mayChange(word, event, what, at.state) then return false end
  if at.healing then Setup.endHealing(id) end
  write[to](id, what)
  Rollout.write(id, 'decidedAtMs', nowMs)
  Run.decided(Rollout.runOf(id))
  hasFreshVerdict = true
  return true
end

-- True if it changed the verdict or the run's sums.
local function void(id, reason)
  if read(id) ~= 'scored' then return change(id, 'void', { code = 'voided', evidence = cjson.encode({ reason = reason }) }) end
  if Rollout.read(id, 'voidedAtMs') then return false end
  Rollout.write(id, 'voidedAtMs', nowMs, 'voidReason', reason)
  Run.decided(Rollout.runOf(id))
  hasFreshVerdict = true
  Run.leaveOutScore(id)
  return true
end

local endsWithRun = { run_closed = true, run_lapsed = true }

-- Why a rollout may not go on; nil if it may. A discard outranks its end because it says more.
local function barredBy(discarded, state, closedBy)
  if discarded then return discarded.code end
  if state == 'expired' then return 'rollout_expired' end
  if state == 'closed' then return endsWithRun[closedBy] and 'run_closed' or 'rollout_closed' end
  return nil
end

local function barred(id)
  local _, discarded, at = read(id)
  return barredBy(discarded, at.state, at.closedBy)
end

-- Why a new call may not go out, or nil; and the verdict. `has`: the rollout's fields. From the begin of its grading on, it takes no
-- new call.
local function barsCall(has)
  local word, discarded = of(has)
  local code = barredBy(discarded, has.state, has.closedBy)
  if not code and has.state == 'grading' then code = 'rollout_closed' end
  if not code and nowMs >= tonumber(has.hardEndMs) then code = 'rollout_expired' end
  return code, word
end

-- Why a rollout may not be graded, or a score not be stored.
local function barsGrade(id)
  local word, discarded, at = read(id)
  if isGradedLate(word, at.state) then return nil end
  return barredBy(discarded, at.state, at.closedBy)
end

return {
  of = of,
  read = read,
  wordAt = wordAt,
  change = change,
  void = void,
  barredBy = barredBy,
  barred = barred,
  barsCall = barsCall,
  barsGrade = barsGrade,
}

-- requires: call, line, over, rollout, row, run, sandbox, setup, verdict, wakeup
-- Ends of rollouts, and what follows from a verdict. A discard is not an end: the rollout stays where it is, barred, until it is
-- closed or its lease is over.

local function leaveOpenSets(id, template)
  Line.leave(id, template)
  redis.call('ZREM', key.grants, id)
  redis.call('ZREM', key.leases, id)
  redis.call('SREM', key.open .. Rollout.runOf(id), id)
end

-- A grader's sandbox is let go, with all that says that there was one.
local function dropGrader(id)
  local template, sandbox = Rollout.read(id, 'template', 'sandbox')
  if not template then return end
  Line.leave(id, template)
  redis.call('ZREM', key.grants, id)
  redis.call('ZREM', key.leases, id)
  Sandbox.drainOf(id, sandbox)
  redis.call('DEL', key.rollout .. id)
  Wakeup.released(id)
end

-- Closes an open rollout: state `closed` or `expired`, and why. What runs is killed with its sandbox.
local function close(id, state, closedBy)
  if Rollout.isGrader(id) then return dropGrader(id) end
  dropGrader(Rollout.graderOf(id))
  local template, sandbox, item, wave = Rollout.read(id, 'template', 'sandbox', 'itemKey', 'wave')
  if state == 'expired' then
    -- A call that runs to the end of a rollout's life is one that its sandbox never ended, and so is a grade that came to no end, and one
    -- that did not begin because the sandbox served nothing any longer. What marked a turn that failed marks this, too.
    local gradeTurn, gradeEvidence, unserved = Rollout.read(id, 'gradeTurn', 'gradeEvidence', 'unserved')
    local isUnended = unserved or redis.call('SCARD', key.inFlight .. id) > 0 or tonumber(gradeTurn or 0) > 0
    local suspected = cjson.decode(gradeEvidence or '{}').suspected
    Verdict.change(id, 'expire', { code = 'rollout_expired', suspected = suspected, bySandbox = isUnended and true or false })
  end
  Setup.leave(id)
  Call.settleInFlight(id, 'cancelled', nil)
  leaveOpenSets(id, template)
  Sandbox.drainOf(id, sandbox)
  Rollout.write(id, 'state', state, 'closedBy', closedBy, 'closedAtMs', nowMs)
  Run.leaveGroup(id, item, wave)
  Sandbox.closeCost(id)
  -- A late grade needs the row of a broken rollout, and what its calls said.
  local isGradedLate = state == 'expired' and Verdict.wordAt(id) == 'broken'
  if not isGradedLate then Row.giveBack(id) end
  Run.trim(Rollout.runOf(id))
  Over.shrink(id, isGradedLate)
  Wakeup.ended(id)
end

-- It waits for nothing any more. To a Redis that had forgotten what ran, it may stand in line again, or hold what nothing ran in.
local function stopWaiting(id)
  local state, template = Rollout.read(id, 'state', 'template')
  if state == 'waiting' then Line.leave(id, template) end
  redis.call('ZREM', key.grants, id)
  Wakeup.decided(id)
end

-- Discards a rollout for its grading; false if its verdict stays.
local function discard(id, event, what)
  if not Verdict.change(id, event, what) then return false end
  stopWaiting(id)
  return true
end

-- Discards a rollout whose state is lost; false if its verdict stays. Everything in flight ran in that state and settles with the code.
local function discardLost(id, event, what)
  if Rollout.isGrader(id) then
    dropGrader(id)
    return false
  end
  what.counted = what.counted or redis.call('SCARD', key.inFlight .. id) > 0
  if not Verdict.change(id, event, what) then return false end
  dropGrader(Rollout.graderOf(id))
  Setup.leave(id)
  Call.settleInFlight(id, 'infrastructure_failure', what.code)
  Sandbox.drainOf(id, (Rollout.read(id, 'sandbox')))
  Sandbox.closeCost(id)
  stopWaiting(id)
  return true
end

-- `sandbox_lost`: the state of a rollout went with its sandbox. A sandbox that goes is reported to `lose` of sandboxes.lua. A loss may
-- be found later: a call ran in two sandboxes (`rememberDispatch` of calls.lua), or Redis forgot a rollout whose sandbox is gone
-- (`forget` of recovery.lua; `unsureCode` of lib/outage.lua refuses to open it again).
local function lose(id, cause, evidence, counted, suspected, bySandbox)
  local what = {
    code = 'sandbox_lost', cause = cause, evidence = evidence, counted = counted, suspected = suspected, bySandbox = bySandbox,
  }
  return discardLost(id, 'lose', what)
end

-- A call leaves the state of its rollout unknown, by the code that it settles with.
local function taint(id, taint)
  local what = { code = taint.code, evidence = taint.evidence, suspected = taint.suspected, counted = true }
  return discardLost(id, 'taint', what)
end

-- What ran took the sandbox down: the model's own failure. Later calls get that as their answer, and the rollout can be scored.
local function breakRollout(id, reason)
  if not Verdict.change(id, 'breaks', { reason = reason }) then return false end
  Call.settleInFlight(id, 'completed', 'sandbox_broken')
  Sandbox.drainOf(id, (Rollout.read(id, 'sandbox')))
  Wakeup.decided(id)
  return true
end

return {
  dropGrader = dropGrader,
  close = close,
  discard = discard,
  lose = lose,
  taint = taint,
  breakRollout = breakRollout,
}

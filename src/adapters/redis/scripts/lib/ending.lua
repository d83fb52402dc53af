-- requires: call, line, over, rollout, row, run, sandbox
-- Ends of rollouts. A taint is not an end: the rollout stays where it is, barred, until it is closed or its lease is over.

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
  redis.call('PUBLISH', key.wake, id)
end

-- Closes an open rollout: state `closed` or `expired`, and why. What runs is killed with its sandbox.
local function close(id, state, closedBy)
  if Rollout.isGrader(id) then return dropGrader(id) end
  dropGrader(Rollout.graderOf(id))
  local template, sandbox, item, wave, score = Rollout.read(id, 'template', 'sandbox', 'itemKey', 'wave', 'score')
  Call.settleInFlight(id, 'cancelled', nil)
  leaveOpenSets(id, template)
  Sandbox.drainOf(id, sandbox)
  Rollout.write(id, 'state', state, 'closedBy', closedBy, 'closedAtMs', nowMs)
  Run.leaveGroup(id, item, wave)
  if state == 'expired' and not score then Run.discard(id, 'rollout_expired', false) end
  Sandbox.closeCost(id)
  Row.giveBack(id)
  Run.trim(Rollout.runOf(id))
  Over.shrink(id)
  redis.call('PUBLISH', key.wake, id)
end

-- Final: the rollout can never be scored. Everything in flight ran in the same lost state and settles with the code.
local function taint(id, code, cause, evidence, counted)
  if Rollout.isGrader(id) then return dropGrader(id) end
  dropGrader(Rollout.graderOf(id))
  Rollout.write(id, 'taintCode', code, 'taintCause', cause, 'taintEvidence', evidence, 'taintAtMs', nowMs)
  local settled = Call.settleInFlight(id, 'infrastructure_failure', code)
  Run.discard(id, code, counted or settled > 0)
  local state, template, sandbox = Rollout.read(id, 'state', 'template', 'sandbox')
  -- To a Redis that had forgotten what ran it may stand in line again, or hold what nothing ran in.
  if state == 'waiting' then Line.leave(id, template) end
  redis.call('ZREM', key.grants, id)
  Sandbox.drainOf(id, sandbox)
  Sandbox.closeCost(id)
  redis.call('PUBLISH', key.wake, id)
end

-- `sandbox_lost`: the state of a rollout went with its sandbox. Whoever sees one go says so to `lose` of sandboxes.lua; seen later,
-- a call ran in two sandboxes (`rememberDispatch` of calls.lua), or Redis forgot a rollout whose sandbox is gone (`forget` of
-- recovery.lua; `unsureCode` of lib/outage.lua refuses to open it anew).
local function taintAsLost(id, cause, evidence, counted)
  taint(id, 'sandbox_lost', cause, evidence, counted)
end

-- What ran took the sandbox down with it: the model's own failure, final. Later calls are told so, and it can be scored.
local function breakRollout(id, reason)
  Rollout.write(id, 'broken', reason)
  Call.settleInFlight(id, 'completed', 'sandbox_broken')
  Sandbox.drainOf(id, (Rollout.read(id, 'sandbox')))
  redis.call('PUBLISH', key.wake, id)
end

return {
  dropGrader = dropGrader,
  close = close,
  taint = taint,
  taintAsLost = taintAsLost,
  breakRollout = breakRollout,
}

-- requires: call, line, over, rollout, row, run, sandbox
-- Ends of rollouts. A taint is not an end: the rollout stays where it is, barred, until it is closed or its lease is over.

local function leaveOpenSets(id, template)
  leaveLine(id, template)
  redis.call('ZREM', key.grants, id)
  redis.call('ZREM', key.leases, id)
  redis.call('SREM', key.open .. runOf(id), id)
end

-- A grader's sandbox is let go, with all that says that there was one.
local function dropGrader(id)
  local template, sandbox = read(id, 'template', 'sandbox')
  if not template then return end
  leaveLine(id, template)
  redis.call('ZREM', key.grants, id)
  redis.call('ZREM', key.leases, id)
  drainOf(id, sandbox)
  redis.call('DEL', key.rollout .. id)
  redis.call('PUBLISH', key.wake, id)
end

-- Closes an open rollout: state `closed` or `expired`, and why. What runs is killed with its sandbox.
local function closeRollout(id, state, closedBy)
  if isGrader(id) then return dropGrader(id) end
  dropGrader(graderOf(id))
  local template, sandbox, item, wave, score = read(id, 'template', 'sandbox', 'itemKey', 'wave', 'score')
  settleInFlight(id, 'cancelled', nil)
  leaveOpenSets(id, template)
  drainOf(id, sandbox)
  write(id, 'state', state, 'closedBy', closedBy, 'closedAtMs', nowMs)
  leaveGroup(id, item, wave)
  if state == 'expired' and not score then discard(id, 'rollout_expired', false) end
  closeCost(id)
  giveBackRow(id)
  trimRun(runOf(id))
  shrink(id)
  redis.call('PUBLISH', key.wake, id)
end

-- Final: the rollout can never be scored. Everything in flight ran in the same lost state and settles with the code.
local function taint(id, code, cause, evidence, counted)
  if isGrader(id) then return dropGrader(id) end
  dropGrader(graderOf(id))
  write(id, 'taintCode', code, 'taintCause', cause, 'taintEvidence', evidence, 'taintAtMs', nowMs)
  local settled = settleInFlight(id, 'infrastructure_failure', code)
  discard(id, code, counted or settled > 0)
  local state, template, sandbox = read(id, 'state', 'template', 'sandbox')
  -- To a Redis that had forgotten what ran it may stand in line again, or hold what nothing ran in.
  if state == 'waiting' then leaveLine(id, template) end
  redis.call('ZREM', key.grants, id)
  drainOf(id, sandbox)
  closeCost(id)
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
  write(id, 'broken', reason)
  settleInFlight(id, 'completed', 'sandbox_broken')
  drainOf(id, (read(id, 'sandbox')))
  redis.call('PUBLISH', key.wake, id)
end

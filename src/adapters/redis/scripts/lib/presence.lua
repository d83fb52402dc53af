-- requires: breaker, line, outage, record, rollout, run, verdict
-- "Still here", said by a claim or a renewal, and what a caller is told about the rollout then.

-- A waiter whose place is over takes a new one, at the end.
local function standAgain(id, template)
  if Line.staysFull(Rollout.runOf(id)) then return 'line_full' end
  Rollout.write(id, 'placedAtMs', nowMs)
  redis.call('HDEL', key.rollout .. id, 'atHead')
  Line.join(id, template, nowMs)
end

local function renewPlace(id, template)
  local placedAtMs, atHead = Rollout.read(id, 'placedAtMs', 'atHead')
  redis.call('ZADD', key.waiters, nowMs, id)
  Line.becomeGrantable(id, template, atHead and placedAtMs - Line.headStart or placedAtMs)
end

local function whoIsHere(id)
  return Rollout.read(id, 'state', 'template', 'face', 'idleMs', 'hardEndMs', 'leaseUntilMs')
end

-- Renews whatever hangs on somebody asking: the place, the grant, the lease, the run. Returns a code when it may not stand.
local function stillHere(id)
  local state, template, face, idleMs, hardEndMs, leaseMs = whoIsHere(id)
  if not Rollout.isOpen(state) then return nil end
  Run.renew(Rollout.runOf(id), face)
  Rollout.leaseUntil(id, math.max(tonumber(leaseMs), nowMs + idleMs), hardEndMs)
  if state == 'claimed' then redis.call('ZADD', key.grants, 'XX', nowMs, id) end
  if state ~= 'waiting' or Verdict.barred(id) then return nil end
  local inDoubt = redis.call('HEXISTS', key.unsure, id) == 1 and Outage.unsureCode(id)
  if inDoubt then return inDoubt end
  if not redis.call('ZSCORE', key.waiters, id) then return standAgain(id, template) end
  renewPlace(id, template)
end

-- What a claim is told: `Claimed` of scripts/shapes.ts.
local function claimReply(id)
  local rollout = Record.read(id)
  if rollout.barred then return { kind = 'refused', code = rollout.barred, rollout = rollout } end
  if rollout.state == 'waiting' then
    return { kind = 'waiting', ahead = Line.aheadOf(id, rollout.template), rollout = rollout,
      failing = Breaker.certainFailure(rollout.template) }
  end
  return { kind = 'held', rollout = rollout }
end

return {
  whoIsHere = whoIsHere,
  stillHere = stillHere,
  claimReply = claimReply,
}

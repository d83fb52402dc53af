-- requires: breaker, line, outage, rollout, run
-- "Still here", said by a claim or a renewal, and what a caller is told about the rollout then.

-- A waiter whose place is over takes a new one, at the end.
local function standAgain(id, template)
  if lineStaysFull(runOf(id)) then return 'line_full' end
  write(id, 'placedAtMs', nowMs)
  redis.call('HDEL', key.rollout .. id, 'atHead')
  joinLine(id, template, nowMs)
end

local function renewPlace(id, template)
  local placedAtMs, atHead = read(id, 'placedAtMs', 'atHead')
  redis.call('ZADD', key.waiters, nowMs, id)
  becomeGrantable(id, template, atHead and placedAtMs - headStart or placedAtMs)
end

local function whoIsHere(id)
  return read(id, 'state', 'template', 'face', 'idleMs', 'hardEndMs', 'leaseUntilMs', 'taintCode')
end

-- Renews whatever hangs on somebody asking: the place, the grant, the lease, the run. Returns a code when it may not stand.
local function stillHere(id)
  local state, template, face, idleMs, hardEndMs, leaseMs, tainted = whoIsHere(id)
  if not isOpen(state) then return nil end
  renewRun(runOf(id), face)
  leaseUntil(id, math.max(tonumber(leaseMs), nowMs + idleMs), hardEndMs)
  if state == 'claimed' then redis.call('ZADD', key.grants, 'XX', nowMs, id) end
  if state ~= 'waiting' or tainted then return nil end
  local inDoubt = redis.call('HEXISTS', key.unsure, id) == 1 and unsureCode(id)
  if inDoubt then return inDoubt end
  if not redis.call('ZSCORE', key.waiters, id) then return standAgain(id, template) end
  renewPlace(id, template)
end

-- { held | waiting | refused, how many are ahead or the code, the record, of one that waits in vain the failure }
local function claimReply(id)
  local values = record(id)
  local function of(field) return values[placeInRecord[field]] end
  local state, template, taintCode, closedBy = of('state'), of('template'), of('taintCode'), of('closedBy')
  local barred = barredCode(state, taintCode, closedBy)
  if barred then return { 'refused', barred, values } end
  if state == 'waiting' then return { 'waiting', aheadOf(id, template), values, certainFailure(template) } end
  return { 'held', 0, values }
end

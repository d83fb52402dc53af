-- requires: call, ending, gateway, line, outage, presence, record, rollout, row, run, verdict
-- How long rollouts and runs live: who renews them, who ends them, and what silence means.

-- The record of an attempt, or of the newest one where none is named: the id comes with its attempt left open.
script('find', function(ask)
  local attempt = ask.attempt or Rollout.newestOf(ask.before .. '/' .. ask.role)
  local id = string.format('%s/%d/%s', ask.before, attempt, ask.role)
  local found = Record.read(id)
  if not found and Outage.unsureCode(id) == 'recovering' then return Outage.stillRecovering() end
  return found
end)

-- The dataset row of a rollout, which its record does not carry, raw; empty where there is none.
reading('read-row', function(ask)
  return nil, { Row.read(ask.key) or '' }
end)

-- Renews a rollout's lease, and its place or grant where it has one.
script('heartbeat', function(ask)
  local id = ask.key
  if Rollout.read(id, 'state') then Presence.stillHere(id) end
  return Record.read(id)
end)

-- Finish and delete win over everything that still runs, but not over a request that may have been lost.
script('close', function(ask)
  local id = ask.key
  local state = Rollout.read(id, 'state')
  if state and Rollout.isOpen(state) then
    if Gateway.delaysEnd(id) then return Gateway.stillDoubtful() end
    Ending.close(id, 'closed', ask.by)
  end
  return Record.read(id)
end)

-- The rollout's task cannot run here as it is: closed and discarded, with the reason. Nil if its verdict stays.
script('refuse', function(ask)
  local id = ask.key
  if not Rollout.read(id, 'state') then return nil end
  if not Verdict.change(id, 'refuse', { code = 'requirements_unmet', evidence = ask.unmet }) then return nil end
  Ending.close(id, 'closed', 'refused')
  return Record.read(id)
end)

-- Takes a rollout out of its run: one without a score is discarded, and closed if it is open; a score is left out of the run's sums.
-- One that is discarded, or that its trainer has ended without a score, stays as it is.
script('void', function(ask)
  local id = ask.key
  local state = Rollout.read(id, 'state')
  if not state then return nil end
  local changed = Verdict.void(id, ask.reason)
  if changed and Verdict.read(id) == 'discarded' then
    if Rollout.isOpen(state) then Ending.close(id, 'closed', 'voided') else Row.giveBack(id) end
  end
  return { changed = changed, rollout = Record.read(id) }
end)

-- A sandbox that no policy has touched shows that a task cannot run in it. True if another sandbox of its template has shown the
-- same within ten minutes, so that it is not the machine of one of them.
script('shows-again', function(ask)
  local name, keptMs = key.unmet .. ask.template .. ':' .. ask.what, 10 * 60 * 1000
  local before, atMs = unpack(redis.call('HMGET', name, 'sandbox', 'atMs'))
  redis.call('HSET', name, 'sandbox', ask.sandbox, 'atMs', nowMs)
  redis.call('PEXPIRE', name, keptMs)
  return before ~= false and before ~= ask.sandbox and nowMs - tonumber(atMs) < keptMs
end)

-- Its sandbox serves nothing now. `close` of lib/ending.lua marks an expiry for it, and `settle` of calls.lua takes it back.
script('unserved', function(ask)
  if Rollout.read(ask.key, 'state') then Rollout.write(ask.key, 'unserved', 1) end
end)

-- Closes rollouts whose lease has passed while nothing was dispatched or being graded and somebody could have renewed it,
-- and all whose hard life is over: their sandboxes end by themselves then.
script('expire-due', function(ask)
  local lookAgainMs = 10 * 1000 -- a rollout that is spared past its lease is looked at again then
  local inTouch = Outage.isInTouch()

  local function isSpared(id, gradeUntilMs)
    return not inTouch or redis.call('SCARD', key.inFlight .. id) > 0 or tonumber(gradeUntilMs or 0) > nowMs
  end

  local expired = {}
  local function expire(id, why)
    Ending.close(id, 'expired', why)
    expired[#expired + 1] = Record.read(id)
  end

  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key.leases, '-inf', nowMs, 'LIMIT', 0, ask.limit)) do
    local hardEndMs, gradeUntilMs = Rollout.read(id, 'hardEndMs', 'gradeUntilMs')
    if not hardEndMs then
      redis.call('ZREM', key.leases, id)
    elseif nowMs >= tonumber(hardEndMs) then
      expire(id, 'hard_life')
    elseif isSpared(id, gradeUntilMs) then
      redis.call('ZADD', key.leases, math.min(nowMs + lookAgainMs, tonumber(hardEndMs)), id)
    else
      expire(id, 'idle')
    end
  end
  Line.forgetPlaces()
  return expired
end)

-- A gateway reaches this Redis. The first to say so after an outage gives its length back to all that ends by silence:
-- leases of rollouts and runs, grants and places; and to the time that rollouts have. Returns it. All at once, which for
-- 10,000 rollouts takes some 100 ms, because what is half done would end the other half; and once an outage.
-- A Redis that has forgotten when it was last spoken to takes the gateway's own word.
script('keep-contact', function(ask)
  local known = redis.call('EXISTS', key.contact) == 1
  local gapMs = known and Outage.outageMs() or (ask.silentMs > Outage.inTouchMs and ask.silentMs or 0)
  redis.call('SET', key.contact, nowMs)
  if gapMs == 0 then return 0 end

  -- What was renewed since is as fresh as it can be.
  local function shift(name, latestMs)
    local members = redis.call('ZRANGE', name, 0, -1, 'WITHSCORES')
    for index = 1, #members, 2 do
      redis.call('ZADD', name, math.min(tonumber(members[index + 1]) + gapMs, latestMs), members[index])
    end
  end

  for _, id in ipairs(redis.call('ZRANGE', key.leases, 0, -1)) do
    local leaseMs, hardEndMs, activeAtMs = Rollout.read(id, 'leaseUntilMs', 'hardEndMs', 'activeAtMs')
    if leaseMs then Rollout.leaseUntil(id, leaseMs + gapMs, hardEndMs) end
    if activeAtMs then redis.call('HINCRBY', key.rollout .. id, 'awayMs', math.min(gapMs, nowMs - activeAtMs)) end
  end
  shift(key.runLeases, math.huge)
  shift(key.grants, nowMs)
  shift(key.waiters, nowMs)
  return gapMs
end)

-- Renews a run's lease; false for a run that is unknown or closed.
script('renew-run', function(ask)
  local run = ask.run
  local rollouts, state = unpack(redis.call('HMGET', key.run .. run, 'rollouts', 'state'))
  if not rollouts or state == 'closed' then return false end
  if redis.call('SCARD', key.open .. run) > 0 then Run.renew(run, 'native') end
  return true
end)

-- Closes a run for new rollouts at once and its open ones by portions; says how many are left. Rollouts whose end is delayed are among them;
-- a portion of nothing else is an error, so that the caller pauses.
script('close-run', function(ask)
  local run = ask.run
  redis.call('HSET', key.run .. run, 'state', 'closed')
  redis.call('PEXPIRE', key.run .. run, Rollout.keptForReportsMs)
  redis.call('ZREM', key.runLeases, run)
  local portion, delayed = redis.call('SRANDMEMBER', key.open .. run, ask.limit), 0
  for _, id in ipairs(portion) do
    if Gateway.delaysEnd(id) then delayed = delayed + 1 else Ending.close(id, 'closed', 'run_closed') end
  end
  if delayed > 0 and delayed == #portion then return Gateway.stillDoubtful() end
  return redis.call('SCARD', key.open .. run)
end)

-- Whether a rollout of the native face still runs a call or a turn of its grading: its trainer has no reason to ask meanwhile. What a
-- command has left behind does not count.
local function hasActiveWork(id)
  -- A call whose clock pauses on a busy machine outlasts its deadline. A controller asks its sandbox within this time, and moves the
  -- deadline if the call still runs.
  local overdueMs = 60 * 1000
  local face, gradeUntilMs = Rollout.read(id, 'face', 'gradeUntilMs')
  if face ~= 'native' then return false end
  if tonumber(gradeUntilMs or 0) > nowMs then return true end
  for _, call in ipairs(redis.call('SMEMBERS', key.inFlight .. id)) do
    if tonumber(redis.call('ZSCORE', key.callDeadlines, Call.overdueName(id, call)) or 0) > nowMs - overdueMs then return true end
  end
  return false
end

local function runHasActiveWork(run)
  for _, id in ipairs(redis.call('SMEMBERS', key.open .. run)) do
    if hasActiveWork(id) then return true end
  end
  return false
end

-- Native runs whose lease is over while rollouts are open. A run without open rollouts holds nothing, so its lease is
-- dropped: a trainer that pauses between steps does not lose its run. One with active work is given another lease.
script('lapsed-runs', function(ask)
  if not Outage.isInTouch() then return {} end
  local lapsed = {}
  for _, run in ipairs(redis.call('ZRANGEBYSCORE', key.runLeases, '-inf', nowMs, 'LIMIT', 0, ask.limit)) do
    if redis.call('SCARD', key.open .. run) == 0 then
      redis.call('ZREM', key.runLeases, run)
    elseif runHasActiveWork(run) then
      Run.renew(run, 'native')
    else
      lapsed[#lapsed + 1] = run
    end
  end
  return lapsed
end)

-- Closes open rollouts of the native face in a run whose lease is over, by portions; says how many are left. The run
-- itself goes on, and so do its rollouts of the other face, which has no such lease. Whoever has renewed it meanwhile keeps the rest.
script('release-lapsed', function(ask)
  local run, limit = ask.run, ask.limit
  local leaseMs = redis.call('ZSCORE', key.runLeases, run)
  if not Outage.isInTouch() or not leaseMs or tonumber(leaseMs) > nowMs then return 0 end

  local left = 0
  for _, id in ipairs(redis.call('SMEMBERS', key.open .. run)) do
    if Rollout.read(id, 'face') == 'native' then
      if limit > 0 then Ending.close(id, 'closed', 'run_lapsed') else left = left + 1 end
      limit = limit - 1
    end
  end
  if left == 0 then redis.call('ZREM', key.runLeases, run) end
  return left
end)

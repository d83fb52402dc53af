-- requires: breaker, grant, line, outage, presence, rollout, run, verdict, wakeup
-- Rollouts between their claim and their first call: renewed while they wait, moved to another sandbox, or put back in line.

-- "Still here" for many waiters at once, then ready sandboxes to those who may have them. Says who does not just wait any
-- more, and is to claim again; of the others, who may be hundreds each second, nothing needs to be said.
-- Who waits for a template whose starts fail alike is to claim again, too: the claim's reply has the failure.
-- Of most nothing is new but the time: who stands in line already is renewed together with his neighbours.
script('renew', function(ask)
  local anybodyUnsure = redis.call('EXISTS', key.unsure) == 1
  local neighbours, plain, runs, refused, templates, templateOf = {}, {}, {}, {}, {}, {}

  local function renewWithNeighbours(id, template)
    local ids = neighbours[template] or {}
    ids[#ids + 1], ids[#ids + 2] = nowMs, id
    neighbours[template], plain[id] = ids, true
  end

  -- A lease that is a sixtieth longer than it must be is not written again each second.
  local function keepLease(id, idleMs, hardEndMs, leaseMs)
    local neededMs = nowMs + idleMs
    if tonumber(leaseMs) < neededMs then Rollout.leaseUntil(id, neededMs + math.floor(idleMs / 60), hardEndMs) end
  end

  local function renew(id)
    local state, template, face, idleMs, hardEndMs, leaseMs = Presence.whoIsHere(id)
    if not template then return end
    templates[template], templateOf[id] = true, template
    -- A discarded rollout has left its line.
    local stands = state == 'waiting' and redis.call('ZSCORE', key.grantable .. template, id)
    if not stands or anybodyUnsure then
      refused[id] = Presence.stillHere(id)
      return
    end
    keepLease(id, idleMs, hardEndMs, leaseMs)
    runs[Rollout.runOf(id)] = face
    renewWithNeighbours(id, template)
  end

  for _, id in ipairs(ask.rollouts) do renew(id) end
  for run, face in pairs(runs) do Run.renew(run, face) end
  for template, ids in pairs(neighbours) do
    redis.call('ZADD', key.grantable .. template, unpack(ids))
    redis.call('ZADD', key.waiters, unpack(ids))
  end

  local anybodyGranted, inVain = false, {}
  for template in pairs(templates) do
    anybodyGranted = Grant.serveLine(template) or anybodyGranted
    inVain[template] = Breaker.hasFailedAlikeLately(template)
  end

  local function justWaits(id)
    if refused[id] or inVain[templateOf[id]] then return false end
    if plain[id] and not anybodyGranted then return true end
    return Rollout.read(id, 'state') == 'waiting' and not Verdict.barred(id)
  end

  local changed = {}
  for _, id in ipairs(ask.rollouts) do
    if not justWaits(id) then changed[#changed + 1] = id end
  end
  return changed
end)

-- Why a rollout still waits: how many are served before it, and the last start of its template that failed.
reading('place', function(ask)
  local id = ask.key
  local state, template = Rollout.read(id, 'state', 'template')
  if state ~= 'waiting' or not redis.call('ZSCORE', key.waiters, id) then return nil end
  local code, message, alike, atMs =
    unpack(redis.call('HMGET', key.breaker .. template, 'code', 'message', 'alike', 'atMs'))
  local failed = code and { code = code, message = message, alike = tonumber(alike or 1), atMs = tonumber(atMs) } or nil
  return { ahead = Line.aheadOf(id, template), lastFailure = failed }
end)

-- A sandbox that would not take its rollout is given up. Compare-and-set on the generation, and only before the first
-- dispatch; whoever comes too late, or too often, gets the current state.
script('swap', function(ask)
  local id = ask.key
  local state, current, dispatched, template, healing =
    Rollout.read(id, 'state', 'generation', 'dispatched', 'template', 'healing')

  -- What every sandbox of a template is given up for would empty its pool as fast as it fills. Above what one lost machine
  -- brings, which has some dozens of sandboxes; who may not swap now asks again.
  local swapsMax, withinMs = 60, 60 * 1000

  local function mayGiveUp()
    local name = key.swaps .. template
    local sinceMs, swaps = unpack(redis.call('HMGET', name, 'sinceMs', 'swaps'))
    if not sinceMs or nowMs - tonumber(sinceMs) >= withinMs then
      redis.call('HSET', name, 'sinceMs', nowMs, 'swaps', 1)
      redis.call('PEXPIRE', name, 2 * withinMs)
      return true
    end
    if tonumber(swaps) >= swapsMax then return false end
    redis.call('HINCRBY', name, 'swaps', 1)
    return true
  end

  if not state then return nil end
  local isUnused = healing or not dispatched
  if state == 'claimed' and tonumber(current) == ask.generation and isUnused and not Verdict.barred(id) and mayGiveUp() then
    Rollout.write(id, 'swapReason', ask.reason, 'swapEvidence', ask.evidence, 'atHead', 1)
    Grant.swapToHead(id)
  end
  return Presence.claimReply(id)
end)

-- Grants that nobody dispatched on or renewed in time: the sandbox may have been bound, so it is destroyed; the
-- rollout keeps its place, silent until somebody asks for it again.
script('take-back-grants', function(ask)
  if not Outage.isInTouch() then return 0 end
  local takenBackAtOnce = 100
  local late = redis.call('ZRANGEBYSCORE', key.grants, '-inf', '(' .. (nowMs - ask.afterMs), 'LIMIT', 0, takenBackAtOnce)
  for _, id in ipairs(late) do
    if Rollout.read(id, 'state') == 'claimed' then
      Grant.giveUpSandbox(id)
      Line.joinSilently(id)
      Wakeup.released(id)
    end
    redis.call('ZREM', key.grants, id)
  end
  return #late
end)

-- requires: breaker, grant, line, outage, presence, rollout, run
-- Rollouts between their claim and their first call: renewed while they wait, moved to another sandbox, or put back in line.

-- "Still here" for many waiters at once, then ready sandboxes to those who may have them. Says who does not just wait any
-- more, and is to claim again; of the others, who may be hundreds each second, nothing needs to be said.
-- Who waits for a template whose starts fail alike is to claim again, too: the claim's reply has the failure.
-- Of most nothing is new but the time: who stands in line already is renewed together with his neighbours.
script('renew', function(ARGV)
  local anybodyUnsure = redis.call('EXISTS', key.unsure) == 1
  local neighbours, plain, runs, refused, templates = {}, {}, {}, {}, {}

  local function renewWithNeighbours(id, template)
    local ids = neighbours[template] or {}
    ids[#ids + 1], ids[#ids + 2] = nowMs, id
    neighbours[template], plain[id] = ids, template
  end

  -- A lease that is a sixtieth longer than it must be is not written anew each second.
  local function keepLease(id, idleMs, hardEndMs, leaseMs)
    local neededMs = nowMs + idleMs
    if tonumber(leaseMs) < neededMs then leaseUntil(id, neededMs + math.floor(idleMs / 60), hardEndMs) end
  end

  local function renew(id)
    local state, template, face, idleMs, hardEndMs, leaseMs, tainted = whoIsHere(id)
    if not template then return end
    templates[template] = true
    local stands = state == 'waiting' and not tainted and redis.call('ZSCORE', key.grantable .. template, id)
    if not stands or anybodyUnsure then
      refused[id] = stillHere(id)
      return
    end
    keepLease(id, idleMs, hardEndMs, leaseMs)
    runs[runOf(id)] = face
    renewWithNeighbours(id, template)
  end

  for index = 2, #ARGV do renew(ARGV[index]) end
  for run, face in pairs(runs) do renewRun(run, face) end
  for template, ids in pairs(neighbours) do
    redis.call('ZADD', key.grantable .. template, unpack(ids))
    redis.call('ZADD', key.waiters, unpack(ids))
  end

  local anybodyGranted, inVain = false, {}
  for template in pairs(templates) do
    anybodyGranted = serveLine(template) or anybodyGranted
    inVain[template] = hasFailedAlikeLately(template)
  end

  local function justWaits(id)
    if refused[id] or inVain[plain[id]] then return false end
    if plain[id] and not anybodyGranted then return true end
    local state, taintCode = read(id, 'state', 'taintCode')
    return state == 'waiting' and not taintCode
  end

  local changed = {}
  for index = 2, #ARGV do
    if not justWaits(ARGV[index]) then changed[#changed + 1] = ARGV[index] end
  end
  return changed
end)

-- Why a rollout still waits: how many are served before it, and the last start of its template that failed.
reading('place', function(ARGV)
  local id = ARGV[2]
  local state, template = read(id, 'state', 'template')
  if state ~= 'waiting' or not redis.call('ZSCORE', key.waiters, id) then return false end
  local code, message, alike, atMs =
    unpack(redis.call('HMGET', key.breaker .. template, 'code', 'message', 'alike', 'atMs'))
  return { aheadOf(id, template), code, message, alike, atMs }
end)

-- A sandbox that would not take its rollout is given up. Compare-and-set on the generation, and only before the first
-- dispatch; whoever comes too late, or too often, gets the current state.
script('swap', function(ARGV)
  local id, generation, reason, evidence = unpack(ARGV, 2)
  local state, current, dispatched, tainted, template =
    read(id, 'state', 'generation', 'dispatched', 'taintCode', 'template')

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

  if not state then return false end
  if state == 'claimed' and current == generation and not dispatched and not tainted and mayGiveUp() then
    write(id, 'swapReason', reason, 'swapEvidence', evidence, 'atHead', 1)
    swapToHead(id)
  end
  return claimReply(id)
end)

-- Grants that nobody dispatched on or renewed in time: the sandbox may have been bound, so it is destroyed; the
-- rollout keeps its place, silent until somebody asks for it again.
script('take-back-grants', function(ARGV)
  if not isInTouch() then return 0 end
  local afterMs = tonumber(ARGV[2])
  local takenBackAtOnce = 100
  local late = redis.call('ZRANGEBYSCORE', key.grants, '-inf', '(' .. (nowMs - afterMs), 'LIMIT', 0, takenBackAtOnce)
  for _, id in ipairs(late) do
    if read(id, 'state') == 'claimed' then
      giveUpSandbox(id)
      joinLineSilently(id)
      redis.call('PUBLISH', key.wake, id)
    end
    redis.call('ZREM', key.grants, id)
  end
  return #late
end)

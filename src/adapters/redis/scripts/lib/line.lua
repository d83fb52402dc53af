-- requires: breaker, outage, rollout, sandbox
-- The waiting line of a template: one sorted set of places per run, and a ring of runs by whose turn it is. A waiter
-- is grantable while somebody renews it; a silent one is taken out of the ring but keeps its place in its record.
-- Silent waiters are put aside when they are met, so that no script has to walk the whole line.

local waitersOfRunMax = 2000
local waitersMax = 10000
local headStart = 10000000000000   -- longer than any clock has run: whoever gets it stands before all others
local sweepMax = 200               -- put aside per script; keeps every script short

local function lineKey(template, run)
  return key.line .. template .. ':' .. run
end

-- A run that comes (back) to a ring stands at its end, else short waits would overtake the long ones.
local function joinRing(ring, member)
  if not redis.call('ZSCORE', ring, member) then
    redis.call('ZADD', ring, redis.call('INCR', key.turn), member)
  end
end

local function passTurn(ring, member)
  redis.call('ZADD', ring, redis.call('INCR', key.turn), member)
end

local function becomeGrantable(id, template, place)
  local run = Rollout.runOf(id)
  if redis.call('ZADD', key.grantable .. template, nowMs, id) == 1 then
    -- It is forgotten while all of its waiters are silent.
    redis.call('SADD', key.templates, template)
    Breaker.probeAtOnce(template)
  end
  redis.call('ZADD', lineKey(template, run), place, id)
  joinRing(key.turns .. template, run)
  joinRing(key.launchRuns, run)
  joinRing(key.launchTemplates .. run, template)
end

local function becomeSilent(id, template)
  redis.call('ZREM', key.grantable .. template, id)
  redis.call('ZREM', lineKey(template, Rollout.runOf(id)), id)
end

-- Whoever waits for a grader's sandbox holds another as long: it is launched for before all who wait for their first.
local function joinGraders(id)
  if Rollout.isGrader(id) then redis.call('ZADD', key.graderWaiters, nowMs, id) end
end

local function leave(id, template)
  redis.call('ZREM', key.waiters, id)
  if Rollout.isGrader(id) then redis.call('ZREM', key.graderWaiters, id) end
  redis.call('SREM', key.waitersOfRun .. Rollout.runOf(id), id)
  becomeSilent(id, template)
end

-- Stands in line at `place`, a time; renewed at this moment, so grantable.
local function join(id, template, place)
  redis.call('ZADD', key.waiters, nowMs, id)
  redis.call('SADD', key.waitersOfRun .. Rollout.runOf(id), id)
  Sandbox.mayLack(template)
  becomeGrantable(id, template, place)
  joinGraders(id)
  redis.call('PUBLISH', key.work, template)
end

-- Stands in line without anybody having asked: its next renewal makes it grantable.
local function joinSilently(id)
  redis.call('ZADD', key.waiters, nowMs - timing.grantableMs, id)
  redis.call('SADD', key.waitersOfRun .. Rollout.runOf(id), id)
  joinGraders(id)
end

-- Those whom nobody renewed within the life of a place are out of the line; their rollouts live on until their lease ends.
local function forgetPlaces()
  if not Outage.isInTouch() then return end
  local gone = redis.call('ZRANGEBYSCORE', key.waiters, '-inf', '(' .. (nowMs - timing.placeKeptMs), 'LIMIT', 0, sweepMax)
  for _, id in ipairs(gone) do
    local template = Rollout.read(id, 'template')
    if template then leave(id, template) else redis.call('ZREM', key.waiters, id) end
  end
end

local function lineIsFull(run)
  return redis.call('SCARD', key.waitersOfRun .. run) >= waitersOfRunMax
    or redis.call('ZCARD', key.waiters) >= waitersMax
end

-- Full also after those were let go whose place is over.
local function staysFull(run)
  if not lineIsFull(run) then return false end
  forgetPlaces()
  return lineIsFull(run)
end

local function isGrantable(id, template)
  local renewedMs = redis.call('ZSCORE', key.grantable .. template, id)
  return renewedMs and nowMs - renewedMs <= timing.grantableMs
end

-- Who is next: the first grantable waiter of the run whose turn it is. Nil when nobody is.
local function nextWaiter(template)
  local ring = key.turns .. template
  while true do
    local run = redis.call('ZRANGE', ring, 0, 0)[1]
    if not run then return nil end
    local id = redis.call('ZRANGE', lineKey(template, run), 0, 0)[1]
    if not id then
      redis.call('ZREM', ring, run)
    elseif isGrantable(id, template) then
      return id, run
    else
      becomeSilent(id, template)
    end
  end
end

local function countGrantable(template)
  local grantable = key.grantable .. template
  local silent = redis.call('ZRANGEBYSCORE', grantable, '-inf', '(' .. (nowMs - timing.grantableMs), 'LIMIT', 0, sweepMax)
  for _, id in ipairs(silent) do becomeSilent(id, template) end
  return redis.call('ZCARD', grantable)
end

-- For whoever looks for something to start: the first template in line that `isIt` is true of, and its run; runs by turn, and a
-- run's templates by turn. What has left the line leaves the rings here.
local function firstInLine(isIt)
  for _, run in ipairs(redis.call('ZRANGE', key.launchRuns, 0, -1)) do
    local ring, anybody = key.launchTemplates .. run, false
    for _, template in ipairs(redis.call('ZRANGE', ring, 0, -1)) do
      if redis.call('ZCARD', lineKey(template, run)) == 0 then
        redis.call('ZREM', ring, template)
      else
        anybody = true
        if isIt(template) then return template, run end
      end
    end
    if not anybody then redis.call('ZREM', key.launchRuns, run) end
  end
end

-- How many of the template's waiters are served before this one, by the rules above.
local function aheadOf(id, template)
  local own = Rollout.runOf(id)
  local rank = redis.call('ZRANK', lineKey(template, own), id)
  if not rank then return redis.call('ZCARD', key.grantable .. template) end
  local ahead, before = rank, true
  for _, run in ipairs(redis.call('ZRANGE', key.turns .. template, 0, -1)) do
    if run == own then
      before = false
    else
      ahead = ahead + math.min(redis.call('ZCARD', lineKey(template, run)), before and rank + 1 or rank)
    end
  end
  return ahead
end

return {
  headStart = headStart,
  sweepMax = sweepMax,
  lineKey = lineKey,
  passTurn = passTurn,
  becomeGrantable = becomeGrantable,
  leave = leave,
  join = join,
  joinSilently = joinSilently,
  forgetPlaces = forgetPlaces,
  staysFull = staysFull,
  nextWaiter = nextWaiter,
  countGrantable = countGrantable,
  firstInLine = firstInLine,
  aheadOf = aheadOf,
}

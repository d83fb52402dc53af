-- requires: rollout
-- Runs and groups: what a trainer is told in sum. Counters live in the run's hash, statistics of a wave in the
-- group's hash under `<wave>:<field>`.

local wavesKept = 32          -- of one item; older waves leave the report
local rolloutsListed = 20000  -- of one run, newest first to stay
local groupsListed = 2000     -- of one run

local function count(run, field)
  redis.call('HINCRBY', key.run .. run, field, 1)
end

-- Only the native face has a run lease: on the RFT face silent minutes between steps are normal.
local function renew(run, face)
  if face == 'native' then redis.call('ZADD', key.runLeases, nowMs + timing.runLeaseMs, run) end
end

-- Who is not known any more is listed no longer: two for each that ends keep up with those that come.
local function delistEnded(list)
  for _, id in ipairs(redis.call('ZRANGE', list, 0, 1)) do
    if redis.call('EXISTS', key.rollout .. id) == 0 then redis.call('ZREM', list, id) end
  end
end

-- Cuts the run's lists to their bounds, and lets everything that hangs on the run live for seven days from now.
local function trim(run)
  redis.call('ZREMRANGEBYRANK', key.rollouts .. run, 0, -rolloutsListed - 1)
  redis.call('ZREMRANGEBYRANK', key.discards .. run, 0, -rolloutsListed - 1)
  redis.call('ZREMRANGEBYRANK', key.groups .. run, 0, -groupsListed - 1)
  delistEnded(key.rollouts .. run)
  delistEnded(key.discards .. run)
  local runs = key.runs .. string.match(run, '^[^/]+')
  redis.call('ZADD', runs, nowMs, run)
  redis.call('ZREMRANGEBYSCORE', runs, '-inf', nowMs - Rollout.keptForReportsMs)
  redis.call('PEXPIRE', runs, Rollout.keptForReportsMs)
  for _, name in ipairs({ key.run, key.rollouts, key.discards, key.groups }) do
    redis.call('PEXPIRE', name .. run, Rollout.keptForReportsMs)
  end
end

local function groupKey(id, item)
  return key.group .. Rollout.runOf(id) .. '/' .. item
end

-- A wave takes rollouts while one of them is open and the last start is less than ten minutes ago.
local function takesMore(open, startedMs)
  return tonumber(open) > 0 and nowMs - startedMs <= timing.waveStaysOpenMs
end

-- The current wave of a group, if it takes one more.
local function readGroup(name)
  local wave, startedMs, open, n = unpack(redis.call('HMGET', name, 'wave', 'startedMs', 'open', 'n'))
  if not wave or not takesMore(open, startedMs) then return nil end
  return { wave = wave, open = open, n = n }
end

local function openWave(id, name, item)
  local wave = redis.call('HINCRBY', name, 'wave', 1)
  for _, field in ipairs({ 'n', 'scored', 'discarded', 'mean', 'm2', 'best' }) do
    redis.call('HDEL', name, (wave - wavesKept) .. ':' .. field)
  end
  redis.call('PEXPIRE', name, Rollout.keptForReportsMs)
  redis.call('ZADD', key.groups .. Rollout.runOf(id), nowMs, item)
  return { wave = wave, open = 0, n = 0 }
end

local function writeGroup(name, group)
  redis.call('HSET', name, 'wave', group.wave, 'startedMs', nowMs, 'open', group.open, 'n', group.n,
    group.wave .. ':n', group.n)
end

-- A higher attempt takes the place of a lower one that never had a verdict: one more is open, no more are there.
local function inheritWave(id, item, wave)
  local group = groupKey(id, item)
  if redis.call('HGET', group, 'wave') == wave then redis.call('HINCRBY', group, 'open', 1) end
  return wave
end

local function leaveGroup(id, item, wave)
  local group = groupKey(id, item)
  if redis.call('HGET', group, 'wave') == wave then redis.call('HINCRBY', group, 'open', -1) end
  redis.call('PEXPIRE', group, Rollout.keptForReportsMs)
end

-- Mean and squared distance by Welford: equal scores have a spread of exactly 0.
local function scoreGroup(id, score)
  local item, wave = Rollout.read(id, 'itemKey', 'wave')
  local group = groupKey(id, item)
  local mean, m2, best = unpack(redis.call('HMGET', group, wave .. ':mean', wave .. ':m2', wave .. ':best'))
  local scored = redis.call('HINCRBY', group, wave .. ':scored', 1)
  mean, m2 = tonumber(mean or 0), tonumber(m2 or 0)
  local nextMean = mean + (score - mean) / scored
  local nextM2 = m2 + (score - mean) * (score - nextMean)
  if not best or score > tonumber(best) then best = score end
  local function exact(number) return string.format('%.17g', number) end
  redis.call('HSET', group, wave .. ':mean', exact(nextMean), wave .. ':m2', exact(nextM2), wave .. ':best', exact(best))
end

local function countScore(id, score)
  scoreGroup(id, score)
  count(Rollout.runOf(id), 'scored')
end

-- `counted`: a settled call carried the code already.
local function countDiscard(id, code, counted)
  local item, wave = Rollout.read(id, 'itemKey', 'wave')
  local run = Rollout.runOf(id)
  -- The list knows the ordinal of a rollout that is over, too. One that it lists no longer is only counted.
  local ordinal = redis.call('ZSCORE', key.rollouts .. run, id)
  if ordinal then redis.call('ZADD', key.discards .. run, ordinal, id) end
  redis.call('HINCRBY', groupKey(id, item), wave .. ':discarded', 1)
  count(run, 'discarded')
  if not counted then count(run, 'code:' .. code) end
end

return {
  wavesKept = wavesKept,
  count = count,
  renew = renew,
  trim = trim,
  groupKey = groupKey,
  readGroup = readGroup,
  openWave = openWave,
  writeGroup = writeGroup,
  inheritWave = inheritWave,
  leaveGroup = leaveGroup,
  countScore = countScore,
  countDiscard = countDiscard,
}

-- uses: rollout
-- Runs and groups: what a trainer is told in sum. Counters live in the run's hash, statistics of a wave in the
-- group's hash under `<wave>:<field>`.

local runLeaseMs = 5 * 60 * 1000
local waveStaysOpenMs = 10 * 60 * 1000
local wavesKept = 32          -- of one item; older waves leave the report
local rolloutsListed = 20000  -- of one run, newest first to stay
local groupsListed = 2000     -- of one run

local function count(run, field)
  redis.call('HINCRBY', key.run .. run, field, 1)
end

-- Only the native face has a run lease: on the RFT face silent minutes between steps are normal.
local function renewRun(run, face)
  if face == 'native' then redis.call('ZADD', key.runLeases, nowMs + runLeaseMs, run) end
end

-- Cuts the run's lists to their bounds, and every life that hangs on the run to seven days from now.
local function trimRun(run)
  redis.call('ZREMRANGEBYRANK', key.rollouts .. run, 0, -rolloutsListed - 1)
  redis.call('ZREMRANGEBYRANK', key.discards .. run, 0, -rolloutsListed - 1)
  redis.call('ZREMRANGEBYRANK', key.groups .. run, 0, -groupsListed - 1)
  for _, name in ipairs({ key.run, key.rollouts, key.discards, key.groups }) do
    redis.call('PEXPIRE', name .. run, keptForReportsMs)
  end
end

local function groupKey(id, item)
  return key.group .. runOf(id) .. '/' .. item
end

local function openWave(group, wave)
  for _, field in ipairs({ 'n', 'open', 'scored', 'discarded', 'mean', 'm2', 'best' }) do
    redis.call('HDEL', group, (wave - wavesKept) .. ':' .. field)
  end
  redis.call('HSET', group, 'wave', wave)
  return wave
end

-- A wave takes rollouts while one of them is open and the last start is less than ten minutes ago.
local function waveFor(group)
  local wave, startedMs = unpack(redis.call('HMGET', group, 'wave', 'startedMs'))
  if not wave then return openWave(group, 1) end
  local open = tonumber(redis.call('HGET', group, wave .. ':open') or 0)
  if open > 0 and nowMs - startedMs <= waveStaysOpenMs then return tonumber(wave) end
  return openWave(group, wave + 1)
end

-- A new rollout enters the open wave of its item. Its lower attempt, when that was never scored, hands on its place.
local function enterGroup(id, item, inheritedWave)
  local group = groupKey(id, item)
  local wave = inheritedWave or waveFor(group)
  if not inheritedWave then redis.call('HINCRBY', group, wave .. ':n', 1) end
  redis.call('HINCRBY', group, wave .. ':open', 1)
  redis.call('HSET', group, 'startedMs', nowMs)
  redis.call('PEXPIRE', group, keptForReportsMs)
  redis.call('ZADD', key.groups .. runOf(id), nowMs, item)
  return wave
end

-- Mean and squared distance by Welford: equal scores have a spread of exactly 0.
local function scoreGroup(id, score)
  local item, wave = read(id, 'itemKey', 'wave')
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

-- The rollout can never be scored, by this code; the first code decides. `counted`: a settled call carried it already.
local function discard(id, code, counted)
  local item, wave, ordinal, known = read(id, 'itemKey', 'wave', 'ordinal', 'discard')
  if known then return end
  local run = runOf(id)
  write(id, 'discard', code)
  redis.call('ZADD', key.discards .. run, ordinal, id)
  redis.call('HINCRBY', groupKey(id, item), wave .. ':discarded', 1)
  count(run, 'discarded')
  if not counted then count(run, 'code:' .. code) end
end

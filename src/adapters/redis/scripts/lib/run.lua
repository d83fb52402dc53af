-- requires: rollout
-- Runs and groups: what a trainer is told in sum. Counters live in the run's hash, statistics of a wave in the
-- group's hash under `<wave>:<field>`.

local wavesKept = 32          -- of one item; older waves leave the report
local rolloutsListed = 20000  -- of one run, newest first to stay
local groupsListed = 2000     -- of one run

local function count(run, field)
  redis.call('HINCRBY', key.run .. run, field, 1)
end

-- When a verdict in it was last decided, which its sums include.
local function decided(run)
  redis.call('HSET', key.run .. run, 'decidedAtMs', nowMs)
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
  for _, field in ipairs({ 'n', 'scored', 'discarded', 'codes', 'voided', 'mean', 'm2', 'best' }) do
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

-- Scores in sum: their mean, their squared distance from it, and the best. By Welford, so that equal scores have a spread of
-- exactly 0.
local function readScores(group, wave)
  local mean, m2, best = unpack(redis.call('HMGET', group, wave .. ':mean', wave .. ':m2', wave .. ':best'))
  return { mean = tonumber(mean or 0), m2 = tonumber(m2 or 0), best = best and tonumber(best) }
end

local function addScore(sum, score, count)
  local mean = sum.mean + (score - sum.mean) / count
  sum.m2 = sum.m2 + (score - sum.mean) * (score - mean)
  sum.mean, sum.best = mean, math.max(sum.best or score, score)
end

local function writeScores(group, wave, sum)
  for _, name in ipairs({ 'mean', 'm2', 'best' }) do
    if sum[name] then redis.call('HSET', group, wave .. ':' .. name, string.format('%.17g', sum[name])) end
  end
end

local function scoreGroup(id, score)
  local item, wave = Rollout.read(id, 'itemKey', 'wave')
  local group = groupKey(id, item)
  local sum = readScores(group, wave)
  addScore(sum, score, redis.call('HINCRBY', group, wave .. ':scored', 1))
  writeScores(group, wave, sum)
end

local function countScore(id, score)
  scoreGroup(id, score)
  count(Rollout.runOf(id), 'scored')
end

-- Rollouts of a wave open close to each other. To look through more of the run would hold up every other script.
local lookedAtEachSide = 1000

-- The scores of a rollout's wave that are not voided, as far as its rollouts are listed close to it.
local function listedScores(id, item, wave)
  local list, scores = key.rollouts .. Rollout.runOf(id), {}
  local rank = redis.call('ZRANK', list, id)
  if not rank then return scores end
  local first, last = math.max(0, rank - lookedAtEachSide), rank + lookedAtEachSide
  for _, other in ipairs(redis.call('ZRANGE', list, first, last)) do
    local ofItem, ofWave, score, voidedAtMs = Rollout.read(other, 'itemKey', 'wave', 'score', 'voidedAtMs')
    if ofItem == item and ofWave == wave and score and not voidedAtMs then scores[#scores + 1] = tonumber(score) end
  end
  return scores
end

-- Without this score: summed again, because to subtract leaves an error. Of a wave that is not listed in full it is subtracted, and
-- the best is unknown.
local function sumWithout(id, item, wave, score, left)
  local sum, scores = { mean = 0, m2 = 0 }, listedScores(id, item, wave)
  if #scores == left then
    for count, each in ipairs(scores) do addScore(sum, each, count) end
    return sum
  end
  local whole = readScores(groupKey(id, item), wave)
  sum.mean = whole.mean + (whole.mean - score) / left
  sum.m2 = math.max(0, whole.m2 - (score - whole.mean) * (score - sum.mean))
  return sum
end

-- Takes a voided score out of the sums of its run.
local function leaveOutScore(id)
  local item, wave, score = Rollout.read(id, 'itemKey', 'wave', 'score')
  local run, group = Rollout.runOf(id), groupKey(id, item)
  count(run, 'voided')
  redis.call('HINCRBY', key.run .. run, 'scored', -1)
  if redis.call('HEXISTS', group, wave .. ':mean') == 0 then return end -- an older wave, which has left the report
  local left = redis.call('HINCRBY', group, wave .. ':scored', -1)
  redis.call('HINCRBY', group, wave .. ':voided', 1)
  local sum = left > 0 and sumWithout(id, item, wave, tonumber(score), left) or {}
  redis.call('HDEL', group, wave .. ':mean', wave .. ':m2', wave .. ':best')
  writeScores(group, wave, sum)
end

-- A wave's discards by code. Only the failure table has the blame of a code.
local function countCode(group, wave, code)
  local field = wave .. ':codes'
  local codes = cjson.decode(redis.call('HGET', group, field) or '{}')
  codes[code] = (codes[code] or 0) + 1
  redis.call('HSET', group, field, cjson.encode(codes))
end

-- `counted`: a settled call carried the code already.
local function countDiscard(id, code, counted)
  local item, wave = Rollout.read(id, 'itemKey', 'wave')
  local run = Rollout.runOf(id)
  -- The list knows the ordinal of a rollout that is over, too. One that it lists no longer is only counted.
  local ordinal = redis.call('ZSCORE', key.rollouts .. run, id)
  if ordinal then redis.call('ZADD', key.discards .. run, ordinal, id) end
  local group = groupKey(id, item)
  redis.call('HINCRBY', group, wave .. ':discarded', 1)
  countCode(group, wave, code)
  count(run, 'discarded')
  if not counted then count(run, 'code:' .. code) end
end

return {
  wavesKept = wavesKept,
  count = count,
  decided = decided,
  renew = renew,
  trim = trim,
  groupKey = groupKey,
  readGroup = readGroup,
  openWave = openWave,
  writeGroup = writeGroup,
  inheritWave = inheritWave,
  leaveGroup = leaveGroup,
  countScore = countScore,
  leaveOutScore = leaveOutScore,
  countDiscard = countDiscard,
}

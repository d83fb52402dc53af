-- requires: rollout
-- Probes of the backends that tools depend on: whose turn it is, how they ended, and which runs use the backend. `probe` names an
-- address and its interval.

-- As long as the longest call may run, and what surrounds it: a call is judged by the probes between its start and its end.
local resultsKeptMs = 75 * 60 * 1000
-- A backend that was good within a day can be reached from here.
local knownKeptMs = 24 * 3600 * 1000
local minuteMs = 60 * 1000

local function loadKey(probe, minute)
  return key.dependencyLoad .. probe .. ':' .. minute
end

script('count-dependent-call', function(ask)
  local name = loadKey(ask.probe, math.floor(nowMs / minuteMs))
  redis.call('HINCRBY', name, 'all', 1)
  redis.call('HINCRBY', name, Rollout.runOf(ask.key), 1)
  redis.call('PEXPIRE', name, 2 * minuteMs)
end)

-- One asker an interval gets the turn. A turn whose holder died costs one interval. A clock that was set back must not stop the probes.
script('take-probe-turn', function(ask)
  local name = key.dependency .. ask.probe
  local turnAtMs = tonumber(redis.call('HGET', name, 'turnAtMs') or 0)
  local nextInMs = turnAtMs + ask.everyMs - nowMs
  if nextInMs > 0 and nextInMs <= ask.everyMs then return { isMine = false, nowMs = nowMs, nextInMs = nextInMs } end
  redis.call('HSET', name, 'turnAtMs', nowMs)
  redis.call('PEXPIRE', name, knownKeptMs)
  return { isMine = true, nowMs = nowMs, nextInMs = ask.everyMs }
end)

-- By its end, so that those that saw a call are read by their place.
script('record-probe', function(ask)
  local results = key.dependencyProbes .. ask.probe
  local result = cjson.encode({ beganAtMs = ask.beganAtMs, endedAtMs = nowMs, failed = ask.failed })
  redis.call('ZADD', results, nowMs, result)
  redis.call('ZREMRANGEBYSCORE', results, '-inf', nowMs - resultsKeptMs)
  redis.call('PEXPIRE', results, resultsKeptMs)
  if not ask.failed then redis.call('HSET', key.dependency .. ask.probe, 'goodAtMs', nowMs) end
end)

local function calls(probe, field)
  local minute = math.floor(nowMs / minuteMs)
  local function within(one) return tonumber(redis.call('HGET', loadKey(probe, one), field) or 0) end
  return within(minute) + within(minute - 1)
end

reading('read-probes', function(ask)
  local results = {}
  for _, result in ipairs(redis.call('ZRANGEBYSCORE', key.dependencyProbes .. ask.probe, ask.sinceMs, '+inf')) do
    results[#results + 1] = cjson.decode(result)
  end
  local goodAtMs = redis.call('HGET', key.dependency .. ask.probe, 'goodAtMs')
  local recoveredAtMs = redis.call('GET', key.recovered)
  return {
    nowMs = nowMs, results = results,
    goodAtMs = goodAtMs and tonumber(goodAtMs) or nil,
    recoveredAtMs = recoveredAtMs and tonumber(recoveredAtMs) or nil,
    ofRun = calls(ask.probe, Rollout.runOf(ask.key)), ofAll = calls(ask.probe, 'all'),
  }
end)

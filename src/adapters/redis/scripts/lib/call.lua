-- requires: rollout, run
-- A call is one JSON array in its rollout's hash of calls. Which sandbox it ran in is the rollout's: after the first call that is
-- not set-up that never changes, and set-up has run in each of them (lib/setup.lua).
--   1 tool  2 digest  3 startedAtMs  4 dispatched: how many tries may send it  5 admitted  6 outcome  7 code  8 exitCode  9 durationMs
--   10 waitedMs  11 outputBytes  12 answered  13 until it is settled: the ids of these tries; then
--   what a refusal says, if its code does not say it, of the first 256 calls

-- Of one rollout, uncounted ones included. Below the 4,096 that its sandbox's journal has room for: the rest are for the
-- setup's and the grader's own.
local callsMax = 4000
local textsMost = 256

local function read(id, call)
  local text = redis.call('HGET', key.calls .. id, call)
  return text and cjson.decode(text) or nil
end

local function write(id, call, summary)
  redis.call('HSET', key.calls .. id, call, cjson.encode(summary))
end

local function isSettled(summary)
  return summary[6] ~= cjson.null
end

-- A call that was sent is in flight until it is settled. By its deadline whoever sent it has settled it, or is gone;
-- then a controller asks the sandbox.
local function overdueName(id, call)
  return id .. ' ' .. call -- no id has a space
end

-- The tries that may send a call: a set of ids, one of each try of a gateway, as text with a space before and after each. Position 4 counts
-- them. A try that has surely not sent it removes its id, and may do so again. With the last try the call is withdrawn.

-- The same try may ask twice, if it did not receive the first reply.
local function addSender(summary, sender)
  local ids = summary[13] or ' '
  if string.find(ids, ' ' .. sender .. ' ', 1, true) then return end
  summary[4], summary[13] = summary[4] + 1, ids .. sender .. ' '
end

-- Returns false if the id is not in the set.
local function removeSender(summary, sender)
  local ids = summary[13] or ' '
  local first, last = string.find(ids, ' ' .. sender .. ' ', 1, true)
  if not first then return false end
  summary[4], summary[13] = summary[4] - 1, string.sub(ids, 1, first) .. string.sub(ids, last + 1)
  return true
end

local function callRuns(id, call, deadlineMs)
  redis.call('SADD', key.inFlight .. id, call)
  redis.call('ZADD', key.callDeadlines, deadlineMs, overdueName(id, call))
end

local function callEnded(id, call)
  redis.call('SREM', key.inFlight .. id, call)
  redis.call('ZREM', key.callDeadlines, overdueName(id, call))
end

-- The gateway of a read that takes so long is probably gone: nothing settles it before its deadline, 10 minutes later.
local readMs = 30 * 1000
local readsName = 'corral get_file ' -- no caller's id has a space

local function isRead(call)
  return string.sub(call, 1, #readsName) == readsName
end

-- Whether a grade has to wait: for each call that may change something, and for reads that may still end.
local function delaysGrade(id)
  for _, call in ipairs(redis.call('SMEMBERS', key.inFlight .. id)) do
    local summary = isRead(call) and read(id, call)
    if not summary or nowMs - summary[3] < readMs then return true end
  end
  return false
end

-- What calls said, for graders that look at it: texts that come here cut, one of each kind a call, each behind a number
-- that says how long it is as a whole. One for which there is no room leaves its number. Outputs leave a quarter to
-- arguments: what a policy asked for says more than what it made its commands print.
local transcriptBytes, outputBytesMost = 256 * 1024, 192 * 1024

local function keepText(id, field, said, most, before)
  local name = key.transcript .. id
  if not said or said == '' or redis.call('HEXISTS', name, field) == 1 then return end
  local whole, text = string.match(said, '^(%d+) (.*)$')
  local kept = tonumber(redis.call('HGET', name, 'bytes') or 0)
  if kept + #text > most then text = '' end
  redis.call('HSET', name, field, before .. whole .. ' ' .. text, 'bytes', kept + #text)
end

local function keepArguments(id, call, said)
  keepText(id, 'a ' .. call, said, transcriptBytes, '')
end

local function keepOutput(id, call, said)
  keepText(id, 'o ' .. call, said, outputBytesMost, nowMs .. ' ')
end

-- Its arguments only: what was never sent has no output.
local function forgetArguments(id, call)
  local name, field = key.transcript .. id, 'a ' .. call
  local said = redis.call('HGET', name, field)
  if not said then return end
  redis.call('HINCRBY', name, 'bytes', -#string.match(said, '^%d+ (.*)$'))
  redis.call('HDEL', name, field)
end

-- It was never sent, or its sandbox says so: dispatched → unknown, so that a repeat may run.
local function withdraw(id, call, counted)
  Rollout.write(id, 'unserved', 1)
  callEnded(id, call)
  forgetArguments(id, call)
  redis.call('HDEL', key.calls .. id, call)
  if counted then redis.call('HINCRBY', key.rollout .. id, 'calls', -1) end
end

local function countSettled(id, outcome, code)
  local run = Rollout.runOf(id)
  Run.count(run, 'outcome:' .. outcome)
  if code then Run.count(run, 'code:' .. code) end
end

-- Settles everything that still runs in the rollout. Nobody can say how far it came: `admitted` stays `unknown`.
local function settleInFlight(id, outcome, code)
  local running = redis.call('SMEMBERS', key.inFlight .. id)
  for _, call in ipairs(running) do
    local summary = read(id, call)
    summary[6], summary[7], summary[9], summary[13] = outcome, code or cjson.null, nowMs - summary[3], nil
    write(id, call, summary)
    countSettled(id, outcome, code)
    redis.call('ZREM', key.callDeadlines, overdueName(id, call))
  end
  redis.call('DEL', key.inFlight .. id)
  return #running
end

local function whereItRan(id, summary)
  if summary[4] == 0 then return false, false end
  local sandbox, boot = Rollout.read(id, 'sandbox', 'boot')
  if sandbox then return sandbox, boot end
  return unpack(redis.call('HMGET', key.details .. id, 'sandbox', 'boot'))
end

-- A call as callers get it: `StoredCall` of scripts/shapes.ts.
local function reply(id, call, summary)
  local sandbox, boot = whereItRan(id, summary)
  return { call = call, stored = { unpack(summary, 1, 12) }, sandbox = sandbox or nil, boot = boot or nil }
end

return {
  callsMax = callsMax,
  textsMost = textsMost,
  read = read,
  write = write,
  isSettled = isSettled,
  overdueName = overdueName,
  addSender = addSender,
  removeSender = removeSender,
  callRuns = callRuns,
  callEnded = callEnded,
  isRead = isRead,
  delaysGrade = delaysGrade,
  keepArguments = keepArguments,
  keepOutput = keepOutput,
  withdraw = withdraw,
  countSettled = countSettled,
  settleInFlight = settleInFlight,
  reply = reply,
}

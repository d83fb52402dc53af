-- requires: rollout, run
-- A call is one JSON array in its rollout's hash of calls. Which sandbox it ran in is the rollout's: after the first call that is
-- not set-up that never changes, and set-up has run in each of them (lib/setup.lua).
--   1 tool  2 digest  3 startedAtMs  4 dispatched: how many tries may send it  5 admitted  6 outcome  7 code  8 exitCode  9 durationMs
--   10 waitedMs  11 outputBytes  12 answered

-- Whoever repeats a call has just missed its answer. All of a long rollout's, of up to half a megabyte each, would fill Redis.
local answersKept = 16
-- Of one rollout, uncounted ones included. Below the 4,096 that its sandbox's journal has room for: the rest are for the
-- setup's and the grader's own.
local callsMax = 4000

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

-- The tries that may send a call: a set of ids, one of each try of a gateway, as text behind the time at which the call was
-- dispatched. A try that has surely not sent it removes its id, and may do so again. With the last try the call is withdrawn.
-- Position 4 counts them. The previous release only counts: it adds tries without an id and removes any, so the count is what decides.
-- A set of an earlier time is left from a call that it withdrew or closed.
local sendersKeptMs = 24 * 3600 * 1000 -- no rollout lives longer; for keys that the previous release does not delete

-- The next release has the ids in the call's record, in position 13, and no time before them.
local function readSenders(id, call, summary)
  if summary[13] then return summary[13] end
  local startedAtMs, ids = string.match(redis.call('HGET', key.senders .. id, call) or '', '^(%d+)(.*)$')
  return tonumber(startedAtMs) == summary[3] and ids or ' '
end

local function writeSenders(id, call, summary, ids)
  if summary[13] then
    summary[13] = ids
    return
  end
  redis.call('HSET', key.senders .. id, call, string.format('%.0f', summary[3]) .. ids)
  redis.call('PEXPIRE', key.senders .. id, sendersKeptMs)
end

-- Whatever is left of an earlier time is replaced.
local function firstSender(id, call, summary, sender)
  writeSenders(id, call, summary, ' ' .. sender .. ' ')
end

-- The same try may ask twice, if it did not receive the first reply.
local function addSender(id, call, summary, sender)
  local ids = readSenders(id, call, summary)
  if string.find(ids, ' ' .. sender .. ' ', 1, true) then return end
  summary[4] = summary[4] + 1
  writeSenders(id, call, summary, ids .. sender .. ' ')
end

-- Returns false if the id is not in the set.
local function removeSender(id, call, summary, sender)
  local ids = readSenders(id, call, summary)
  local first, last = string.find(ids, ' ' .. sender .. ' ', 1, true)
  if not first then return false end
  summary[4] = summary[4] - 1
  writeSenders(id, call, summary, string.sub(ids, 1, first) .. string.sub(ids, last + 1))
  return true
end

local function callRuns(id, call, deadlineMs)
  redis.call('SADD', key.inFlight .. id, call)
  redis.call('ZADD', key.callDeadlines, deadlineMs, overdueName(id, call))
end

local function callEnded(id, call)
  redis.call('SREM', key.inFlight .. id, call)
  redis.call('HDEL', key.senders .. id, call)
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

local function keepAnswer(id, call, answer)
  redis.call('HSET', key.answers .. id, call, answer)
  if redis.call('LPUSH', key.answerOrder .. id, call) > answersKept then
    redis.call('HDEL', key.answers .. id, redis.call('RPOP', key.answerOrder .. id))
  end
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
  redis.call('DEL', key.inFlight .. id, key.senders .. id)
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
  read = read,
  write = write,
  isSettled = isSettled,
  overdueName = overdueName,
  firstSender = firstSender,
  addSender = addSender,
  removeSender = removeSender,
  callRuns = callRuns,
  callEnded = callEnded,
  isRead = isRead,
  delaysGrade = delaysGrade,
  keepArguments = keepArguments,
  keepOutput = keepOutput,
  withdraw = withdraw,
  keepAnswer = keepAnswer,
  countSettled = countSettled,
  settleInFlight = settleInFlight,
  reply = reply,
}

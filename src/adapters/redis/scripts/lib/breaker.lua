-- requires: sandbox
-- Starts that fail, and what they do to their template.

-- The breaker of a template: closed until ten starts in a row have failed, then open. While it is open one probe may
-- be out, and a new one every 30 s (`breakerProbeMs`); one success closes it. Without it a template that cannot start would use up the start
-- budget of all others; and nobody has to close it, because a registry or a quota fixes without telling anybody here.
-- It opens after three in a row if they failed alike: with the same code and the same reason, which the launcher gives only
-- for what every other sandbox of the template would fail of. Then the next start is certain to fail, and requests that
-- wait for the template are answered with the failure. A rollout that comes to the line later is tried for at once, because
-- its trainer may have fixed the cause.

local failuresToOpen = 10
local alikeToOpen = 3
-- Two renewals of a waiting request, which looks at its place again after a start that failed alike.
local toldForMs = 4 * 1000

-- Not the template's doing: they say nothing about whether the next start will work.
local notCounted = { unschedulable = true, provider_unavailable = true }

local function breakerStateOf(template, failures, probe, certain)
  if tonumber(failures or 0) < failuresToOpen and certain ~= '1' then return 'closed' end
  if probe and redis.call('SISMEMBER', key.starting .. template, probe) == 1 then return 'probing' end
  return 'open'
end

local function breakerState(template)
  return breakerStateOf(template, unpack(redis.call('HMGET', key.breaker .. template, 'failures', 'probe', 'certain')))
end

local function mayStart(template)
  local state = breakerState(template)
  if state ~= 'open' then return state == 'closed' end
  local probeAtMs = redis.call('HGET', key.breaker .. template, 'probeAtMs')
  return nowMs >= tonumber(probeAtMs or 0)
end

local function noteStart(template, sandbox)
  if breakerState(template) == 'closed' then return end
  redis.call('HSET', key.breaker .. template, 'probe', sandbox, 'probeAtMs', nowMs + timing.breakerProbeMs)
end

-- How many starts in a row have failed with this code and this reason, with the one that does now.
local function countAlike(template, code, reason)
  local lastCode, lastReason, alike = unpack(redis.call('HMGET', key.breaker .. template, 'code', 'reason', 'alike'))
  return code == lastCode and reason == lastReason and tonumber(alike) + 1 or 1
end

-- `reason`: why every other sandbox would fail too; empty if another may well start. Not certain while a sandbox of the
-- template stands: then some machine can start it, and one that cannot fails faster than the others start.
local function noteFailure(template, code, message, reason, beganMs)
  local breaker = key.breaker .. template
  local wasClosed = breakerState(template) == 'closed'
  local alike = countAlike(template, code, reason)
  local isCertain = reason ~= '' and alike >= alikeToOpen and Sandbox.standing(template) == 0
  redis.call('HSET', breaker, 'code', code, 'message', message, 'atMs', nowMs, 'reason', reason, 'alike', alike,
    'certain', isCertain and '1' or '0', 'beganMs', beganMs)
  redis.call('PEXPIRE', breaker, 24 * 3600 * 1000)
  if not notCounted[code] then redis.call('HINCRBY', breaker, 'failures', 1) end
  if wasClosed and breakerState(template) ~= 'closed' then
    redis.call('HSET', breaker, 'probeAtMs', nowMs + timing.breakerProbeMs)
  end
end

-- The failure that the next start is certain to end in, for those who wait for one; nil if it may succeed.
local function certainFailure(template)
  local certain, code, message, alike, beganMs =
    unpack(redis.call('HMGET', key.breaker .. template, 'certain', 'code', 'message', 'alike', 'beganMs'))
  if certain ~= '1' then return nil end
  return { code = code, message = message, alike = tonumber(alike), beganMs = tonumber(beganMs) }
end

local function hasFailedAlikeLately(template)
  local certain, atMs = unpack(redis.call('HMGET', key.breaker .. template, 'certain', 'atMs'))
  return certain == '1' and nowMs - atMs <= toldForMs
end

-- For a rollout that comes to the line after such a failure.
local function probeAtOnce(template)
  if redis.call('HGET', key.breaker .. template, 'certain') == '1' then
    redis.call('HSET', key.breaker .. template, 'probeAtMs', nowMs)
  end
end

-- What failed before a success explains nothing any more.
local function noteSuccess(template)
  redis.call('DEL', key.breaker .. template)
end

-- A start that failed gives its slot back at once, and is never tried again: what is still lacking is reserved under another name.
-- Only a start that is under way can fail: a worker that comes second ends nothing that is ready. One that recovery was unsure of
-- and that no rollout is known to live in was a start all the time.
local function failStart(sandbox, code, message, reason)
  local template, phase, lives, beganMs =
    unpack(redis.call('HMGET', key.sandbox .. sandbox, 'template', 'phase', 'unsureOwner', 'sinceMs'))
  local wasStart = phase == 'unsure' and not lives and redis.call('ZSCORE', key.starts, sandbox)
  if phase ~= 'starting' and not wasStart then return false end
  noteFailure(template, code, message, reason, beganMs)
  redis.call('ZREM', key.nameless, sandbox)
  Sandbox.drain(sandbox)
  return true
end

return {
  breakerStateOf = breakerStateOf,
  breakerState = breakerState,
  mayStart = mayStart,
  noteStart = noteStart,
  noteSuccess = noteSuccess,
  failStart = failStart,
  certainFailure = certainFailure,
  hasFailedAlikeLately = hasFailedAlikeLately,
  probeAtOnce = probeAtOnce,
}

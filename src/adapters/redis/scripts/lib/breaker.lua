-- requires: sandbox
-- Starts that fail, and what they do to their template.

-- The breaker of a template: closed until ten starts in a row have failed, then open. While it is open one probe may
-- be out, and a new one every 30 s (`breakerProbeMs`); one success closes it. Without it a template that cannot start would use up the start
-- budget of all others; and nobody has to close it, because a registry or a quota mends without telling anybody here.

local failuresToOpen = 10

-- Not the template's doing: they say nothing about whether the next start will work.
local notCounted = { unschedulable = true, provider_unavailable = true }

local function breakerStateOf(template, failures, probe)
  if tonumber(failures or 0) < failuresToOpen then return 'closed' end
  if probe and redis.call('SISMEMBER', key.starting .. template, probe) == 1 then return 'probing' end
  return 'open'
end

local function breakerState(template)
  return breakerStateOf(template, unpack(redis.call('HMGET', key.breaker .. template, 'failures', 'probe')))
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

local function noteFailure(template, code, message)
  local breaker = key.breaker .. template
  redis.call('HSET', breaker, 'code', code, 'message', message, 'atMs', nowMs)
  redis.call('PEXPIRE', breaker, 24 * 3600 * 1000)
  if notCounted[code] then return end
  local failures = redis.call('HINCRBY', breaker, 'failures', 1)
  if failures == failuresToOpen then redis.call('HSET', breaker, 'probeAtMs', nowMs + timing.breakerProbeMs) end
end

-- What failed before a success explains nothing any more.
local function noteSuccess(template)
  redis.call('DEL', key.breaker .. template)
end

-- A start that failed gives its slot back at once, and its ticket may start something else. One that recovery was unsure of
-- and that nobody is known to live in was a start all the time.
local function failStart(sandbox, code, message)
  local template, phase, ticket, lives =
    unpack(redis.call('HMGET', key.sandbox .. sandbox, 'template', 'phase', 'ticket', 'unsureOwner'))
  local wasStart = phase == 'unsure' and not lives and redis.call('ZSCORE', key.starts, sandbox)
  if phase ~= 'starting' and not wasStart then return false end
  noteFailure(template, code, message)
  redis.call('ZREM', key.nameless, sandbox)
  redis.call('DEL', key.ticket .. ticket)
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
}

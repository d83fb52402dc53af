-- What an outage leaves behind: silence that is nobody's fault, and doubt about what was forgotten.

-- Gateways say every second that they reach this Redis. While none has said so, no caller could be heard: nothing of a
-- caller's ends for being silent then, and the gap is given back to all of them when the first gateway speaks again.

local inTouchMs = 5 * 1000 -- some words may come late or be lost; what is longer is an outage

-- How long nobody has been heard by now; 0 while that is not worth speaking of. Infinite before the first word of all.
local function outageMs()
  local lastMs = redis.call('GET', key.contact)
  local silentMs = lastMs and nowMs - tonumber(lastMs) or math.huge
  return silentMs > inTouchMs and silentMs or 0
end

local function isInTouch()
  return outageMs() == 0
end

-- What is in doubt since fleet state was written back: a rollout whose sandbox did not answer, or is gone, may not be
-- opened again, for its record is unknown but not that it lives. A sandbox that neither answers nor has a label may
-- hold any rollout that nobody knows or that a copy has in line, so none of those is opened or granted anything while it
-- is waited for.

local unsureKeptMs = 24 * 3600 * 1000 -- a day: no sandbox and no rollout lives longer
-- How long that is (`unnamedSandboxMs`): a label is written within seconds, so few are without; what is only slow, or on a
-- lost node, has been heard of by then. A request is held for longer, so it survives that.

local function awaitsNameless()
  return redis.call('ZCOUNT', key.nameless, nowMs, '+inf') > 0
end

-- Why a rollout without record may not be opened; nil for one that nobody knows.
local function unsureCode(id)
  local where = redis.call('HGET', key.unsure, id)
  if where then return where == 'gone' and 'sandbox_lost' or 'recovering' end
  return awaitsNameless() and 'recovering' or nil
end

local function stillRecovering()
  return redis.error_reply('RECOVERING a sandbox that may be this rollout\'s has not answered since Redis was replaced')
end

return {
  inTouchMs = inTouchMs,
  outageMs = outageMs,
  isInTouch = isInTouch,
  unsureKeptMs = unsureKeptMs,
  awaitsNameless = awaitsNameless,
  unsureCode = unsureCode,
  stillRecovering = stillRecovering,
}

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

-- Announced bursts of a template, by run: `count untilMs heldBefore`. Rollouts that took a sandbox since the first living
-- announcement are the burst itself: what they took is not kept ready a second time.

local announcersMax = 64 -- runs that announce of one template at once

-- How many sandboxes announcements ask to be ready now, and by which runs there are some that are over.
local function readAnnounced(template)
  local total, heldBefore, over = 0, math.huge, {}
  local entries = redis.call('HGETALL', key.prewarm .. template)
  for index = 1, #entries, 2 do
    local count, untilMs, held = string.match(entries[index + 1], '^(%d+) (%d+) (%d+)$')
    if tonumber(untilMs) > nowMs then
      total, heldBefore = total + count, math.min(heldBefore, tonumber(held))
    else
      over[#over + 1] = entries[index]
    end
  end
  if total == 0 then return 0, over end
  return math.max(0, total - math.max(0, redis.call('SCARD', key.held .. template) - heldBefore)), over
end

-- The same, and lets go of what is over.
local function announcedOf(template)
  local announced, over = readAnnounced(template)
  if #over > 0 then redis.call('HDEL', key.prewarm .. template, unpack(over)) end
  return announced
end

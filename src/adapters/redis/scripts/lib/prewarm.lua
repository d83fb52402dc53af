-- Announced bursts of a template, by run: `count untilMs heldBefore`. Rollouts that took a sandbox since the first living
-- announcement are the burst itself: what they took is not kept ready a second time.

local announcersMax = 64 -- runs that announce of one template at once

-- How many sandboxes announcements ask to be ready now.
local function announcedOf(template)
  local name, total, heldBefore = key.prewarm .. template, 0, math.huge
  local entries = redis.call('HGETALL', name)
  for index = 1, #entries, 2 do
    local count, untilMs, held = string.match(entries[index + 1], '^(%d+) (%d+) (%d+)$')
    if tonumber(untilMs) > nowMs then
      total, heldBefore = total + count, math.min(heldBefore, tonumber(held))
    else
      redis.call('HDEL', name, entries[index])
    end
  end
  if total == 0 then return 0 end
  return math.max(0, total - math.max(0, redis.call('SCARD', key.held .. template) - heldBefore))
end

-- requires: line, sandbox
-- What is asked of a template's pool: by announced bursts, and by rows that made the template.

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

-- Templates that dataset rows made by naming an image; how many start slots they may hold is in pool-store.ts.
-- Ten minutes after it was last chosen one is forgotten, unless somebody waits for it, announces it or has a sandbox of
-- it. Whoever comes later chooses it again.

local choiceIdleMs = 10 * 60 * 1000
local choicesKeptMs = 24 * 3600 * 1000 -- where no controller is there to forget them

-- Starts under way of templates of which it is not known that they start.
local function unprovenStarts(isUnproven)
  local starts = 0
  for _, sandbox in ipairs(redis.call('ZRANGE', key.starts, 0, -1)) do
    local template = redis.call('HGET', key.sandbox .. sandbox, 'template')
    if template and isUnproven(template) then starts = starts + 1 end
  end
  return starts
end

local function isOfUse(template)
  return Sandbox.standing(template) + redis.call('SCARD', key.starting .. template) + Line.countGrantable(template)
    + announcedOf(template) > 0
end

local function forgetIdleChoices()
  local idle = redis.call('ZRANGEBYSCORE', key.choices, '-inf', nowMs - choiceIdleMs, 'LIMIT', 0, Line.sweepMax)
  for _, template in ipairs(idle) do
    if isOfUse(template) then
      redis.call('ZADD', key.choices, nowMs, template)
    else
      redis.call('ZREM', key.choices, template)
      redis.call('HDEL', key.chosen, template)
    end
  end
end

return {
  announcersMax = announcersMax,
  readAnnounced = readAnnounced,
  announcedOf = announcedOf,
  choicesKeptMs = choicesKeptMs,
  unprovenStarts = unprovenStarts,
  forgetIdleChoices = forgetIdleChoices,
}

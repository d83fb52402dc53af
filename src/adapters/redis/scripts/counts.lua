-- The pool in numbers, a row for each template asked for.
local runsLookedAt = 200 -- of one template's ring; with more, the oldest of the next ones

-- Whoever stands at the head has a place before all times, and waits since it first came.
local function oldestWaitMs(template)
  local oldest = nowMs
  for _, run in ipairs(redis.call('ZRANGE', key.turns .. template, 0, runsLookedAt - 1)) do
    local place = tonumber(redis.call('ZRANGE', lineKey(template, run), 0, 0, 'WITHSCORES')[2] or nowMs)
    oldest = math.min(oldest, place < 0 and place + headStart or place)
  end
  return nowMs - oldest
end

local rows = {}
for index = 2, #ARGV do
  local template = ARGV[index]
  local code, message, atMs = unpack(redis.call('HMGET', key.breaker .. template, 'code', 'message', 'atMs'))
  rows[index - 1] = {
    template,
    redis.call('ZCARD', key.ready .. template),
    redis.call('SCARD', key.starting .. template),
    redis.call('SCARD', key.held .. template),
    countGrantable(template),
    oldestWaitMs(template),
    announcedOf(template),
    breakerState(template),
    code, message, atMs,
  }
end
return rows

-- Grants that nobody dispatched on or renewed in time: the sandbox may have been bound, so it is destroyed; the
-- rollout keeps its place, silent until somebody asks for it again.
if not isInTouch() then return 0 end
local afterMs = tonumber(ARGV[2])
local takenBackAtOnce = 100
local late = redis.call('ZRANGEBYSCORE', key.grants, '-inf', '(' .. (nowMs - afterMs), 'LIMIT', 0, takenBackAtOnce)
for _, id in ipairs(late) do
  if read(id, 'state') == 'claimed' then
    giveUpSandbox(id)
    joinLineSilently(id)
    redis.call('PUBLISH', key.wake, id)
  end
  redis.call('ZREM', key.grants, id)
end
return #late

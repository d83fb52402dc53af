-- A gateway reaches this Redis. The first to say so after an outage gives its length back to all that ends by silence:
-- leases of rollouts and runs, grants and places; and to the time that rollouts have. Returns it. All at once, which for
-- 10,000 rollouts takes some 100 ms, because what is half done would end the other half; and once an outage.
-- A Redis that has forgotten when it was last spoken to takes the gateway's own word.
local ownMs, known = tonumber(ARGV[2]), redis.call('EXISTS', key.contact) == 1
local gapMs = known and outageMs() or (ownMs > inTouchMs and ownMs or 0)
redis.call('SET', key.contact, nowMs)
if gapMs == 0 then return 0 end

-- What was renewed since is as fresh as it can be.
local function shift(name, latestMs)
  local members = redis.call('ZRANGE', name, 0, -1, 'WITHSCORES')
  for index = 1, #members, 2 do
    redis.call('ZADD', name, math.min(tonumber(members[index + 1]) + gapMs, latestMs), members[index])
  end
end

for _, id in ipairs(redis.call('ZRANGE', key.leases, 0, -1)) do
  local leaseMs, hardEndMs, activeAtMs = read(id, 'leaseUntilMs', 'hardEndMs', 'activeAtMs')
  if leaseMs then leaseUntil(id, leaseMs + gapMs, hardEndMs) end
  if activeAtMs then redis.call('HINCRBY', key.rollout .. id, 'awayMs', math.min(gapMs, nowMs - activeAtMs)) end
end
shift(key.runLeases, math.huge)
shift(key.grants, nowMs)
shift(key.waiters, nowMs)
return gapMs

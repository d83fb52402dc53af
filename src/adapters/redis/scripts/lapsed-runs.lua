-- Native runs whose lease is over while rollouts are open. A run without open rollouts holds nothing, so its lease is
-- dropped: a trainer that pauses between steps does not lose its run.
if not isInTouch() then return {} end
local limit = tonumber(ARGV[2])
local lapsed = {}
for _, run in ipairs(redis.call('ZRANGEBYSCORE', key.runLeases, '-inf', nowMs, 'LIMIT', 0, limit)) do
  if redis.call('SCARD', key.open .. run) == 0 then
    redis.call('ZREM', key.runLeases, run)
  else
    lapsed[#lapsed + 1] = run
  end
end
return lapsed

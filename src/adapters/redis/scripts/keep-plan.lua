-- What controllers want of each template, under the digest of all of it: a reservation names that and not thousands of them.
-- By a new one a pool may lack what by the one before it did not. ARGV: the plan, then template and target, as `reserve`
-- reads it, of each.
local plan = key.plan .. ARGV[2]
redis.call('HSET', plan, '', '') -- an empty one is there, too
for index = 3, #ARGV, 2 do
  local template, target = ARGV[index], ARGV[index + 1]
  redis.call('HSET', plan, template, target)
  local minReady = tonumber(string.match(target, '^%d+'))
  local coming = redis.call('ZCARD', key.ready .. template) + redis.call('SCARD', key.starting .. template)
  if coming < minReady then mayLack(template) end
end
redis.call('PEXPIRE', plan, planKeptMs)
return 1

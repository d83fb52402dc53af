-- A run in sum: its counters, how many are undecided, and its items by the start of their newest wave. What became of their
-- groups `report-groups` tells, some items at a time: a run may have tens of thousands.
local run = ARGV[2]
local counters = redis.call('HGETALL', key.run .. run)
if #counters == 0 then return false end
-- One that can never be scored keeps its lease, so that its calls are answered; for the trainer it is over.
local undecided = redis.call('SCARD', key.open .. run)
  - redis.call('ZINTERCARD', 2, key.open .. run, key.discards .. run)
return { counters, undecided, redis.call('ZRANGE', key.groups .. run, 0, -1) }

-- A process says which catalog its folder holds (ARGV[5]; empty: none any more) and hears the newest. A catalog's time
-- begins when the first process has it and ends when nobody has it any more, by saying so or by silence.
local holder, silentMs, keptMs, catalog, sinceMs = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], tonumber(ARGV[6])
if catalog == '' then
  redis.call('HDEL', key.catalogHolders, holder)
else
  if redis.call('PEXPIRE', key.catalog .. catalog, keptMs) == 0 then return nil end
  redis.call('HSET', key.catalogHolders, holder, catalog .. ' ' .. string.format('%.0f', nowMs))
  -- What the process heard before stands where Redis has forgotten it.
  redis.call('ZADD', key.catalogs, 'NX', math.min(sinceMs or nowMs, nowMs), catalog)
end

local held, holders = {}, redis.call('HGETALL', key.catalogHolders)
for at = 1, #holders, 2 do
  local has, heardMs = string.match(holders[at + 1], '^(%S+) (%d+)$')
  if nowMs - heardMs > silentMs then
    redis.call('HDEL', key.catalogHolders, holders[at])
  else
    held[has] = true
  end
end
for _, one in ipairs(redis.call('ZRANGE', key.catalogs, 0, -1)) do
  if not held[one] then redis.call('ZREM', key.catalogs, one) end
end
local newest = redis.call('ZRANGE', key.catalogs, -1, -1)[1]
return { newest or '', catalog ~= '' and redis.call('ZSCORE', key.catalogs, catalog) or '' }

-- requires: rollout
-- Versions of environments, and catalogs: what each process' folder of them holds.

-- Keeps an environment version for as long as a run may be pinned to it, and forgets those that nobody published since.
script('publish-environment', function(ARGV)
  local version, text, keptMs = ARGV[2], ARGV[3], tonumber(ARGV[4])
  redis.call('SET', key.environment .. version, text, 'PX', keptMs)
  redis.call('ZADD', key.environments, nowMs, version)
  redis.call('ZREMRANGEBYSCORE', key.environments, '-inf', nowMs - keptMs)
  return 1
end)

-- A version that is asked for is in use: it starts its life again.
script('load-environment', function(ARGV)
  local version, keptMs = ARGV[2], tonumber(ARGV[3])
  local text = redis.call('GETEX', key.environment .. version, 'PX', keptMs)
  if text then redis.call('ZADD', key.environments, nowMs, version) end
  return text
end)

-- Every version that is still kept.
script('list-environments', function(ARGV)
  local found = {}
  for _, version in ipairs(redis.call('ZRANGE', key.environments, nowMs - ARGV[2], '+inf', 'BYSCORE')) do
    found[#found + 1] = redis.call('GET', key.environment .. version) or nil
  end
  return found
end)

-- Versions by their first digits, among those that are still kept: there are hundreds, and people write eight digits.
script('versions-beginning', function(ARGV)
  local prefix, keptMs = ARGV[2], ARGV[3]
  local found = {}
  for _, version in ipairs(redis.call('ZRANGE', key.environments, nowMs - keptMs, '+inf', 'BYSCORE')) do
    if string.sub(version, 1, #prefix) == prefix then found[#found + 1] = version end
  end
  return found
end)

-- The first asker of a run decides which version of an environment the whole run uses.
script('pin-version', function(ARGV)
  local run, environment, version = unpack(ARGV, 2)
  redis.call('HSETNX', key.run .. run, 'pin:' .. environment, version)
  redis.call('PEXPIRE', key.run .. run, Rollout.keptForReportsMs)
  return redis.call('HGET', key.run .. run, 'pin:' .. environment)
end)

-- Keeps what a folder of environments says; `hold-catalog` keeps it longer.
script('publish-catalog', function(ARGV)
  local catalog, text, keptMs = ARGV[2], ARGV[3], ARGV[4]
  redis.call('SET', key.catalog .. catalog, text, 'PX', keptMs)
  return 1
end)

-- What the folder of another process says.
script('load-catalog', function(ARGV)
  return redis.call('GET', key.catalog .. ARGV[2])
end)

-- A process says which catalog its folder holds (ARGV[5]; empty: none any more) and hears the newest. A catalog's time
-- begins when the first process has it and ends when nobody has it any more, by saying so or by silence.
script('hold-catalog', function(ARGV)
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
end)

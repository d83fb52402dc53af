-- requires: rollout, version
-- Versions of environments, and catalogs: what each process' folder of them holds.

-- Keeps an environment version for as long as a run may be pinned to it, and forgets those that nobody published since.
script('publish-environment', function(ask, texts)
  local prefix, versions = Version.placeOf(ask.isNew)
  redis.call('SET', prefix .. ask.version, texts[1], 'PX', ask.keptMs)
  redis.call('ZADD', versions, nowMs, ask.version)
  redis.call('ZREMRANGEBYSCORE', versions, '-inf', nowMs - ask.keptMs)
end)

-- A version that is asked for is in use: it starts its life again.
script('load-environment', function(ask)
  for _, place in ipairs(Version.places) do
    local prefix, versions = unpack(place)
    local text = redis.call('GETEX', prefix .. ask.version, 'PX', ask.keptMs)
    if text then
      redis.call('ZADD', versions, nowMs, ask.version)
      return nil, { text }
    end
  end
  return nil, { '' }
end)

-- Every version that is still kept and begins with these digits: there are hundreds, and people write eight digits.
script('list-environments', function(ask)
  local found = {}
  for _, place in ipairs(Version.places) do
    local prefix, versions = unpack(place)
    for _, version in ipairs(redis.call('ZRANGE', versions, nowMs - ask.keptMs, '+inf', 'BYSCORE')) do
      local isMeant = string.sub(version, 1, #ask.beginning) == ask.beginning
      found[#found + 1] = isMeant and redis.call('GET', prefix .. version) or nil
    end
  end
  return nil, found
end)

-- The first asker of a run decides which version of an environment the whole run uses.
script('pin-version', function(ask)
  local run, field = key.run .. ask.run, 'pin:' .. ask.environment
  redis.call('HSETNX', run, field, ask.version)
  redis.call('PEXPIRE', run, Rollout.keptForReportsMs)
  return redis.call('HGET', run, field)
end)

-- Keeps what a folder of environments says; `hold-catalog` keeps it longer.
script('publish-catalog', function(ask, texts)
  redis.call('SET', key.catalog .. ask.catalog, texts[1], 'PX', ask.keptMs)
end)

-- What the folder of another process says.
script('load-catalog', function(ask)
  return nil, { redis.call('GET', key.catalog .. ask.catalog) or '' }
end)

-- A process says which catalog its folder holds, none any more where it names none, and hears the newest. A catalog's time
-- begins when the first process has it and ends when nobody has it any more, by saying so or by silence.
script('hold-catalog', function(ask)
  local catalog = ask.catalog
  if not catalog then
    redis.call('HDEL', key.catalogHolders, ask.holder)
  else
    if redis.call('PEXPIRE', key.catalog .. catalog, ask.keptMs) == 0 then return nil end
    redis.call('HSET', key.catalogHolders, ask.holder, catalog .. ' ' .. string.format('%.0f', nowMs))
    -- What the process heard before stands where Redis has forgotten it.
    redis.call('ZADD', key.catalogs, 'NX', math.min(ask.sinceMs or nowMs, nowMs), catalog)
  end

  local held, holders = {}, redis.call('HGETALL', key.catalogHolders)
  for at = 1, #holders, 2 do
    local has, heardMs = string.match(holders[at + 1], '^(%S+) (%d+)$')
    if nowMs - heardMs > ask.silentMs then
      redis.call('HDEL', key.catalogHolders, holders[at])
    else
      held[has] = true
    end
  end
  for _, one in ipairs(redis.call('ZRANGE', key.catalogs, 0, -1)) do
    if not held[one] then redis.call('ZREM', key.catalogs, one) end
  end
  local newest = redis.call('ZRANGE', key.catalogs, -1, -1)[1]
  return { newest = newest, sinceMs = catalog and tonumber(redis.call('ZSCORE', key.catalogs, catalog)) }
end)

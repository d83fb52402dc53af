-- Whether a task's own solution was seen to pass its own verifier here: its standing, by tenant, environment version and task.
-- One process plays the controls, under a lease; all others that need the standing wait for it.

local keptMs = 7 * 24 * 3600 * 1000

local function read(name)
  return unpack(redis.call('HMGET', key.control .. name, 'standing', 'facts', 'holder', 'untilMs'))
end

local function known(standing, facts)
  return standing and { standing = standing, facts = facts } or nil
end

-- At each open of a rollout that names its task, so it only reads.
reading('read-control', function(ask)
  return known(read(ask.name))
end)

-- The standing; or `play`, for the holder that is to find it; or `wait`, while another one holds the lease.
script('ask-control', function(ask)
  local name = key.control .. ask.name
  local standing, facts, holder, untilMs = read(ask.name)
  if holder and holder ~= ask.holder and tonumber(untilMs) > nowMs then return { standing = 'wait' } end
  if standing and not ask.again then
    redis.call('PEXPIRE', name, keptMs)
    return known(standing, facts)
  end
  redis.call('HDEL', name, 'standing', 'facts')
  redis.call('HSET', name, 'holder', ask.holder, 'untilMs', nowMs + ask.leaseMs)
  redis.call('PEXPIRE', name, keptMs)
  return { standing = 'play' }
end)

-- What the holder found; nothing gives the lease back, and the next one that asks plays. A holder that lost its lease gets
-- what stands instead.
script('conclude-control', function(ask)
  local name = key.control .. ask.name
  local standing, facts, holder = read(ask.name)
  if holder ~= ask.holder then return known(standing, facts) or { standing = 'wait' } end
  if not ask.found then
    redis.call('DEL', name)
    return { standing = 'wait' }
  end
  redis.call('HDEL', name, 'holder', 'untilMs')
  redis.call('HSET', name, 'standing', ask.found, 'facts', ask.facts)
  return known(ask.found, ask.facts)
end)

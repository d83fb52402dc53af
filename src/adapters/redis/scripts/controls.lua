-- requires: script
-- Whether a task's own solution was seen to pass its own verifier here: its standing, by tenant, environment version and task.
-- One process plays the controls, under a lease; all others that need the standing wait for it.

local controlKeptMs = 7 * 24 * 3600 * 1000

local function readControl(name)
  return unpack(redis.call('HMGET', key.control .. name, 'standing', 'facts', 'holder', 'untilMs'))
end

-- At each open of a rollout that names its task, so it only reads.
reading('read-control', function(ARGV)
  local standing, facts = readControl(ARGV[2])
  return standing and { standing, facts }
end)

-- The standing; or `play`, for the holder that is to find it; or `wait`, while another one holds the lease.
script('ask-control', function(ARGV)
  local name, asking, leaseMs, again = unpack(ARGV, 2)
  local standing, facts, holder, untilMs = readControl(name)
  local isHeld = holder and holder ~= asking and tonumber(untilMs) > nowMs
  if isHeld then return { 'wait' } end
  if standing and again ~= '1' then
    redis.call('PEXPIRE', key.control .. name, controlKeptMs)
    return { standing, facts }
  end
  redis.call('HDEL', key.control .. name, 'standing', 'facts')
  redis.call('HSET', key.control .. name, 'holder', asking, 'untilMs', nowMs + tonumber(leaseMs))
  redis.call('PEXPIRE', key.control .. name, controlKeptMs)
  return { 'play' }
end)

-- What the holder found; an empty standing gives the lease back, and the next one that asks plays. A holder that lost its
-- lease is told what stands instead.
script('conclude-control', function(ARGV)
  local name, telling, found, facts = unpack(ARGV, 2)
  local standing, known, holder = readControl(name)
  if holder ~= telling then return standing and { standing, known } or { 'wait' } end
  if found == '' then
    redis.call('DEL', key.control .. name)
    return { 'wait' }
  end
  redis.call('HDEL', key.control .. name, 'holder', 'untilMs')
  redis.call('HSET', key.control .. name, 'standing', found, 'facts', facts)
  return { found, facts }
end)

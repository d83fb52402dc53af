-- A rollout is a hash under its id, `tenant/run/rollout/attempt/role` with each part percent-encoded; the run's name
-- is therefore a prefix of the id, and nothing has to be looked up to know whose it is.

local keptForReportsMs = 7 * 24 * 3600 * 1000

local function runOf(id)
  return string.match(id, '^[^/]+/[^/]+')
end

-- A grader's sandbox is held by a record beside its rollout's: the same id with another role. It is claimed while a turn of
-- grading lasts and forgotten after it. Nothing is dispatched there, so its loss is a swap; no report has it.
local function isGrader(id)
  return string.sub(id, -7) == '/grader'
end

local function graderOf(id)
  return (string.gsub(id, '/[^/]+$', '/grader'))
end

local function rolloutOf(id)
  return isGrader(id) and string.gsub(id, '/[^/]+$', '/policy') or id
end

local function tenantOf(id)
  return string.match(id, '^[^/]+')
end

-- The id without its attempt, and the attempt.
local function lineageOf(id)
  local base, attempt, role = string.match(id, '^(.+)/(%d+)/([^/]+)$')
  return base .. '/' .. role, tonumber(attempt)
end

-- The newest attempt of a lineage. The first is written down nowhere: most rollouts have no other.
local function newestOf(lineage)
  return tonumber(redis.call('GET', key.newest .. lineage) or 1)
end

local function read(id, ...)
  return unpack(redis.call('HMGET', key.rollout .. id, ...))
end

-- All fields of a hash, by their names.
local function fieldsOf(name)
  local flat, has = redis.call('HGETALL', name), {}
  for index = 1, #flat, 2 do has[flat[index]] = flat[index + 1] end
  return has
end

local function write(id, ...)
  redis.call('HSET', key.rollout .. id, ...)
end

local function isOpen(state)
  return state == 'waiting' or state == 'claimed' or state == 'active' or state == 'grading'
end

-- Moves the end of the lease; the hard life bounds every lease.
local function leaseUntil(id, untilMs, hardEndMs)
  write(id, 'leaseUntilMs', untilMs)
  redis.call('ZADD', key.leases, math.min(untilMs, tonumber(hardEndMs)), id)
end

return {
  keptForReportsMs = keptForReportsMs,
  runOf = runOf,
  isGrader = isGrader,
  graderOf = graderOf,
  rolloutOf = rolloutOf,
  tenantOf = tenantOf,
  lineageOf = lineageOf,
  newestOf = newestOf,
  read = read,
  fieldsOf = fieldsOf,
  write = write,
  isOpen = isOpen,
  leaseUntil = leaseUntil,
}

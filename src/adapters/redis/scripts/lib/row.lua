-- requires: rollout
-- Dataset rows. Rollouts of one group have the same one, so a tenant's row is kept once, under its digest, while any
-- rollout that names it in its field `row` is open; what a tenant's rows hold together is counted, for there is a bound.

local function rowName(id, digest)
  return Rollout.tenantOf(id) .. '/' .. digest
end

-- That of a rollout that is over, and may still be graded, is among its details.
local function digestOf(id)
  return Rollout.read(id, 'row') or redis.call('HGET', key.details .. id, 'row')
end

-- The row of a rollout, or nil.
local function read(id)
  local digest = digestOf(id)
  return digest and redis.call('GET', key.row .. rowName(id, digest))
end

local function uncount(tenant, bytes)
  local counter = key.rowBytes .. tenant
  if redis.call('DECRBY', counter, bytes) <= 0 then redis.call('DEL', counter) end
end

local function forgetRow(tenant, digest)
  local name = tenant .. '/' .. digest
  local bytes = redis.call('STRLEN', key.row .. name)
  redis.call('UNLINK', key.row .. name, key.rowReaders .. name)
  uncount(tenant, bytes)
end

-- The row goes with its last reader: nothing runs for any of them any more, and a repeat gets what is recorded.
local function giveBack(id)
  local digest = digestOf(id)
  if not digest or digest == '' then return end
  local name = rowName(id, digest)
  redis.call('HDEL', key.rollout .. id, 'row')
  redis.call('HDEL', key.details .. id, 'row')
  redis.call('SREM', key.rowReaders .. name, id)
  if redis.call('EXISTS', key.rowReaders .. name) == 0 then forgetRow(Rollout.tenantOf(id), digest) end
end

-- Returns how many bytes more are kept now: none where another reader has brought it.
local function keep(id, digest, text)
  local name = rowName(id, digest)
  redis.call('SADD', key.rowReaders .. name, id)
  return redis.call('SET', key.row .. name, text, 'NX') and #text or 0
end

return {
  rowName = rowName,
  read = read,
  giveBack = giveBack,
  keep = keep,
}

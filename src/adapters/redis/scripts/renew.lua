-- "Still here" for many waiters at once, then ready sandboxes to those who may have them. Says who does not just wait any
-- more, and is to claim again; of the others, who may be hundreds each second, nothing needs to be said.
-- Of most nothing is new but the time: who stands in line already is renewed together with his neighbours.
local anybodyUnsure = redis.call('EXISTS', key.unsure) == 1
local neighbours, plain, runs, refused, templates = {}, {}, {}, {}, {}

local function renewWithNeighbours(id, template)
  local ids = neighbours[template] or {}
  ids[#ids + 1], ids[#ids + 2] = nowMs, id
  neighbours[template], plain[id] = ids, true
end

-- A lease that is a sixtieth longer than it must be is not written anew each second.
local function keepLease(id, idleMs, hardEndMs, leaseMs)
  local neededMs = nowMs + idleMs
  if tonumber(leaseMs) < neededMs then leaseUntil(id, neededMs + math.floor(idleMs / 60), hardEndMs) end
end

local function renew(id)
  local state, template, face, idleMs, hardEndMs, leaseMs, tainted = whoIsHere(id)
  if not template then return end
  templates[template] = true
  local stands = state == 'waiting' and not tainted and redis.call('ZSCORE', key.grantable .. template, id)
  if not stands or anybodyUnsure then
    refused[id] = stillHere(id)
    return
  end
  keepLease(id, idleMs, hardEndMs, leaseMs)
  runs[runOf(id)] = face
  renewWithNeighbours(id, template)
end

for index = 2, #ARGV do renew(ARGV[index]) end
for run, face in pairs(runs) do renewRun(run, face) end
for template, ids in pairs(neighbours) do
  redis.call('ZADD', key.grantable .. template, unpack(ids))
  redis.call('ZADD', key.waiters, unpack(ids))
end

local anybodyGranted = false
for template in pairs(templates) do anybodyGranted = serveLine(template) or anybodyGranted end

local function justWaits(id)
  if refused[id] then return false end
  if plain[id] and not anybodyGranted then return true end
  local state, taintCode = read(id, 'state', 'taintCode')
  return state == 'waiting' and not taintCode
end

local changed = {}
for index = 2, #ARGV do
  if not justWaits(ARGV[index]) then changed[#changed + 1] = ARGV[index] end
end
return changed

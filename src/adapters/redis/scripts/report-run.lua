-- A run in sum: its counters, then one row for each wave of each listed group.
local run = ARGV[2]
local counters = redis.call('HGETALL', key.run .. run)
if #counters == 0 then return false end

local function rowsOf(item, rows)
  local group, values = redis.call('HGETALL', key.group .. run .. '/' .. item), {}
  for index = 1, #group, 2 do values[group[index]] = group[index + 1] end
  for wave = math.max(1, (values.wave or 0) - wavesKept + 1), tonumber(values.wave or 0) do
    local function field(name) return values[wave .. ':' .. name] or false end
    rows[#rows + 1] = { item, wave, field('n'), field('scored'), field('discarded'), field('mean'), field('best'), field('m2') }
  end
end

local rows = {}
for _, item in ipairs(redis.call('ZRANGE', key.groups .. run, 0, -1)) do rowsOf(item, rows) end
-- One that can never be scored keeps its lease, so that its calls are answered; for the trainer it is over.
local undecided = redis.call('SCARD', key.open .. run)
  - redis.call('ZINTERCARD', 2, key.open .. run, key.discards .. run)
return { counters, undecided, rows }

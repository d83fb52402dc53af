-- reads only: one row for each wave of each of these items of a run.
local run, rows = ARGV[2], {}
for index = 3, #ARGV do
  local item = ARGV[index]
  local group, values = redis.call('HGETALL', key.group .. run .. '/' .. item), {}
  for field = 1, #group, 2 do values[group[field]] = group[field + 1] end
  for wave = math.max(1, (values.wave or 0) - wavesKept + 1), tonumber(values.wave or 0) do
    local function field(name) return values[wave .. ':' .. name] or false end
    rows[#rows + 1] = { item, wave, field('n'), field('scored'), field('discarded'), field('mean'), field('best'), field('m2') }
  end
end
return rows

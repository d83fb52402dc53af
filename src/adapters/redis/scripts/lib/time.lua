-- Redis' own clock in whole milliseconds: the only clock by which leases, deadlines and places are written and compared.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

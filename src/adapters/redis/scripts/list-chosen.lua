-- Templates that rows made: those chosen at ARGV[2] or later, or all. Who asks for all also has the idle ones forgotten.
local sinceMs = ARGV[2]
if sinceMs == '' then forgetIdleChoices() end

local rows = {}
for _, template in ipairs(redis.call('ZRANGEBYSCORE', key.choices, sinceMs == '' and '-inf' or sinceMs, '+inf')) do
  local version, image = string.match(redis.call('HGET', key.chosen, template) or '', '^(%S+) (.+)$')
  if version then rows[#rows + 1] = { template, version, image } end
end
return { nowMs, rows }

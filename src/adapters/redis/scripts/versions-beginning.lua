-- Versions by their first digits, among those that are still kept: there are hundreds, and people write eight digits.
local prefix, keptMs = ARGV[2], ARGV[3]
local found = {}
for _, version in ipairs(redis.call('ZRANGE', key.environments, nowMs - keptMs, '+inf', 'BYSCORE')) do
  if string.sub(version, 1, #prefix) == prefix then found[#found + 1] = version end
end
return found

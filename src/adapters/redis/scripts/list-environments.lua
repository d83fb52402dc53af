-- Every version that is still kept.
local found = {}
for _, version in ipairs(redis.call('ZRANGE', key.environments, nowMs - ARGV[2], '+inf', 'BYSCORE')) do
  found[#found + 1] = redis.call('GET', key.environment .. version) or nil
end
return found

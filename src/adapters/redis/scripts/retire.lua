-- Unclaimed sandboxes that are too old, or more than are to be ready, go, the oldest first.
local template, maxAgeMs, keepReady = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local portion = 100
local ready = key.ready .. template
local surplus = redis.call('ZCARD', ready) - math.max(keepReady, announcedOf(template))
local retired = 0
local oldest = redis.call('ZRANGE', ready, 0, portion - 1, 'WITHSCORES')
for index = 1, #oldest, 2 do
  if retired >= surplus and nowMs - oldest[index + 1] < maxAgeMs then break end
  drain(oldest[index])
  retired = retired + 1
end
return retired

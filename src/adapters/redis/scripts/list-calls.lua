-- All recorded calls of a rollout, at most `callsMax`.
local id = ARGV[2]
local replies = {}
local flat = redis.call('HGETALL', key.calls .. id)
for index = 1, #flat, 2 do
  replies[#replies + 1] = callReply(id, flat[index], cjson.decode(flat[index + 1]), flat[index + 1])
end
return replies

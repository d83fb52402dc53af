-- What is recorded of a call, with its answer while that is kept.
local id, call = unpack(ARGV, 2)
local summary, text = recall(id, call, (read(id, 'state')))
if not summary then return false end
return { callReply(id, call, summary, text), redis.call('HGET', key.answers .. id, call) }

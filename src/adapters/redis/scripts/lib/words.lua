-- What processes say of themselves, for people: their words, and beside them when each was heard.

-- Keeps `word` of `who`. What nobody said for `keptMs` is forgotten, and of more than `most` those silent longest.
local function keepWord(words, heard, who, word, keptMs, most)
  redis.call('HSET', words, who, word)
  redis.call('ZADD', heard, nowMs, who)
  local gone = redis.call('ZRANGEBYSCORE', heard, '-inf', '(' .. (nowMs - keptMs))
  for _, one in ipairs(redis.call('ZRANGE', heard, 0, -most - 1)) do gone[#gone + 1] = one end
  if #gone > 0 then
    redis.call('ZREM', heard, unpack(gone))
    redis.call('HDEL', words, unpack(gone))
  end
  redis.call('PEXPIRE', words, keptMs)
  redis.call('PEXPIRE', heard, keptMs)
end

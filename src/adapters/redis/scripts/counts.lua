-- The pool in numbers, a row for each template asked for.
local rows = {}
for index = 2, #ARGV do
  local template = ARGV[index]
  local code, message, atMs = unpack(redis.call('HMGET', key.breaker .. template, 'code', 'message', 'atMs'))
  rows[index - 1] = {
    template,
    redis.call('ZCARD', key.ready .. template),
    redis.call('SCARD', key.starting .. template),
    redis.call('SCARD', key.held .. template),
    countGrantable(template),
    announcedOf(template),
    breakerState(template),
    code, message, atMs,
  }
end
return rows

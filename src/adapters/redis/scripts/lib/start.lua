-- A start that failed gives its slot back at once, and its ticket may start something else. One that recovery was unsure of
-- and that nobody is known to live in was a start all the time.
local function failStart(sandbox, code, message)
  local template, phase, ticket, lives =
    unpack(redis.call('HMGET', key.sandbox .. sandbox, 'template', 'phase', 'ticket', 'unsureOwner'))
  local wasStart = phase == 'unsure' and not lives and redis.call('ZSCORE', key.starts, sandbox)
  if phase ~= 'starting' and not wasStart then return false end
  noteFailure(template, code, message)
  redis.call('ZREM', key.nameless, sandbox)
  redis.call('DEL', key.ticket .. ticket)
  drain(sandbox)
  return true
end

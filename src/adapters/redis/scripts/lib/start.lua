-- A start that failed gives its slot back at once, and its ticket may start something else.
local function failStart(sandbox, code, message)
  local template, phase, ticket = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'template', 'phase', 'ticket'))
  if phase ~= 'starting' then return false end
  noteFailure(template, code, message)
  redis.call('DEL', key.ticket .. ticket)
  drain(sandbox)
  return true
end

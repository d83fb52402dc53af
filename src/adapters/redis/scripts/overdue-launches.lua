-- Starts that hang: their slots go back, and they are destroyed.
local portion = 100
local overdue = redis.call('ZRANGEBYSCORE', key.starts, '-inf', nowMs, 'LIMIT', 0, portion)
for _, sandbox in ipairs(overdue) do
  failStart(sandbox, 'start_timeout', 'the sandbox did not become ready before its start timeout')
end
return overdue

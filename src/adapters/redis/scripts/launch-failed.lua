-- The launcher says that a start came to nothing.
local sandbox, code, message = unpack(ARGV, 2)
return failStart(sandbox, code, message) and 1 or 0

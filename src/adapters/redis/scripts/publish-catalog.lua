-- Keeps what a folder of environments says; `hold-catalog` keeps it longer.
local catalog, text, keptMs = ARGV[2], ARGV[3], ARGV[4]
redis.call('SET', key.catalog .. catalog, text, 'PX', keptMs)
return 1

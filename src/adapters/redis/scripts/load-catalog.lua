-- What the folder of another process says.
return redis.call('GET', key.catalog .. ARGV[2])

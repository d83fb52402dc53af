-- Sandboxes to destroy, the longest waiting first.
return redis.call('ZRANGE', key.draining, '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2])

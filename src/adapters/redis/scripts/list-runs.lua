-- A tenant's runs of the last seven days, the newest first.
return redis.call('ZRANGE', key.runs .. ARGV[2], '+inf', nowMs - keptForReportsMs, 'BYSCORE', 'REV')

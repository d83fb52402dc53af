-- A process says where the events of a log (ARGV[2]) are told (ARGV[3]); kept for ARGV[4] ms, of at most ARGV[5] logs.
keepWord(key.eventLogs, key.eventLogsHeard, ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]))
return 1

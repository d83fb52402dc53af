-- A process (ARGV[2]) says what it is and has in hand (ARGV[3]); kept for ARGV[4] ms, of at most ARGV[5] processes, which
-- only a start that fails again and again makes.
keepWord(key.processes, key.processesHeard, ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]))
return 1

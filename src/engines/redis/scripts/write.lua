-- ARGV nonce, run_id, admitted and max_ttl as they were seen (empty: there is no record),
--      nonce, run_id, admitted, max_ttl, durable, known, inherited, database
return answer(function()
  local there = run('HMGET', 'holdfast:store', 'nonce', 'run_id', 'admitted', 'max_ttl', 'floor')
  for i = 1, 4 do
    if (there[i] or '') ~= ARGV[i] then
      return 0
    end
  end
  -- What was given out and lost was below the clock: nobody takes a million tokens a second.
  local floor = math.max(tonumber(there[5]) or 0, tonumber(ARGV[10]), clock())
  allow_when_full('holdfast:store')
  -- A cursor counts for one process only: cleaning begins anew.
  run('HSET', 'holdfast:store', 'format', '1', 'nonce', ARGV[5], 'run_id', ARGV[6],
      'admitted', ARGV[7], 'floor', digits(floor), 'max_ttl', ARGV[8], 'durable', ARGV[9],
      'uncleaned', '0', 'inherited', ARGV[11], 'database', ARGV[12])
  return 1
end)

-- ARGV nonce, run_id and admitted as they were seen (empty: there is no record),
--      nonce, run_id, admitted, max_ttl, durable, known
return answer(function()
  local there = run('HMGET', 'holdfast:store', 'nonce', 'run_id', 'admitted', 'floor')
  if (there[1] or '') ~= ARGV[1] or (there[2] or '') ~= ARGV[2] or (there[3] or '') ~= ARGV[3] then
    return 0
  end
  -- What was given out and lost was below the clock: nobody takes a million tokens a second.
  local time = run('TIME')
  local floor = math.max(tonumber(there[4]) or 0, tonumber(ARGV[9]), time[1] * 1000000 + time[2])
  run('HSET', 'holdfast:store', 'format', '1', 'nonce', ARGV[4], 'run_id', ARGV[5],
      'admitted', ARGV[6], 'floor', digits(floor), 'max_ttl', ARGV[7], 'durable', ARGV[8])
  return 1
end)

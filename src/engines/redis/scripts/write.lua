return answer(function()
  -- The first four as they were seen (empty: there is no record).
  local was_nonce, was_run_id, was_admitted, was_max_ttl, nonce, run_id, is_admitted, max_ttl,
      durable, known, inherited, database = unpack(ARGV)
  local there = run('HMGET', 'holdfast:store', 'nonce', 'run_id', 'admitted', 'max_ttl', 'floor')
  for i, was in ipairs({was_nonce, was_run_id, was_admitted, was_max_ttl}) do
    -- Another client was faster: whoever asked reads the record anew.
    if (there[i] or '') ~= was then
      return 0
    end
  end
  local now = clock()
  if now > LARGEST then
    refuse('HFDAMAGED the clock of the server is behind the year 2255: set it right')
  end
  -- Above it no token was given: somebody else wrote that, and it would use up all tokens.
  local kept = tonumber(there[5]) or 0
  if kept > LARGEST then
    kept = 0
  end
  -- What was given out and lost was below the clock: nobody takes a million tokens a second.
  local floor = math.max(kept, tonumber(known), now)
  allow_when_full('holdfast:store')
  -- A cursor counts for one process only: cleaning begins anew.
  run('HSET', 'holdfast:store', 'format', '1', 'nonce', nonce, 'run_id', run_id,
      'admitted', is_admitted, 'floor', digits(floor), 'max_ttl', max_ttl, 'durable', durable,
      'uncleaned', '0', 'inherited', inherited, 'database', database)
  return 1
end)

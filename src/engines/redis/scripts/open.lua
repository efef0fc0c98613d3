return answer(function()
  local nonce, id, ttl = unpack(ARGV, 1, 3)  -- behind them a field and a value in turns
  admitted(nonce)
  local key = session_key(id)
  local there = run('HMGET', key, 'inc', 'beat', 'denied', 'gate', 'denied_by', 'denied_why')
  -- It is the caller's own: the answer to its opening was lost.
  if there[1] then
    if there[3] ~= '0' then
      refuse_denied(there[5], there[6])
    end
    return {there[1], there[2], there[4]}
  end
  local most = tonumber(run('HGET', 'holdfast:store', 'max_ttl'))
  -- A server that lost its state is waited out by max_ttl: no lease may be longer.
  if not (most and tonumber(ttl) <= most) then
    refuse('HFTTL ' .. digits(most or 0))
  end
  local inc = next_number()
  -- Listed first: a name without a record is passed over, a record that no list names stays.
  run('SADD', P .. 'sessions', id)
  run('HSET', key, 'inc', inc, 'beat', '0', 'denied', '0', 'gate', '1', 'ttl', ttl,
      unpack(ARGV, 4))
  return {inc, '0', '1'}
end)

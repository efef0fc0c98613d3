return answer(function()
  local nonce, id, inc, order, request, move, name = unpack(ARGV)  -- order 0: not known
  admitted(nonce)
  -- Also when the session is gone: then there is one dead entry less.
  local e = find_own(id, inc, order, request, name)
  if e then
    remove(name, e)
  end
  local there = run('HMGET', session_key(id), 'inc', 'gate')
  if there[1] ~= inc then
    return {'0', flag(sweep_behind(SWEEP_BESIDE))}
  end
  local gate = there[2]
  if move == '1' then
    -- remove() may have had nothing to do.
    allow_when_full(session_key(id))
    gate = digits(run('HINCRBY', session_key(id), 'gate', 1))
  end
  return {gate, flag(sweep_behind(SWEEP_BESIDE))}
end)

-- ARGV nonce, session, inc, order (0: not known), request, move (1 or 0), name
return answer(function()
  admitted(ARGV[1])
  local id, inc, name = ARGV[2], ARGV[3], ARGV[7]
  local e = find_own(id, inc, ARGV[4], ARGV[5], name)
  if e then
    remove(name, e)
  end
  local there = run('HMGET', session_key(id), 'inc', 'gate')
  if there[1] ~= inc then
    return {'0', flag(sweep())}
  end
  local gate = there[2]
  if ARGV[6] == '1' then
    -- remove() may have had nothing to do.
    allow_when_full(session_key(id))
    gate = digits(run('HINCRBY', session_key(id), 'gate', 1))
  end
  return {gate, flag(sweep())}
end)

return answer(function()
  local nonce, id, by, why = unpack(ARGV)
  admitted(nonce)
  local there = run('HMGET', session_key(id), 'inc', 'denied', 'ttl')
  if not there[1] then
    refuse('HFGONE session ' .. id .. ' is not there')
  end
  if not (there[2] and there[3] and is_ttl(there[3])) then
    refuse_record(id)
  end
  -- The first denial stays, with its reason.
  if there[2] ~= '0' then
    return {1, there[3], run('EXISTS', P .. 'ended')}
  end
  allow_when_full(session_key(id))
  -- It never learns any more that it holds: those behind its waiting entries need not wait. Named
  -- before it is denied, for one that is denied already is not named again.
  if run('EXISTS', entries_key('waiting', id, there[1])) == 1 then
    run('RPUSH', P .. 'ended', id .. ':' .. there[1])
  end
  run('HSET', session_key(id), 'denied', '1', 'denied_by', by, 'denied_why', why)
  known_sessions[id] = nil
  return {0, there[3], flag(sweep_behind(SWEEP_MAX))}
end)

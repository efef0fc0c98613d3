-- KEYS node, session
-- ARGV nonce, by, why
return answer(function()
  local node = known(KEYS[1], ARGV[1])
  local was = run('HMGET', KEYS[2], 'denied', 'ttl')
  local ttl = tonumber(was[2]) or 0
  local left = digits(math.ceil(node.max_ttl * 1.01) + 2)
  -- Until no lock that it was granted before can still live, each time anew: a majority of denials
  -- may come together only by repetition. The first write, whether there is a record or not: it is
  -- allowed when the node is out of memory, and then so are the others.
  run('PEXPIRE', KEYS[2], left)
  if not was[1] or was[1] == '0' then
    run('HSET', KEYS[2], 'denied', '1', 'denied_by', ARGV[2], 'denied_why', ARGV[3])
  end
  if not was[1] then
    end_new_record(KEYS[2], left)
    return {2, ttl}
  end
  -- One without a ttl was made by a denial: no session has opened it.
  if not was[2] then
    return {2, 0}
  end
  return {was[1] == '0' and 1 or 0, ttl}
end)

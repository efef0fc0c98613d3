-- ARGV nonce, session, inc, order (0: not known), request, name
return answer(function()
  admitted(ARGV[1])
  local id, inc, name = ARGV[2], ARGV[3], ARGV[6]
  usable_session(id, inc)
  local e, is_told = find_own(id, inc, ARGV[4], ARGV[5], name)
  if not e then
    refuse('HFGONE the entry is not there')
  end
  return answer_for(name, e, is_told, sweep())
end)

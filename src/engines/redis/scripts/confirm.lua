return answer(function()
  local nonce, id, inc, order, request, name = unpack(ARGV)  -- order 0: not known
  admitted(nonce)
  -- Before the entry is looked for: who is denied is granted nothing, whatever its place.
  usable_session(id, inc)
  local e, holds = find_own(id, inc, order, request, name)
  if not e then
    refuse('HFGONE the entry is not there')
  end
  return answer_for(name, e, holds, sweep(SWEEP_BESIDE))
end)

-- ARGV nonce, session, inc, gate, request, mode, since, client, try (1 or 0), waiters_max, name
return answer(function()
  admitted(ARGV[1])
  local id, inc, mode, name = ARGV[2], ARGV[3], ARGV[6], ARGV[11]
  local gate = usable_session(id, inc)
  local mine, is_told = own_entry(id, inc, ARGV[5], name)
  local left = sweep()
  if mine then
    return answer_for(name, mine, is_told, left)
  end
  if gate ~= ARGV[4] then
    refuse('HFGATE ' .. gate)
  end
  local there = count_entries(name, '+inf', left)
  local is_permit = kind_of(mode) == 'p'
  if is_permit and there.x + there.r > 0 or there.permits and there.permits ~= mode then
    local view = seen(name, '+inf', left)
    view[1] = CONFLICTING
    return view
  end
  local granted = is_granted(mode, there)
  if granted or ARGV[9] ~= '1' then
    if there.x + there.r + there.p >= tonumber(ARGV[10]) then
      refuse('HFMANY ' .. ARGV[10])
    end
  end
  -- Before anything is written: a damaged record among those ahead refuses all of this.
  local view = not granted and seen(name, '+inf', left)
  if view and ARGV[9] == '1' then
    return view
  end
  local order = next_number()
  local member = table.concat({order, id, inc, ARGV[5], mode, ARGV[7], ARGV[8]}, ':')
  -- The hash first: by it a sweep finds the entry when the session ends.
  local key = entries_key(granted and 'held' or 'waiting', id, inc)
  run('HSET', key, field_of(ARGV[5], name), member)
  run('ZADD', queue_key(kind_of(mode), name), order, member)
  if granted then
    return {GRANTED, order, flag(left)}
  end
  return queued(view, order, member)
end)

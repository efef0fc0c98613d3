return answer(function()
  local nonce, id, inc, known_gate, request, mode, since, client, try, most, name = unpack(ARGV)
  local is_try = try == '1'
  admitted(nonce)
  local gate = usable_session(id, inc)
  local mine, holds = own_entry(id, inc, request, name)
  local left = sweep(SWEEP_BESIDE)
  if mine then
    return answer_for(name, mine, holds, left)
  end
  -- Behind the search for an own entry: the gate shuts out what comes late, and that one is there.
  if gate ~= known_gate then
    refuse('HFGATE ' .. string.sub(gate, 1, 20))
  end
  local there = count_entries(name, '+inf', left)
  local is_permit = kind_of(mode) == 'p'
  if is_permit and there.x + there.r > 0 or there.permits and there.permits ~= mode then
    return view_of(CONFLICTING, seen(name, '+inf', left), '0')
  end
  local granted = is_granted(mode, there)
  -- A try that is not granted leaves no entry, and needs no room.
  if granted or not is_try then
    if there.x + there.r + there.p >= tonumber(most) then
      refuse('HFMANY ' .. most)
    end
  end
  -- Before anything is written: a damaged record among those ahead refuses all of this.
  local ahead = not granted and seen(name, '+inf', left)
  if ahead and is_try then
    return view_of(BUSY, ahead, '0')
  end
  local order = next_number()
  local member = table.concat({order, id, inc, request, mode, since, client}, ':')
  -- The hash first: by it a sweep finds the entry when the session ends.
  local key = entries_key(granted and 'held' or 'waiting', id, inc)
  run('HSET', key, field_of(request, name), member)
  run('ZADD', queue_key(kind_of(mode), name), order, member)
  if granted then
    return {GRANTED, order, flag(left)}
  end
  return view_of(QUEUED, ahead, order, member)
end)

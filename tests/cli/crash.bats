#!/usr/bin/env bats

load setup

# crash_while_holding OPTIONS: a session that holds "x" and is dead, with nobody to bury it.
crash_while_holding() {
  rm -f held
  in_background run x "$@" -- sh -c ': >held; sleep 60'
  until_true test -e held
  kill_wrapper $pid
}

@test "break removes the session of a dead owner and says whose" {
  crash_while_holding --ttl 1h --label victim
  expect 0 holdfast ls --sessions
  [[ $output == *victim*dead* ]]
  expect 0 holdfast break x
  [[ $output =~ ^session\ [0-9a-f]{32}\ of\ .*:$pid\ sh\ \(victim\)\ is\ removed ]]
  expect 0 holdfast ls --json
  json 'assert a["locks"] == [], a'
  expect 0 holdfast ls --sessions --json
  json 'assert a["sessions"] == [], a'
  expect 0 holdfast run x --no-wait -- true
}

@test "break --session --json says what it removed, and the second time that it is not there" {
  crash_while_holding --ttl 1h
  expect 0 holdfast show x --json
  id=$(json 'print(a["entries"][0]["session"])')
  expect 0 holdfast break --session "$id" --json
  json "assert [b['session'] for b in a['broken']] == ['$id'], a"
  expect 64 holdfast break --session "$id"
  [[ $output == *"no session $id"* ]]
}

@test "break of one name removes the dead holder, spares the living one and says both" {
  in_background run x --shared --label lives -- "${until_go[@]}"
  holder=$pid
  until_true test -e held
  # Who opens a session buries the dead, so the one that dies has to be the last.
  rm -f held
  in_background run x --shared --ttl 1h --label dies -- sh -c ': >held; sleep 60'
  until_true test -e held
  kill -KILL $pid
  wait $pid || true
  until_true sh -c "'$HOLDFAST' ls --sessions | grep -q 'dies.* dead'"
  expect 75 holdfast break x
  [[ $output == *'(dies) is removed'* && $output == *'(lives) is not broken'* ]]
  expect 0 holdfast show x --json
  json 'assert [e["owner"]["label"] for e in a["entries"]] == ["lives"], a'
  : >go
  wait $holder
}

@test "a copy of a living holder's life lock proves nothing" {
  hold_it
  for file in store/life/*; do cp -a "$file" copy; mv copy "$file"; done
  expect 75 holdfast run x --no-wait -- true
  release
}

one_is_left() { [[ $(marked | wc -l) == 1 ]]; }

@test "wrapper and guardian killed while something of the command lives: only the ttl frees it" {
  # The kernel ends the command itself with its guardian, but not what the command had started.
  in_background run x --ttl 4s -- sh -c 'setsid sleep 60 & : >held; exec sleep 60'
  until_true test -e held
  guardian=$(pgrep -P $pid)
  # Stopped first, so that it cannot act on the guardian's death.
  kill -STOP $pid
  until_true sh -c "ps -o stat= -p $pid | grep -q ^T"
  kill -KILL $guardian
  kill -KILL $pid
  wait $pid || true
  until_true one_is_left
  killed=$(date +%s%3N)

  expect 75 holdfast run x --no-wait -- true
  expect 75 holdfast break x
  [[ $output == *'is alive'* ]]
  expect 0 holdfast run x --wait 20s -- date +%s%3N
  # Who saw it first after the kill waits for the ttl and the drift of the clocks from there on.
  ((output - killed >= 4000 * 101 / 100))
  ((output - killed < 15000))
  one_is_left
  kill -KILL $(marked)
  until_true is_gone
}

@test "tries of one program after another take over a holder that hangs: each leaves what it saw" {
  hold_it --ttl 1s
  kill -STOP $holder
  expect 75 holdfast run x --no-wait -- true
  # Each would begin to count anew, and none waits.
  until_true holdfast run x --no-wait -- true
  kill -CONT $holder
  wait $holder || true
  until_true is_gone
}

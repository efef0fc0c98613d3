#!/usr/bin/env bats

load setup

@test "the command has the terminal's foreground and job control works" {
  cat >talk.exp <<'T'
set timeout 10
spawn bash --norc -i
send "PS1='> '; set -m\r"
expect "> "
send "$env(HOLDFAST) run x -- cat\r"
sleep 0.5
send "through the terminal\r"
expect "through the terminal\r\nthrough the terminal"
send "\x1a"
expect "Stopped"
send "fg\r"
expect "cat"
sleep 0.3
send "again\r"
expect "again\r\nagain"
send "\x03"
expect "> "
send "echo code=\$?\r"
expect "code=130"
send "exit\r"
expect eof
T
  expect 0 timeout 30 expect talk.exp
}

@test "the terminal comes back after the command has ended" {
  cat >talk.exp <<'T'
set timeout 10
spawn sh -c "\"$env(HOLDFAST)\" run x -- true; read line; echo got=\$line"
sleep 0.5
send "hello\r"
expect "got=hello"
expect eof
T
  expect 0 timeout 30 expect talk.exp
}

@test "who waits on a terminal sees who holds it" {
  store="local:$BATS_TEST_TMPDIR/store"
  "$HOLDFAST" ls --store "$store" >/dev/null 2>&1 || skip "the local engine is not built in"
  export HOLDFAST_STORE=$store
  in_background run x --label holder -- sh -c ': >held; while [ ! -e go ]; do sleep 0.01; done'
  until_true test -e held
  cat >talk.exp <<'T'
set timeout 10
spawn env $env(HOLDFAST) run x -- echo mine
expect -re "waiting .*held by .*holder.*next in the queue"
exec touch go
expect "mine"
expect eof
T
  run timeout 30 expect talk.exp
  : >go
  wait $pid
  [[ $status == 0 ]] || { echo "$output"; return 1; }
}

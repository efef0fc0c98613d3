#!/usr/bin/env bats

load setup

@test "the command has the terminal's foreground and job control works" {
  cat >talk.exp <<'T'
set timeout 10
spawn bash --norc -i
expect_after timeout {exit 1} eof {exit 2}
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
expect_after timeout {exit 1} eof {exit 2}
sleep 0.5
send "hello\r"
expect "got=hello"
expect eof
T
  expect 0 timeout 30 expect talk.exp
}

@test "who waits on a terminal sees who holds it" {
  in_background run x --label holder -- sh -c ': >held; while [ ! -e go ]; do sleep 0.01; done'
  until_true test -e held
  cat >talk.exp <<'T'
set timeout 10
set stty_init "rows 24 columns 80"
spawn env $env(HOLDFAST) run x -- echo mine
expect_after timeout {exit 1} eof {exit 2}
expect -re {next for "x", held by [^ ]+ sh \(holder\) for (less than 1s|1s);}
exec touch go
expect "mine"
expect eof
T
  run timeout 30 expect talk.exp
  : >go
  wait $pid
  [[ $status == 0 ]] || { echo "$output"; return 1; }
}

#!/usr/bin/env bats

load setup

@test "the command has the terminal's foreground and job control works" {
  cat >talk.exp <<'T'
set timeout 30
spawn bash --norc -i
expect_after timeout {exit 1} eof {exit 2}
send "PS1='> '; set -m\r"
expect "> "
send "$env(HOLDFAST) run x -- sh -c 'echo re\"\"ady; exec cat'\r"
expect "ready"
send "through the terminal\r"
expect "through the terminal\r\nthrough the terminal"
send "\x1a"
expect "Stopped"
send "fg\r"
expect "cat"
# Until the shell has given the terminal away, what is typed is its own.
set timeout 2
for {set i 1} {$i <= 15} {incr i} {
  send "again$i\r"
  expect "again$i\r\nagain$i" break timeout continue
}
set timeout 30
send "last\r"
expect "last\r\nlast"
send "\x03"
expect "> "
send "echo code=\$?\r"
expect "code=130"
send "exit\r"
expect eof
T
  expect 0 timeout 60 expect talk.exp
}

@test "the terminal comes back after the command has ended" {
  cat >talk.exp <<'T'
set timeout 30
spawn sh -c "\"$env(HOLDFAST)\" run x -- true; echo en''ded; read line; echo got=\$line"
expect_after timeout {exit 1} eof {exit 2}
expect "ended"
send "hello\r"
expect "got=hello"
expect eof
T
  expect 0 timeout 60 expect talk.exp
}

@test "the terminal comes back after the guardian was killed" {
  cat >talk.exp <<'T'
set timeout 30
set command "echo guardian=\$PPID.; stty raw -echo; sleep 60"
set after "stty -a; echo en''ded; read line; echo got=\$line"
spawn sh -c "\"$env(HOLDFAST)\" run x -- sh -c '$command'; $after"
expect_after timeout {exit 1} eof {exit 2}
expect -re {guardian=([0-9]+)\.}
set guardian $expect_out(1,string)
# The command has the terminal, and has changed its modes.
sleep 1
exec kill -KILL $guardian
expect "its guardian was killed"
expect " icanon"
expect "ended"
send "hello\r"
expect "got=hello"
expect eof
T
  expect 0 timeout 60 expect talk.exp
}

@test "who waits on a terminal sees who holds it" {
  in_background run x --label holder -- "${until_go[@]}"
  until_true test -e held
  cat >talk.exp <<'T'
set timeout 30
set stty_init "rows 24 columns 80"
spawn env $env(HOLDFAST) run x -- echo mine
expect_after timeout {exit 1} eof {exit 2}
expect -re {next for "x", held by [^ ]+ sh \(holder\), which asked (less than 1|[0-9]+)s ago[;\x1b]}
exec touch go
expect "mine"
expect eof
T
  run timeout 60 expect talk.exp
  : >go
  wait $pid
  [[ $status == 0 ]] || { echo "$output"; return 1; }
}

@test "a line that is too wide for the terminal ends with a whole clause" {
  in_background run x --label 'a backup of mine' -- "${until_go[@]}"
  until_true test -e held
  cat >talk.exp <<'T'
set timeout 30
set stty_init "rows 24 columns 80"
spawn env $env(HOLDFAST) run x -- echo mine
expect_after timeout {exit 1} eof {exit 2}
expect -re {sh \(a backup of mine\)(, which asked [^;\x1b]+ ago)?(; waiting [0-9a-z]+)?\x1b}
exec touch go
expect "mine"
expect eof
T
  run timeout 60 expect talk.exp
  : >go
  wait $pid
  [[ $status == 0 ]] || { echo "$output"; return 1; }
}

@test "who waits in a terminal's background writes nothing there" {
  in_background run x --label holder -- "${until_go[@]}"
  until_true test -e held
  cat >talk.exp <<'T'
set timeout 30
set stty_init "rows 24 columns 80"
proc silent {} {
  set timeout 3
  expect "next for" {exit 3} timeout
}
spawn bash --norc -i
expect_after timeout {exit 1} eof {exit 2}
send "PS1='> '; set -m\r"
expect "> "
send "$env(HOLDFAST) run x -- sh -c 'echo mi\"\"ne' &\r"
expect "> "
silent
send "fg\r"
expect "next for"
send "\x1a"
expect "Stopped"
send "bg\r"
expect -re {bg\r.*ne' &\r\n[^\n]*> }
silent
exec touch go
expect -re {^[^\x1b]*mine}
send "exit\r"
expect eof
T
  run timeout 60 expect talk.exp
  : >go
  wait $pid
  [[ $status == 0 ]] || { echo "$status $output"; return 1; }
}

@test "names are shown on a terminal as people may see them, and to programs as they are" {
  name=$'x\302\2332J\303\237'
  in_background run "$name" -- "${until_go[@]}"
  until_true test -e held
  expect 0 holdfast ls --names
  [[ $output == "$name" ]]
  cat >talk.exp <<'T'
set timeout 30
spawn env $env(HOLDFAST) ls --names
expect_after timeout {exit 1} eof {exit 2}
expect -ex {x\xc2\x9b2J}
expect eof
T
  run timeout 60 expect talk.exp
  : >go
  wait $pid
  [[ $status == 0 ]] || { echo "$output"; return 1; }
}

# A module for the scripts of tests, with a pipe that takes nothing more.
write_full_pipe() {
  cat >full_pipe.py <<'T'
import os
def make():
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    try:
        while True: os.write(theirs, b"x" * 4096)
    except BlockingIOError: os.set_blocking(theirs, True)
    return ours, theirs
T
}

@test "who waits on a terminal that was stopped, or writes into a full pipe, runs the command" {
  write_full_pipe
  cat >stopped.py <<'T'
import full_pipe, os, pty, subprocess, sys, time
program, how = sys.argv[1], sys.argv[2]
def command(options): return [program, "run", "x", *options, "--", "sh", "-c", ": >mine"]
if how == "terminal":
    pid, master = pty.fork()
    if pid == 0: os.execv(program, command([]))
    seen = b""
    while b"next for" not in seen: seen += os.read(master, 4096)
    os.write(master, b"\x13")
else:
    ours, theirs = full_pipe.make()
    waiter = subprocess.Popen(command(["-v"]), stderr=theirs)
time.sleep(2.5)
open("go", "w").close()
end = time.time() + 20
while time.time() < end and not os.path.exists("mine"): time.sleep(0.05)
assert os.path.exists("mine"), how
if how == "terminal": os.write(master, b"\x11")
T
  for how in terminal pipe; do
    rm -f mine
    hold_it
    RUNMARK=$MARK expect 0 timeout 60 python3 stopped.py "$HOLDFAST" $how
    wait "$holder"
  done
}

# nobody_reads CODE ARGUMENTS: the program, with a standard error that takes nothing until there is
# the file `read`. Its pid is in the file `unread`; $reader ends with 0 when the program ends with
# CODE.
nobody_reads() {
  write_full_pipe
  cat >unread.py <<'T'
import full_pipe, os, subprocess, sys, time
ours, theirs = full_pipe.make()
unread = subprocess.Popen(sys.argv[2:], stderr=theirs)
os.close(theirs)
with open("pid", "w") as f: print(unread.pid, file=f)
os.rename("pid", "unread")
while not os.path.exists("read"): time.sleep(0.05)
while os.read(ours, 65536): pass
assert unread.wait() == int(sys.argv[1]), unread.returncode
T
  local code=$1
  shift
  rm -f read unread
  RUNMARK=$MARK python3 unread.py "$code" "$HOLDFAST" "$@" 3>&- &
  reader=$!
  until_true test -e unread
}
# until_it_stands: where /proc does not tell that, nothing is tested.
until_it_stands() {
  until_true stands_in_a_write && return
  kill -0 "$(<unread)"
  : >read
  release 2>/dev/null || true
  wait "$reader" || true
  skip "NOT TESTED: no wchan in /proc"
}
stands_in_a_write() { [[ $(<"/proc/$(<unread)/wchan") == *pipe_write* ]]; }

# gives_back_what_it_held: the lock x, and its session, while it still stands there.
gives_back_what_it_held() {
  until_it_stands
  expect 0 holdfast run x --wait 20s -- true
  expect 0 holdfast ls --sessions --json
  json 'assert a["sessions"] == [], a'
  stands_in_a_write
  : >read
  wait "$reader"
}

@test "what could not be run keeps no lock while nobody reads why" {
  printf '#!/nowhere\n' >script
  chmod +x script
  nobody_reads 126 run x -- ./script
  gives_back_what_it_held
}

@test "what its fence refuses keeps no lock while nobody reads why" {
  at="file:$PWD/floors"
  token=$(holdfast run x -- sh -c 'echo "$HOLDFAST_FENCING_TOKEN"')
  holdfast fence raise "$at" x "$((${token%%:*} + 1000)):${token#*:}"
  nobody_reads 77 run x --fenced "$at" -- touch ran
  gives_back_what_it_held
  [[ ! -e ran ]]
}

@test "whose guardian is killed under the command keeps no lock while nobody reads it" {
  nobody_reads 76 run x -- sh -c ': >held; exec sleep 60'
  until_true test -e held
  kill -KILL "$(pgrep -P "$(<unread)" holdfast-guard)"
  gives_back_what_it_held
}

@test "who ends its wait is granted nothing while nobody reads why" {
  hold_it
  nobody_reads 69 run x -- touch ran
  until_true eval "holdfast show x | grep -q waiting"
  # It has its name when it runs, which may be later.
  kill -KILL "$(pgrep -P "$(<unread)")"
  until_it_stands
  release
  gives_back_what_it_held
  [[ ! -e ran ]]
}

@test "what ends a wait on a terminal does not stand behind the waiting line" {
  hold_it
  cat >talk.exp <<'T'
set timeout 30
spawn env $env(HOLDFAST) run x -- true
expect_after timeout {exit 1} eof {exit 2}
expect "next for"
# It has its name when it runs, which may be later.
set waiter [exp_pid]
while {[catch {exec pkill -KILL -x holdfast-guard -P $waiter}]} {after 10}
expect -re "\r\x1b\\\[Kholdfast: lock \"x\": the guardian was killed"
expect eof
T
  run timeout 60 expect talk.exp
  release
  [[ $status == 0 ]] || { echo "$status $output"; return 1; }
}

@test "signals that come with the one that ends the wait draw no line again and again" {
  hold_it
  # A stopped process gets both at once, as timeout(1) sends them.
  cat >talk.exp <<'T'
set timeout 30
spawn env $env(HOLDFAST) run x -- true
expect_after timeout {exit 1} eof {exit 2}
expect "next for"
set waiter [exp_pid]
exec kill -STOP $waiter
# What it drew until then does not count.
set timeout 1
expect -re .+ exp_continue timeout
set timeout 30
exec kill -TERM $waiter
exec kill -CONT $waiter
set lines 0
expect {
  "next for" {incr lines; exp_continue}
  timeout {exit 3}
  eof
}
puts "lines $lines code [lindex [wait] 3]"
T
  run timeout 60 expect talk.exp
  release
  [[ $status == 0 ]] || { echo "$status $output"; return 1; }
  # One may have been on its way to the terminal, or due.
  [[ $output =~ 'lines '[01]' code 143' ]] || { echo "$output"; return 1; }
}

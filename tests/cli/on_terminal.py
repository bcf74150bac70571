"""Runs a command on a fake terminal: on_terminal.py STREAMS COMMAND..., STREAMS out of 0, 1, 2 (say 02); the others are
inherited. What appears on the terminal goes to stderr of this program; the exit code is the command's."""
import os
import pty
import signal
import sys

streams, command = sys.argv[1], sys.argv[2:]
master, slave = pty.openpty()
child = os.fork()
if child == 0:
    os.setsid()
    for number in streams:
        os.dup2(slave, int(number))
    os.close(master)
    os.execvp(command[0], command)
os.close(slave)
signal.alarm(60)  # a program that waits for a key must not hang the test
while True:
    try:
        shown = os.read(master, 65536)
    except OSError:  # Linux: the last user of the terminal has gone
        break
    if not shown:
        break
    os.write(2, shown)
status = os.waitpid(child, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status) % 256)

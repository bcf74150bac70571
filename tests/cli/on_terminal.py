"""Runs a command on a fake terminal: on_terminal.py STREAMS COMMAND..., STREAMS out of 0, 1, 2 (say 02); the others are
inherited. COLUMNS_OF_TERMINAL: its width. What appears on the terminal goes to stderr of this program; the exit code is the command's."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

streams, command = sys.argv[1], sys.argv[2:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('4H', 24, int(os.environ.get('COLUMNS_OF_TERMINAL', 80)), 0, 0))
child = os.fork()
if child == 0:
    os.setsid()
    for number in streams:
        os.dup2(slave, int(number))
    os.close(master)
    os.execvp(command[0], command)
signal.alarm(60)  # a program that waits for a key must not hang the test
status = None
# The terminal stays open here: Linux may say that its last user has gone before all that was written can be read.
while True:
    if select.select([master], [], [], 0.05)[0]:
        os.write(2, os.read(master, 65536))
    elif status is not None:
        break
    else:
        ended, code = os.waitpid(child, os.WNOHANG)
        status = code if ended else None
sys.exit(os.waitstatus_to_exitcode(status) % 256)

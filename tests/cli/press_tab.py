"""Types lines into a real shell and presses Tab: press_tab.py bash|zsh SCRIPT, SCRIPT the completions. Each line of standard
input is typed; what the shell then has on its line is printed."""
import os
import pty
import select
import subprocess
import sys

shell, script = sys.argv[1:3]
SETUP = {
    'bash': ["PS1=; bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'",
             f"source '{script}'", "keep() { printf '%s\\n' \"$READLINE_LINE\" >> lines; READLINE_LINE=; }",
             "bind -x '\"\\C-g\": keep'"],
    'zsh': ["PROMPT=; autoload -U compinit; compinit -u -D; unsetopt beep; setopt no_list_ambiguous no_auto_menu",
            f"functions[_pcgpu]=\"$(cat '{script}')\"; autoload +X _pcgpu 2> /dev/null; compdef _pcgpu pcgpu",
            "keep() { print -r -- $BUFFER >> lines; BUFFER= }; zle -N keep; bindkey '^G' keep; bindkey '^I' complete-word"],
}
command = {'bash': ['bash', '--norc', '--noprofile', '-i'], 'zsh': ['zsh', '-f', '-i']}[shell]
master, slave = pty.openpty()
environment = dict(os.environ, TERM='dumb', HISTFILE='/dev/null', HOME=os.getcwd())
child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
os.close(slave)
open('lines', 'w').close()


def drain(seconds):
    while select.select([master], [], [], seconds)[0]:
        try:
            if not os.read(master, 65536):
                return
        except OSError:
            return


def send(text, seconds=0.1):
    os.write(master, text.encode())
    drain(seconds)


drain(1)
for line in SETUP[shell]:
    send(line + '\n', 0.5)
wanted = 0
for line in sys.stdin:
    wanted += 1
    send(line.rstrip('\n') + '\t', 0.15)
    send('\x07', 0)  # once: a second one would keep an empty line
    for _ in range(400):  # a busy machine
        with open('lines') as f:
            if len(f.readlines()) >= wanted:
                break
        drain(0.025)
child.kill()
child.wait()
with open('lines') as f:
    sys.stdout.write(f.read())
os.unlink('lines')

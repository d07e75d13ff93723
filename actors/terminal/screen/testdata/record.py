#!/usr/bin/env python3
"""Records the output of real programs for the tests of the package screen.

record.py FOLDER: plays keys into each program in a PTY of 80 by 24 and writes
FOLDER/<name>.raw. Needs bash, vim, less, htop, tmux and procps (Debian package
names), and root for the two that look at processes.
"""
import fcntl, os, pty, select, struct, sys, tempfile, termios, time

home = tempfile.mkdtemp()
env = {'TERM': 'xterm-256color', 'COLORTERM': 'truecolor', 'PATH': os.environ['PATH'], 'HOME': home, 'LANG': 'C.UTF-8', 'PS1': '$ '}


def record(name, argv, keys, rows=24, cols=80):
    pid, fd = pty.fork()
    size = struct.pack('HHHH', rows, cols, 0, 0)
    if pid == 0:
        os.chdir(home)
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvpe(argv[0], argv, env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, size)
    out = b''

    def drain(seconds):
        nonlocal out
        end = time.time() + seconds
        while time.time() < end:
            if select.select([fd], [], [], 0.05)[0]:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    return False
                out += data
        return True

    drain(1)
    for k in keys:
        os.write(fd, k.encode())
        if not drain(0.5):
            break
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        pass
    with open(os.path.join(sys.argv[1], name + '.raw'), 'wb') as f:
        f.write(out.replace(b'\0', b''))


with open(home + '/text.txt', 'w') as f:
    for i in range(200):
        words = 'the quick brown fox ' if i % 5 else 'ein s\u00fc\u00dfer Text \u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8 '
        f.write('%03d %s\n' % (i, words * (1 + i % 7)))
with open(home + '/a.py', 'w') as f:
    f.write('import os\n\ndef main(x):\n    """doc"""\n    for i in range(10):\n        print("hello %d" % i)  # note\n\nmain(1)\n')
with open(home + '/tmux.conf', 'w') as f:
    f.write('set -g status-right "right"\n')

bash = ['bash', '--norc', '--noprofile', '-i']
listing = 'ls -la --color=always /usr/bin | head -60 | cut -c40-\r'
record('bash', bash, [listing, 'seq 1 50\r', 'echo -e "\\e[1;31mred\\e[0m \u65e5\u672c"\r', 'printf "%0120d\\n" 5\r', 'ls /nonexistent\x17\x17foo\x1b[D\x1b[Dxx\x03', 'for i in 1 2 3; do echo $i; done\r'])
record('vim', ['vim', '-u', 'NONE', '-N', '-c', 'syntax on', '-c', 'set number ruler showcmd', 'a.py'],
       ['Gofoo = "bar \u65e5\u672c"\x1b', 'gg', 'dd', '/hello\r', 'x', 'u', ':set hlsearch\r', 'iabc\x1b', ':vsplit text.txt\r', '\x06', '\x06', '\x17w', ':split\r', 'vjjd', 'G', 'gg=G', ':set wrap!\r', '\x0c'])
record('vimquit', bash, ['seq 1 40\r', 'vim -u NONE -N text.txt\r', '\x06', 'G', ':q!\r', 'echo done\r'])
record('less', bash, ['seq 1 60\r', 'less text.txt\r', ' ', ' ', '/brown\r', 'n', 'n', 'k', 'k', 'G', 'g', 'q', 'echo after\r'])
record('tmux', ['tmux', '-L', 'record', '-f', home + '/tmux.conf', 'new', 'bash --norc --noprofile'],
       ['seq 1 30\r', '\x02%', listing, '\x02"', 'echo \u65e5\u672c\u8a9e\r', '\x02o', 'seq 1 100\r', '\x02[', '\x1b[5~', 'q', '\x02z', '\x02z', 'less text.txt\r', ' ', 'q', '\x02d'])
os.system('tmux -L record kill-server')
alone = ['unshare', '-pf', '--mount-proc']
record('htop', alone + ['sh', '-c', 'sleep 100 & sleep 101 & yes >/dev/null & htop'], ['\x1b[B', '\x1b[B', 'P', 'M', 't', '\x1bOQ', '\x1b', 'H', 'u', '\x1b', 'q'])
record('top', alone + ['top', '-d', '0.3'], ['1', 'c', 'q'])

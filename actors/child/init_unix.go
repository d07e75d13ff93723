//go:build unix

package child

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// ActAsInit makes the program safe as process 1 of a container (F21). Anywhere
// else it returns 0, false at once.
//
// As process 1 it starts the same program again with the same arguments,
// environment and standard files, passes signals on to it, reaps whatever is
// reparented to process 1, and returns the exit code of that child and true: the
// caller exits with it. Call it first thing in main.
//
// Reaping inside the service itself would not be safe: wait4(-1) takes the exit
// codes that exec.Cmd.Wait is waiting for.
func ActAsInit() (code int, acted bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	return runAsInit(), true
}

func runAsInit() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "packetbench: cannot find its own program file; start it under an init program instead:", err)
		return 1
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	cmd := exec.Command(self)
	cmd.Args = os.Args
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "packetbench: cannot start itself under process 1; start it under an init program instead:", err)
		return 1
	}
	pid := cmd.Process.Pid
	go func() {
		for s := range signals {
			switch s {
			case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGTTIN, syscall.SIGTTOU:
				// Ours or the runtime's, not meant for the service.
			default:
				if s, ok := s.(syscall.Signal); ok {
					_ = syscall.Kill(pid, s)
				}
			}
		}
	}()
	for {
		var st syscall.WaitStatus
		got, err := syscall.Wait4(-1, &st, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 1
		case got == pid && st.Exited():
			return st.ExitStatus()
		case got == pid && st.Signaled():
			return 128 + int(st.Signal())
		}
	}
}

//go:build unix

package child

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName is the usual name of a signal, such as SIGTERM.
func signalName(s syscall.Signal) string { return unix.SignalName(s) }

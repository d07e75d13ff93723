package child

import "syscall"

// signalName: Windows has no signals, so nothing ever ends by one.
func signalName(s syscall.Signal) string { return s.String() }

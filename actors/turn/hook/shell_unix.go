//go:build unix

package hook

import "os/exec"

func shell(command string) *exec.Cmd { return exec.Command("/bin/sh", "-c", command) }

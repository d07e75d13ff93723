package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// shell hands the command line over as it is: the quoting of exec is not that
// of cmd.
func shell(command string) *exec.Cmd {
	path := os.Getenv("ComSpec")
	if path == "" {
		path = filepath.Join(os.Getenv("SystemRoot"), "System32", "cmd.exe")
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `"` + path + `" /D /S /C "` + command + `"`}
	return cmd
}

package tool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// nonblock has no meaning here: named pipes are not files of a folder.
const nonblock = 0

func isNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// keepOwner does nothing: a new file inherits what its folder says.
func keepOwner(*os.File, os.FileInfo) {}

// shell returns the command that interprets a command line. The line is handed
// over raw: cmd.exe does not read the quoting that other programs use.
func shell(command string) *exec.Cmd {
	path := os.Getenv("ComSpec")
	if path == "" {
		path = filepath.Join(os.Getenv("SystemRoot"), "System32", "cmd.exe")
	}
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `"` + path + `" /D /S /C "` + command + `"`}
	return cmd
}

package child

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"unsafe"

	"golang.org/x/sys/windows"
)

// stillActive is STILL_ACTIVE, the exit code of a process that runs.
const stillActive = 259

// machine is empty: creation times are absolute here.
func machine() string { return "" }

// markersReadable is false: no process shows its environment to another one.
const markersReadable = false

func list() ([]Process, error) {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("child: read the process table: %w", err)
	}
	defer windows.CloseHandle(snap)
	var out []Process
	e := windows.ProcessEntry32{}
	e.Size = uint32(unsafe.Sizeof(e))
	for err = windows.Process32First(snap, &e); err == nil; err = windows.Process32Next(snap, &e) {
		p, err := inspect(int(e.ProcessID))
		if err != nil {
			continue
		}
		p.PPID = int(e.ParentProcessID)
		p.Command = shortCommand(windows.UTF16ToString(e.ExeFile[:]))
		out = append(out, p)
	}
	return out, nil
}

func inspect(pid int) (Process, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return Process{}, err
	}
	defer windows.CloseHandle(h)
	return fromHandle(h, pid)
}

func fromHandle(h windows.Handle, pid int) (Process, error) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return Process{}, err
	}
	var code uint32
	if err := windows.GetExitCodeProcess(h, &code); err != nil {
		return Process{}, err
	}
	return Process{
		PID:    pid,
		Start:  uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime),
		zombie: code != stillActive,
	}, nil
}

// end ends the process p and what it started. The open handle keeps the pid from
// being reused while taskkill works.
func end(p Process, force bool) error {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.PROCESS_TERMINATE, false, uint32(p.PID))
	if err != nil {
		if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
			return nil
		}
		return err
	}
	defer windows.CloseHandle(h)
	now, err := fromHandle(h, p.PID)
	if err != nil || now.Start != p.Start || now.zombie {
		return nil
	}
	if !force {
		// Without /F only windows with a message loop hear it; the second pass
		// of every caller uses force.
		_ = exec.Command("taskkill", "/T", "/PID", strconv.Itoa(p.PID)).Run()
		return nil
	}
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.PID)).Run()
	err = windows.TerminateProcess(h, 1)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return nil // it ended meanwhile
	}
	return err
}

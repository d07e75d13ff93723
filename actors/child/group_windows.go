package child

import (
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// platform holds the job object. The job ends with its last handle, which is
// ours, so nothing in it survives the service.
type platform struct {
	mu  sync.Mutex
	job windows.Handle
}

func prepare(cmd *exec.Cmd, _ bool) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
}

func (p *platform) attach(pid int) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	p.mu.Lock()
	p.job = job
	p.mu.Unlock()
}

func (p *platform) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != 0 {
		_ = windows.CloseHandle(p.job)
		p.job = 0
	}
}

// signalGroup ends the job, also what outlived the process that was started.
func (p *platform) signalGroup(_ int, force bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if force && p.job != 0 {
		_ = windows.TerminateJobObject(p.job, 1)
	}
}

// members returns the pids in the job.
func (p *platform) members() map[int]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job == 0 {
		return nil
	}
	// JOBOBJECT_BASIC_PROCESS_ID_LIST with room for 1,024 entries.
	var ids struct {
		assigned, listed uint32
		pids             [1024]uintptr
	}
	err := windows.QueryInformationJobObject(p.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&ids)), uint32(unsafe.Sizeof(ids)), nil)
	if err != nil {
		return nil
	}
	out := map[int]bool{}
	for _, pid := range ids.pids[:min(int(ids.listed), len(ids.pids))] {
		out[int(pid)] = true
	}
	return out
}

// holds reports whether p belongs to the group: it is the started process, or it
// is in the job.
func (g *Group) holds(p Process, _ bool) bool {
	if p.PID == g.PID && p.Start == g.Start {
		return true
	}
	return g.os.members()[p.PID]
}

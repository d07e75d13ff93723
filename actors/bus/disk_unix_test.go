//go:build unix

package bus

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/packetbench/packetbench/actors/msg"
)

const diskChild = "PACKETBENCH_TEST_DISK_CHILD"

// F29's relative for the log: the disk refuses to take more. A file size limit
// stands for it, in a process of its own because the limit holds for all of it.
// Events wait, the state says so in words, and when there is room again every
// one of them is stored once.
func TestActor_DiskRefuses(t *testing.T) {
	if os.Getenv(diskChild) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestActor_DiskRefuses$", "-test.v", "-test.timeout", "90s")
		cmd.Env = append(os.Environ(), diskChild+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "stored after the disk refused") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	n := newHouse(t, 45*time.Second)
	l := NewLog(LogOptions{AckWait: 500 * time.Millisecond, Waiting: 500})
	spawnBus(t, n, l)
	if err := ready(n); err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = 256 << 10
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	sub := subject(t, "c1")
	taken := 0
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		_, err := l.Publish(sub, "t-1", []byte(fmt.Sprintf(`"%d"`, taken)))
		if errors.Is(err, msg.ErrBusDown) {
			if !l.Figures().Up {
				break
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		taken++
	}
	f := l.Figures()
	if f.Up || f.Reason == "" {
		t.Fatalf("the disk was never full: %d taken, %+v", taken, f)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func() bool { f := l.Figures(); return f.Up && f.InFlight+f.Waiting == 0 }, func() string { return fmt.Sprintf("%+v", l.Figures()) })
	wake := make(chan struct{}, 1)
	c := l.Follow([]string{">"}, 1, wake)
	defer c.Close()
	events, gap := readUntil(t, c, wake, taken)
	if gap != nil {
		t.Fatalf("gap %+v", gap)
	}
	checkRun(t, events, 0)
	fmt.Printf("%d stored after the disk refused: %s\n", taken, f.Reason)
	if answer, err := n.call(msg.Bus, msg.Drain{}, 5); err != nil || answer.(msg.Done).Err != nil {
		t.Fatalf("drain: %v %v", answer, err)
	}
}

package bus

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
)

const killChild = "PACKETBENCH_TEST_KILL_DIR"

// TestKilledChild is the process that TestLog_KilledProcess kills: it publishes
// without end and says which events are confirmed.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(killChild)
	if dir == "" {
		return // it is nothing by itself
	}
	r := newRig(t, LogOptions{}, func(o *ServerOptions) { o.Dir = dir })
	sub := subject(t, "c1")
	for i := int(r.log.Head()); ; i++ {
		for {
			if _, err := r.log.Publish(sub, "t-1", []byte(fmt.Sprintf(`"%d"`, i))); err == nil {
				break
			} else if !errors.Is(err, msg.ErrBusDown) {
				t.Fatal(err)
			}
		}
		if i%500 == 0 {
			r.log.mu.Lock()
			confirmed := r.log.base - 1
			r.log.mu.Unlock()
			fmt.Printf("confirmed %d\n", confirmed)
		}
	}
}

// kill -9 at a random moment: what was confirmed is there, nothing is out of
// order or double, and the next run goes on behind it.
func TestLog_KilledProcess(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var confirmed uint64
	for round := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, self, "-test.run", "^TestKilledChild$", "-test.timeout", "60s")
		cmd.Env = append(os.Environ(), killChild+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 3+7*round && lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "confirmed "); ok {
				if confirmed, err = strconv.ParseUint(text, 10, 64); err != nil {
					t.Fatal(err)
				}
				n++
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		cancel()
	}
	var warnings bytes.Buffer
	r := newRig(t, LogOptions{}, func(o *ServerOptions) { o.Dir, o.Logger = dir, slog.New(levelled(&warnings, slog.LevelWarn)) })
	head := r.log.Head()
	if confirmed == 0 || head < confirmed {
		t.Fatalf("%d events stored, %d were confirmed", head, confirmed)
	}
	r.publishAll(int(head), 10)
	r.settled(10 * time.Second)
	r.stored(int(head) + 10)
	r.stop()
	if warnings.Len() > 0 {
		t.Errorf("the start after a kill warns: %s", warnings.String())
	}
}

package child

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVar turns the test binary into one of the programs that the tests need.
const roleVar = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "service":
		actAsService()
		return
	case "init":
		if code, acted := ActAsInit(); acted {
			os.Exit(code)
		}
		actAsContained()
		return
	}
	goleak.VerifyTestMain(m)
}

// actAsService is a service that starts one command and waits to be killed. It
// prints "ready" once the command has started.
func actAsService() {
	reg, err := OpenRegistry(Marker{BootID: os.Getenv("TEST_BOOT"), Home: os.Getenv("TEST_HOME")})
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	cmd := exec.Command("sh", "-c", os.Getenv("TEST_COMMAND"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdout = os.Stdout
	if _, err := Start(cmd, Options{Marker: reg.Marker(), Register: reg.Register}); err != nil {
		fmt.Println("failed:", err)
		return
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// actAsContained runs below process 1: it leaves fifty orphans, says so, and
// ends when it is told to, with a code that must reach the outside.
func actAsContained() {
	for range 50 {
		if err := exec.Command("sh", "-c", "(sleep 0.1 &)").Run(); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	fmt.Println("left")
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(7)
}

// eventually waits for a condition with a deadline.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// pidsIn waits for a file that holds n pids, one a line.
func pidsIn(t *testing.T, path string, n int) []int {
	t.Helper()
	var out []int
	eventually(t, fmt.Sprintf("%d pids in %s", n, path), func() bool {
		b, err := os.ReadFile(path)
		if err != nil || strings.Count(string(b), "\n") < n {
			return false
		}
		out = nil
		for _, l := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(l)
			if err != nil {
				return false
			}
			out = append(out, pid)
		}
		return len(out) >= n
	})
	return out
}

// runs reports whether pid runs, zombies not counted.
func runs(pid int) bool {
	p, err := inspect(pid)
	return err == nil && !p.zombie
}

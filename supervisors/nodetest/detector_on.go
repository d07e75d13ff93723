//go:build race

package nodetest

import (
	"os"
	"strings"
)

// minded reports whether the race detector runs and has not been told about
// Ergo's cron; .ci/race.supp tells it.
func minded() bool { return !strings.Contains(os.Getenv("GORACE"), "suppressions=") }

package nodetest

import (
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		into, budget time.Duration
		want         time.Duration
	}{
		{"middle of the minute", 20 * time.Second, 30 * time.Second, 0},
		{"exactly enough left", 30 * time.Second, 30 * time.Second, 0},
		{"not enough left", 31 * time.Second, 30 * time.Second, 29*time.Second + past},
		{"on the minute", 0, 30 * time.Second, past},
		{"just past it", past, 30 * time.Second, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Add(tc.into)
			if got := wait(now, tc.budget); got != tc.want {
				t.Fatalf("wait %v, want %v", got, tc.want)
			}
		})
	}
}

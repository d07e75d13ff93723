package conformance

import "testing"

// Run plays the suite as subtests: one per scenario, and one for what the suite
// found as a whole. A scenario that needs what the harness says it lacks is no
// subtest, its reason is logged; one that gives way to a declared divergence
// passes and says so.
func Run(t *testing.T, s Suite) {
	t.Helper()
	seen := newSight()
	for _, sc := range s.scenarios() {
		if why, lacks := s.lacks(sc); lacks {
			t.Logf("%s is not played: %s", sc.name, why)
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			r, events := s.play(t.Context(), sc)
			seen.add(events)
			for _, p := range r.Problems {
				t.Error(p)
			}
			switch {
			case r.Skipped != "":
				t.Log("not played: " + r.Skipped)
			case t.Failed():
				for _, e := range events {
					t.Logf("%6d %-5s %s %s", e.Seq, e.Turn, e.Subject, clip(e.Data))
				}
			case r.Allowed != "":
				t.Log("declared divergence: " + r.Allowed)
			}
		})
	}
	t.Run("divergences", func(t *testing.T) {
		all, problems := seen.judge(s.Transport)
		for _, p := range problems {
			t.Error(p)
		}
		for _, d := range all {
			t.Logf("%s, occurred %v: %s", d.Subject, d.Occurred, d.Reason)
		}
	})
}

func clip(raw []byte) string {
	const most = 160
	if len(raw) > most {
		return string(raw[:most]) + "..."
	}
	return string(raw)
}

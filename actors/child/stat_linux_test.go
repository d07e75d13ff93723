package child

import "testing"

func TestParseStat(t *testing.T) {
	t.Parallel()
	const tail = " 1 2 3 34816 4 5 6 7 8 9 10 11 12 13 20 0 1 0 98765 1 1"
	for _, tc := range []struct {
		name, in string
		want     Process
		bad      bool
	}{
		{name: "plain", in: "42 (sh) S" + tail, want: Process{PID: 42, PPID: 1, PGID: 2, SID: 3, Start: 98765, Command: "sh"}},
		{name: "zombie", in: "42 (sh) Z" + tail, want: Process{PID: 42, PPID: 1, PGID: 2, SID: 3, Start: 98765, Command: "sh", zombie: true}},
		{name: "name with parentheses", in: "42 (a) Z (b) R" + tail, want: Process{PID: 42, PPID: 1, PGID: 2, SID: 3, Start: 98765, Command: "a) Z (b"}},
		{name: "short", in: "42 (sh) S 1 2", bad: true},
		{name: "empty", in: "", bad: true},
		{name: "no name", in: "42 sh S" + tail, bad: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseStat([]byte(tc.in))
			if (err != nil) != tc.bad || got != tc.want {
				t.Fatalf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh) S 1 2 3 34816 4 5 6 7 8 9 10 11 12 13 20 0 1 0 98765 1 1"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseStat(b); err != nil && p != (Process{}) {
			t.Fatalf("an error and a process: %+v, %v", p, err)
		}
	})
}

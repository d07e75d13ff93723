package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func environ(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

const (
	passing = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"run","Package":"p","Test":"TestA/two"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/two"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":0.1}
`
	skipping = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"needs chromium\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`
	parentFails = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`
	subFails = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"output","Package":"p","Test":"TestA/one","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"TestA/one"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`
	buildFails = `{"ImportPath":"p [p.test]","Action":"build-output","Output":"x.go:1:1: no\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`
	leaks = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"found unexpected goroutines\n"}
{"Action":"fail","Package":"p"}
`
)

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		args     []string
		ci       string
		ok       bool
		want     []string
	}{
		{name: "leaves count", in: passing, args: []string{"go", "x"}, ok: true, want: []string{"[x] 2 passed, 0 failed, 0 skipped", "ok   p 2 tests"}},
		{name: "skip by hand", in: skipping, args: []string{"go", "x"}, ok: true, want: []string{"0 passed, 0 failed, 1 skipped", "needs chromium"}},
		{name: "skip in CI", in: skipping, args: []string{"go", "x"}, ci: "1", want: []string{"1 skipped", "count as failures"}},
		{name: "parent alone fails", in: parentFails, args: []string{"go", "x"}, want: []string{"1 passed, 1 failed"}},
		{name: "subtest fails once", in: subFails, args: []string{"go", "x"}, want: []string{"0 passed, 1 failed", "why"}},
		{name: "build fails", in: buildFails, args: []string{"go", "x"}, want: []string{"0 passed, 1 failed", "x.go:1:1: no"}},
		{name: "package fails alone", in: leaks, args: []string{"go", "x"}, want: []string{"1 passed, 1 failed", "unexpected goroutines"}},
		{name: "nothing ran", in: "", args: []string{"go", "x"}, want: []string{"no test ran"}},
		{name: "go says something", in: "go: cannot find main module\n", args: []string{"go", "x"}, want: []string{"cannot find main module", "no test ran"}},
		{name: "lines", in: "ok one\n3 passed, 0 failed\n", args: []string{"lines", "e2e"}, ok: true, want: []string{"ok one\n[e2e] 3 passed, 0 failed"}},
		{name: "lines with failures", in: "3 passed, 2 failed, 1 skipped\n", args: []string{"lines", "e2e"}, want: []string{"[e2e] 3 passed, 2 failed, 1 skipped"}},
		{name: "lines without the line", in: "crashed\n", args: []string{"lines", "e2e"}, want: []string{"ended without its line", "0 passed, 1 failed"}},
		{name: "vitest without a report", args: []string{"vitest", "ui", filepath.Join(t.TempDir(), "absent")}, want: []string{"0 passed, 1 failed"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			ok, err := run(tc.args, strings.NewReader(tc.in), &out, environ("CI", tc.ci))
			if err != nil || ok != tc.ok {
				t.Fatalf("run = %v, %v; want %v\n%s", ok, err, tc.ok, out.String())
			}
			for _, w := range tc.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("output lacks %q:\n%s", w, out.String())
				}
			}
		})
	}
}

func TestRun_Vitest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, report string
		ok           bool
		want         string
	}{
		{"green", `{"numPassedTests":4,"success":true}`, true, "4 passed, 0 failed"},
		{"a file does not load", `{"numPassedTests":4,"numFailedTestSuites":1,"success":false}`, false, "4 passed, 1 failed"},
		{"not JSON", `oops`, false, "0 passed, 1 failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(file, []byte(tc.report), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			ok, err := run([]string{"vitest", "ui", file}, nil, &out, environ())
			if err != nil || ok != tc.ok || !strings.Contains(out.String(), tc.want) {
				t.Fatalf("run = %v, %v; want %v and %q in\n%s", ok, err, tc.ok, tc.want, out.String())
			}
		})
	}
}

func TestRun_Sum(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		rings []string
		steps string
		ok    bool
		want  string
	}{
		{name: "two rings", rings: []string{passing, passing}, ok: true, want: "\n4 passed, 0 failed\n"},
		{name: "a skip is a failure", rings: []string{passing, skipping}, want: "\n2 passed, 1 failed\n"},
		{name: "a failed step without a failed test", rings: []string{passing}, steps: "lint\n", want: "\n2 passed, 1 failed\n"},
		{name: "a failed step with its failed test", rings: []string{subFails}, steps: "test\n", want: "\n0 passed, 1 failed\n"},
		{name: "nothing", want: "0 passed, 1 failed\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := environ("CI", "1", "TALLY_DIR", dir)
			for _, r := range tc.rings {
				if _, err := run([]string{"go", "x"}, strings.NewReader(r), &strings.Builder{}, env); err != nil {
					t.Fatal(err)
				}
			}
			if tc.steps != "" {
				if err := os.WriteFile(filepath.Join(dir, "steps"), []byte(tc.steps), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			ok, err := run([]string{"sum"}, nil, &out, env)
			if err != nil || ok != tc.ok || !strings.HasSuffix(out.String(), tc.want) {
				t.Fatalf("sum = %v, %v; want %v and the end %q of\n%s", ok, err, tc.ok, tc.want, out.String())
			}
		})
	}
}

func TestRun_Usage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"go"}, {"sum", "x"}, {"count", "x"}} {
		if _, err := run(args, nil, &strings.Builder{}, environ()); err == nil {
			t.Errorf("run(%q) took it", args)
		}
	}
}

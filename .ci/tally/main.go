// Command tally turns the output of the test runners into one count.
//
//	go test -json ... | tally go NAME    events of go test; prints failures and one line a package
//	tally vitest NAME FILE               vitest's JSON report
//	... | tally lines NAME               any runner that ends with "N passed, N failed"
//	tally sum                            the closing line of .ci/run
//
// Each of the first three prints "[NAME] N passed, N failed, N skipped" and
// ends with 1 when something failed, when nothing ran, or when a test was
// skipped while CI is set: a part that did not run must not count as passed.
// With TALLY_DIR set the count is kept there for sum, one file a ring; the
// file "steps" there names steps of .ci/run that failed, one a line.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// count is the outcome of one ring, in tests that have no subtests.
type count struct {
	Ring    string `json:"ring"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
}

func main() {
	ok, err := run(os.Args[1:], os.Stdin, os.Stdout, os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: tally go NAME | vitest NAME FILE | lines NAME | sum")

// run is main with its surroundings passed in. It reports false when the ring
// or the sum is not green.
func run(args []string, in io.Reader, out io.Writer, env func(string) string) (bool, error) {
	strict, dir := env("CI") != "", env("TALLY_DIR")
	var c count
	var err error
	switch {
	case len(args) == 1 && args[0] == "sum":
		return sum(dir, strict, out)
	case len(args) == 2 && args[0] == "go":
		c, err = goEvents(in, out, strict)
	case len(args) == 3 && args[0] == "vitest":
		c, err = vitest(args[2])
	case len(args) == 2 && args[0] == "lines":
		c, err = lines(in, out, args[1])
	default:
		return false, errUsage
	}
	c.Ring = args[1]
	if err != nil {
		// Counted, so that the sum cannot look greener than the ring.
		c.Failed++
		fmt.Fprintln(out, "tally:", err)
	}
	if c.Passed+c.Failed+c.Skipped == 0 {
		c.Failed = 1
		fmt.Fprintf(out, "[%s] no test ran\n", c.Ring)
	}
	fmt.Fprintf(out, "[%s] %d passed, %d failed, %d skipped\n", c.Ring, c.Passed, c.Failed, c.Skipped)
	if err := keep(dir, c); err != nil {
		return false, err
	}
	return c.Failed == 0 && (!strict || c.Skipped == 0), nil
}

// event is the part of `go test -json` that is counted. Source: go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// goEvents counts leaf tests: a test with subtests counts through them, unless
// it failed and none of them did. A package that fails without a failed test
// (build error, panic, leaked goroutine) is one failure with its whole output.
// It streams: what failed is printed when it fails.
func goEvents(in io.Reader, out io.Writer, strict bool) (count, error) {
	type key struct{ pkg, test string }
	var (
		c          count
		output     = map[key][]string{} // of a test, or of a package when test is ""
		parents    = map[key]bool{}
		failedIn   = map[string]int{} // package to its failed leaf tests
		failedSub  = map[key]bool{}   // parent to whether a subtest failed
		passedIn   = map[string]int{} // package to its passed leaf tests
		buildLines = map[string][]string{}
		skips      []string
	)
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 0, 1<<20), 16<<20)
	for sc.Scan() {
		var e event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(out, sc.Text()) // what go itself says
			continue
		}
		k := key{e.Package, e.Test}
		parent, isSub := key{}, false
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			parent, isSub = key{e.Package, e.Test[:i]}, true
		}
		switch e.Action {
		case "build-output":
			buildLines[e.ImportPath] = append(buildLines[e.ImportPath], e.Output)
		case "run":
			if isSub {
				parents[parent] = true
			}
		case "output":
			output[k] = append(output[k], e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				switch {
				case e.Action == "skip":
					// No test files, or none that matches.
				case e.Action == "pass":
					fmt.Fprintf(out, "ok   %s %d tests %.1fs\n", e.Package, passedIn[e.Package], e.Elapsed)
				default:
					if failedIn[e.Package] == 0 {
						c.Failed++
						for _, l := range buildLines[e.FailedBuild] {
							fmt.Fprint(out, l)
						}
						for _, l := range output[key{pkg: e.Package}] {
							fmt.Fprint(out, l)
						}
						// A panic's output belongs to the test that was running.
						for k, ls := range output {
							if k.pkg == e.Package && k.test != "" {
								fmt.Fprint(out, strings.Join(ls, ""))
							}
						}
					}
					fmt.Fprintf(out, "FAIL %s %.1fs\n", e.Package, e.Elapsed)
				}
				for k := range output {
					if k.pkg == e.Package {
						delete(output, k)
					}
				}
				continue
			}
			if isSub && (e.Action == "fail") {
				failedSub[parent] = true
			}
			leaf := !parents[k]
			switch {
			case e.Action == "fail":
				fmt.Fprintf(out, "--- FAIL %s %s\n%s", e.Package, e.Test, strings.Join(output[k], ""))
				if leaf || !failedSub[k] {
					c.Failed++
					failedIn[e.Package]++
				}
			case e.Action == "skip" && leaf:
				c.Skipped++
				skips = append(skips, "--- SKIP "+e.Package+" "+e.Test+"\n"+strings.Join(output[k], ""))
			case leaf:
				c.Passed++
				passedIn[e.Package]++
			}
			delete(output, k)
		}
	}
	for _, s := range skips {
		fmt.Fprint(out, s)
	}
	if strict && len(skips) > 0 {
		fmt.Fprintln(out, "skipped tests count as failures under CI: install what they ask for, or build them out of this platform")
	}
	return c, sc.Err()
}

// vitest reads the file that vitest's json reporter wrote.
func vitest(path string) (count, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return count{}, err
	}
	var r struct {
		NumPassedTests, NumFailedTests, NumPendingTests, NumTodoTests int
		Success                                                       bool
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return count{}, fmt.Errorf("vitest wrote no report: %w", err)
	}
	c := count{Passed: r.NumPassedTests, Failed: r.NumFailedTests, Skipped: r.NumPendingTests + r.NumTodoTests}
	if !r.Success && c.Failed == 0 {
		c.Failed = 1 // a file that does not load holds no failed test
	}
	return c, nil
}

var closing = regexp.MustCompile(`^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$`)

// lines copies in to out and takes the last closing line. The closing line
// itself is not copied: .ci/run has one of its own, at its end.
func lines(in io.Reader, out io.Writer, ring string) (count, error) {
	var c count
	seen := false
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 0, 1<<20), 16<<20)
	for sc.Scan() {
		m := closing.FindStringSubmatch(strings.TrimSpace(sc.Text()))
		if m == nil {
			fmt.Fprintln(out, sc.Text())
			continue
		}
		seen = true
		c.Passed, _ = strconv.Atoi(m[1])
		c.Failed, _ = strconv.Atoi(m[2])
		c.Skipped, _ = strconv.Atoi(m[3])
	}
	if err := sc.Err(); err != nil {
		return c, err
	}
	if !seen {
		return c, fmt.Errorf("%s ended without its line \"N passed, N failed\"", ring)
	}
	return c, nil
}

// keep stores one ring's count for sum. A ring that runs twice adds a file.
func keep(dir string, c count) error {
	if dir == "" {
		return nil
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "ring-*.json")
	if err != nil {
		return err
	}
	if _, err := f.Write(raw); err != nil {
		return err
	}
	return f.Close()
}

// sum adds what keep stored and prints the closing line. A failed step whose
// rings count no failure is one failure: a red lint must not print "0 failed".
func sum(dir string, strict bool, out io.Writer) (bool, error) {
	if dir == "" {
		return false, errors.New("sum needs TALLY_DIR")
	}
	files, err := filepath.Glob(filepath.Join(dir, "ring-*.json"))
	if err != nil {
		return false, err
	}
	var total count
	rings := []string{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return false, err
		}
		var c count
		if err := json.Unmarshal(raw, &c); err != nil {
			return false, fmt.Errorf("%s: %w", f, err)
		}
		if strict {
			c.Failed += c.Skipped
			c.Skipped = 0
		}
		total.Passed += c.Passed
		total.Failed += c.Failed
		total.Skipped += c.Skipped
		rings = append(rings, fmt.Sprintf("  %-12s %5d passed %3d failed", c.Ring, c.Passed, c.Failed))
	}
	sort.Strings(rings)
	for _, r := range rings {
		fmt.Fprintln(out, r)
	}
	steps, err := os.ReadFile(filepath.Join(dir, "steps"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if failed := len(strings.Fields(string(steps))); total.Failed < failed {
		total.Failed = failed
	}
	if total.Passed+total.Failed == 0 {
		total.Failed = 1
		fmt.Fprintln(out, "no test ran")
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", total.Passed, total.Failed)
	return total.Failed == 0, nil
}

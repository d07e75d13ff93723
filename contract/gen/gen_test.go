package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGenerate(t *testing.T) {
	t.Parallel()
	got, err := Generate(filepath.Join("testdata", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "sample.ts")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := compare(golden, got); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for i, b := range got {
		if b >= 0x80 {
			t.Fatalf("byte %d is %#x: the generated file is ASCII", i, b)
		}
	}
}

// TestGenerate_Refuses changes the sample so that the page would have to guess.
func TestGenerate_Refuses(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "sample", "sample.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, new, want string }{
		{"method without a row", "\t{MethodSet, json.RawMessage(nil), Empty{}},\n", "", "set_it has no row"},
		{"method with two rows", "{MethodSet, json.RawMessage(nil)", "{MethodGet, json.RawMessage(nil)", "get_it has two rows"},
		{"member without a row", "\t{WhatNew, Patch{}},\n", "", "new has no row"},
		{"row of another width", "{WhatNew, Patch{}}", "{WhatNew}", "1 columns, not 2"},
		{"row without a constant", "{WhatNew, Patch{}}", "{some(), Patch{}}", "does not begin with a constant"},
		{"row that is no zero value", "{WhatNew, Patch{}}", "{WhatNew, nil}", "no zero value"},
		{"no table", "var Shapes", "var Forms", "no table Shapes"},
		{"type of another package", "time.Time ", "time.Month", "no TypeScript for time.Month"},
		{"type that is not exported", "Inner struct{ A int }", "Inner struct { A hidden `json:\"a\"` }", "no TypeScript for hidden"},
		{"event without a kind", "{ return KindStop }", "{ panic(1) }", "Stop does not name its kind"},
		{"no Go", "package sample", "package", "expected 'IDENT'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(string(raw), tc.old, tc.new, 1)
			if changed == string(raw) {
				t.Fatalf("the sample does not hold %q", tc.old)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "sample.go"), []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Generate(dir)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Generate = %v, want an error with %q", err, tc.want)
			}
		})
	}
	if _, err := Generate(t.TempDir()); err == nil {
		t.Fatal("a folder without Go gives a contract")
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gen.ts")
	if err := compare(path, []byte("a\n")); err == nil || !strings.Contains(err.Error(), "make gen") {
		t.Fatalf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("a\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := compare(path, []byte("a\nb\n")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a\nc\n", "a\n", "a\nb\nc\n"} {
		if err := compare(path, []byte(want)); err == nil || !strings.Contains(err.Error(), "make gen") {
			t.Fatalf("compare with %q = %v", want, err)
		}
	}
}

func TestLower(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"Kinds": "kinds", "MonitorMethods": "monitorMethods", "MCPSources": "mcpSources", "ID": "id"} {
		if got := lower(in); got != want {
			t.Errorf("lower(%q) = %q, want %q", in, got, want)
		}
	}
}
